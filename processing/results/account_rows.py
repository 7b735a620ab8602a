"""The account in a result file: what became of each frame, and who says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from penstock.processing.results import layout
from penstock.processing.results.errors import ResultError, not_written
from penstock.processing.results.open_result import OpenResult

T = TypeVar("T")
PARAMETERS = f"{layout.PROCESS}/parameters"


class AccountRows:
    """The part of `ResultFile` that writes the account."""

    def __init__(self, opened: OpenResult) -> None:
        self._open = opened
        self._listed = {"errors": 0, "lost": 0}
        self._sets = 0

    @property
    def path(self) -> Path:
        """Path of the file now: under a hidden name as long as it has not replaced an older one."""
        return self._open.place.at

    @property
    def replaces(self) -> Path | None:
        """The older file that has its name, until its first frame is done or it is finished."""
        place = self._open.place
        return place.path if place.at != place.path else None

    @property
    def states(self) -> np.ndarray[Any, Any]:
        """State of each frame as stored, uint8; there may be more rows than frames."""
        return self._open.read(layout.STATUS)

    @property
    def highest_worker(self) -> int:
        """Highest number of a worker so far."""
        return int(self._open.read(f"{layout.ACCOUNT}/worker").max(initial=0))

    def status(self, indices: np.ndarray[Any, Any], code: int) -> None:
        """Write the final state of frames, after their rows; see `layout.CODES`.

        Raises:
            ResultError: it cannot be written, or the file is not there any more ("gone").
        """
        self._open.check_is_there()
        self._each(layout.STATUS, indices, code)
        if code == layout.DONE and len(indices):
            self._take_name()

    def worker(self, indices: np.ndarray[Any, Any], number: int) -> None:
        """Write which worker has processed frames, or lost them; see `name_worker`."""
        self._each(f"{layout.ACCOUNT}/worker", indices, number)

    def version(self, indices: np.ndarray[Any, Any], version: int) -> None:
        """Write with which version of the parameters frames were processed."""
        self._each(f"{layout.ACCOUNT}/parameters_version", indices, version)

    def name_worker(self, number: int, name: str) -> None:
        """Write the name of a worker; of the first thousand."""
        if number < layout.WORKERS:
            self._do("names", lambda: self._open.put_text(f"{layout.ACCOUNT}/workers", name, number))

    def check_parameters(self, values: Mapping[str, Any]) -> bytes:
        """Return a set of parameters as JSON.

        Raises:
            ResultError: it is too long.
        """
        text = layout.parameters_text(dict(values))
        width = self._open.columns[f"{PARAMETERS}/values"].dtype.itemsize
        if len(text) > width:
            raise ResultError(
                "bad_value",
                f"{self._open.place.path}: these parameters have {len(text):,} bytes as JSON, and there is "
                f"room for {width:,}: change them between two series, whose file gets room for them",
            )
        return text

    def parameters(self, version: int, values: Mapping[str, Any], from_frame: int) -> None:
        """Write a set of parameters, and the first frame that is processed with it."""
        text, row = self.check_parameters(values), self._sets
        for name in ("version", "values", "from_frame"):
            self._open.extend(f"{PARAMETERS}/{name}", row + 1)

        def write() -> None:
            self._open.put(f"{PARAMETERS}/version", row, np.array([version]))
            self._open.put_text(f"{PARAMETERS}/values", text, row)
            self._open.put(f"{PARAMETERS}/from_frame", row, np.array([from_frame]))

        self._do("parameters", write)
        self._sets = row + 1

    def error(self, index: int, sentence: str) -> None:
        """Write why a frame failed; of the first thousand."""
        self._list("errors", "sentence", index, sentence)

    def lost(self, index: int, worker: str) -> None:
        """Write which worker had a frame that is lost; of the first thousand."""
        self._list("lost", "worker", index, worker)

    def unmatched(self, counts: Mapping[str, int]) -> None:
        """Write how many frames have no value of each channel."""
        for name, count in counts.items():
            path = f"{layout.UNMATCHED}/{name}"
            if path in self._open.columns:  # not if the channel is new since the file was begun
                self._do("the account", lambda path=path, count=count: self._put(path, count))  # type: ignore[misc]

    def joined(self, names: Sequence[str]) -> dict[str, tuple[np.ndarray[Any, Any], int]]:
        """Return by name of a channel the frames that were joined with all of them, and how many of them have
        no value of it."""
        found = {}
        paths = [layout.valid_path(f"{name}_matched") for name in names]
        if any(path not in self._open.columns for path in paths):
            return {}
        has = np.logical_and.reduce([self._open.read(path) == 1 for path in paths])
        for name in names:
            matched = self._open.read(layout.place_of(f"{name}_matched")[1])
            found[name] = np.flatnonzero(has), int(np.count_nonzero(has & (matched == 0)))
        return found

    def _find_account(self) -> None:
        """Find out what a distributor had written that was killed."""
        for name in self._listed:
            self._listed[name] = int((self._open.read(f"{layout.ACCOUNT}/{name}/index") >= 0).sum())
        self._sets = int((self._open.read(f"{PARAMETERS}/from_frame") >= 0).sum())

    def _take_name(self) -> None:
        self._do("its name", self._open.place.take_name)

    def _each(self, path: str, indices: np.ndarray[Any, Any], value: int) -> None:
        if not len(indices):
            return
        self._open.reach(int(indices.max()) + 1)
        column = self._open.columns[path]
        values = np.full(len(indices), value, column.dtype)
        self._do("the account", lambda: column.write_at(self._open.descriptor, indices, values))

    def _list(self, name: str, text: str, index: int, value: str) -> None:
        row = self._listed[name]
        if row < layout.MOST_LISTED:

            def write() -> None:
                self._open.put_text(f"{layout.ACCOUNT}/{name}/{text}", value, row)
                self._put(f"{layout.ACCOUNT}/{name}/index", index, row)

            self._do(f"the list of {name}", write)
        self._listed[name] = row + 1

    def _put(self, path: str, value: int, row: int = 0) -> None:
        self._open.put(path, row, np.array([value]))

    def _do(self, what: str, work: Callable[[], T]) -> T:
        try:
            return work()
        except OSError as error:
            raise not_written(self._open.place.path, what, error) from error
