"""Results of a file that is being written, or is finished: read by another process.

The file is opened for each question, plainly and without a lock, and closed again: so it is always the one
that has its name now, which the distributor changes when a new name appears. States are read before rows,
which are written in the other order: a row whose frame is done by its state is right.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import h5py
import msgspec
import numpy as np

from penstock.processing.results import described, layout
from penstock.processing.results.errors import ResultError
from penstock.processing.results.rows import (
    Beyond,
    Rows,
    beyond,
    check_size,
    has_value,
    no_result,
    padded,
    read_rows,
)


class Described(NamedTuple):
    """A result."""

    name: str
    kind: Literal["value", "events", "accumulated", "whole", "axis"]
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    """Shape of one value, or of one event."""
    unit: str = ""
    label: str = ""
    errors: str = ""
    """Name of the result that has its standard deviations."""
    axes: tuple[str, ...] = ()
    """Names of results of kind "axis", one per dimension of a value; or none."""


def is_result_file(path: Path | str) -> bool:
    """Return whether this is the file of a pipeline."""
    try:
        Results(path).states(0, 0)
    except ResultError:
        return False
    return True


class Results:
    """The results in one file.

    Args:
        path: of the result file.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    def names(self) -> list[Described]:
        """Return what results there are by now, and then the axes of their plots."""
        with self._file() as file:
            found: list[Described] = []
            entry = file[layout.ENTRY]
            for link in entry:
                if not isinstance(entry.get(link, getlink=True), h5py.HardLink):
                    continue  # into the raw file
                node = entry[link]
                if isinstance(node, h5py.Group) and "kind" in node.attrs:
                    name, kind = str(node.attrs["result"]), str(node.attrs["kind"])
                    values = file[layout.place_of(name)[1]]
                    found.append(_described(file, name, kind, values, values.shape[1:]))
            for where, kind in ((layout.ACCUMULATED, "accumulated"), (layout.WHOLE, "whole")):
                found += [
                    _described(file, str(value.attrs["result"]), kind, value, value.shape)
                    for value in file.get(where, {}).values()
                ]
            for name, axis in _axes(file).items():
                found.append(_described(file, name, "axis", axis, axis.shape))
            return found

    def raw_file(self) -> Path | None:
        """Return the file that has the frames; `None` if the series has none."""
        with self._file() as file:
            raw = str(file[layout.ACCOUNT].attrs.get("raw_file", ""))
        return Path(os.path.normpath(self.path.absolute().parent / raw)) if raw else None

    def notes(self) -> list[str]:
        """Return what a reader has to know, such as of how many frames a dark is; sentences."""
        with self._file() as file:
            found = file.get(described.NOTES)
            return [] if found is None else [text.decode() for text in found[()].tolist()]

    def axis(self, name: str) -> np.ndarray[Any, Any]:
        """Return the numbers of an axis.

        Raises:
            ResultError: there is no such axis.
        """
        with self._file() as file:
            if (found := _axes(file).get(name)) is None:
                raise no_result(file, name)
            return np.asarray(found[()])

    def states(self, first: int = 0, end: int | None = None) -> np.ndarray[Any, Any]:
        """Return the state of each frame from `first` on and before `end`, uint8; see `known`."""
        return self.known(first, end)[0]

    def known(self, first: int = 0, end: int | None = None) -> tuple[np.ndarray[Any, Any], Beyond]:
        """Return the state of each frame from `first` on and before `end`, uint8, and which frames have no
        row: of very many planned ones, those that never came.

        While a series is in progress there may be more rows than frames: those are pending.

        Args:
            first: index of a frame.
            end: likewise; by default, behind the last frame that has a row.

        Raises:
            ResultError: these are too many frames at once.
        """
        with self._file() as file:
            rest = beyond(file)
            first, end = max(first, 0), rest.first if end is None else min(end, rest.end)
            end = max(first, end)
            check_size("states", end - max(first, rest.first))
            found = np.asarray(file[layout.STATUS][min(first, rest.first) : min(end, rest.first)])
            return padded(found, end - first, rest.state), rest

    def account(self) -> Mapping[str, Any]:
        """Return state, reason, counts (as at the end); the sentences of failed frames, and the workers of
        lost ones, by number."""
        with self._file() as file:
            account = file[layout.ACCOUNT]
            return {
                "state": _text(account["state"][()]),
                "reason": _text(account["reason"][()]),
                "counts": {name: int(account[f"counts/{name}"][()]) for name in layout.COUNTS},
                "errors": _listed(account["errors"], "sentence"),
                "lost": _listed(account["lost"], "worker"),
            }

    def origin(self) -> tuple[str, str]:
        """Return the pipeline's name and the series' id."""
        with self._file() as file:
            entry = file[layout.ENTRY]
            return str(entry["account"].attrs["pipeline"]), str(entry["entry_identifier"].asstr()[()])

    def channels(self) -> dict[str, dict[str, str | float]]:
        """Return by name which channels were joined to the frames: `attribute`, `by`, and how."""
        with self._file() as file:
            return {
                name: {key: _number_or_text(value[()]) for key, value in said.items()}
                for name, said in file.get(f"{layout.PROCESS}/channels", {}).items()
            }

    def parameters(self) -> list[tuple[int, int, dict[str, Any]]]:
        """Return the sets of parameters as (version, first frame, values)."""
        with self._file() as file:
            group = file[f"{layout.PROCESS}/parameters"]
            columns = (group["version"][...], group["from_frame"][...], group["values"][...])
        return [
            (int(version), int(first), msgspec.json.decode(_text(text)))
            for version, first, text in zip(*columns, strict=True)
            if first >= 0
        ]

    def rows(self, name: str, first: int, end: int, step: int = 1, *, values: bool = True) -> Rows:
        """Return the values of frames from `first` on and before `end`, as far as there are places.

        Args:
            name: of a result per frame.
            first: index of a frame.
            end: likewise.
            step: 1, or every so many frames only.
            values: if false, only which frames have a value, and how many events.

        Raises:
            ResultError: there is no such result per frame, or it is too much at once.
        """
        with self._file() as file:
            return read_rows(file, name, first, end, step, wanted=values)

    def latest(self, name: str) -> Rows | None:
        """Return the value of the highest frame that is done and has one; `None` if there is none."""
        with self._file() as file:
            done = file[layout.STATUS][...] == layout.DONE
            has = has_value(file, name)
            found = np.flatnonzero(done[: len(has)] & has[: len(done)])
            return read_rows(file, name, int(found[-1]), int(found[-1]) + 1) if len(found) else None

    def accumulated(self, name: str) -> tuple[np.ndarray[Any, Any], int]:
        """Return an accumulated value, and how many frames are in it: 0 while it is being written.

        Raises:
            ResultError: there is no such value.
        """
        with self._file() as file:
            path, frames = layout.total_paths(name)
            if path not in file:
                raise no_result(file, name)
            return np.asarray(file[path][()]), int(file[frames][()])

    def whole(self, name: str) -> np.ndarray[Any, Any]:
        """Return a result of the series as a whole.

        Raises:
            ResultError: there is no such value (yet).
        """
        with self._file() as file:
            if (found := file.get(f"{layout.WHOLE}/{layout.stored(name)}")) is None:
                raise no_result(file, name)
            return np.asarray(found[()])

    @contextlib.contextmanager
    def _file(self) -> Iterator[Any]:
        try:
            file = h5py.File(self.path, "r", locking=False)
        except OSError as error:
            why = "does not exist" if not self.path.exists() else f"cannot be opened: {error}"
            raise ResultError("not_a_result_file", f"{self.path} {why}") from error
        with file:
            if layout.STATUS not in file:
                raise ResultError("not_a_result_file", f"{self.path} is no result file of a pipeline")
            try:
                yield file
            except (OSError, RuntimeError, KeyError) as error:
                raise ResultError("not_a_result_file", f"{self.path} cannot be read: {error}") from error


def _described(file: Any, name: str, kind: Any, values: Any, shape: tuple[int, ...]) -> Described:
    said = values.attrs
    label = str(said.get("long_name", "")) if "plot" in said or kind == "axis" else ""
    label = "" if label == name else label
    return Described(
        name, kind, values.dtype, shape, str(said.get("units", "")), label, str(said.get("errors", "")),
        tuple(_axes_of(file, str(said.get("plot", "")))),
    )  # fmt: skip


def _axes_of(file: Any, plot: str) -> dict[str, Any]:
    """Return the axes of a plot by name, in its order."""
    if not plot:
        return {}
    group = file[plot]
    names = [str(name) for name in group.attrs.get("axes", ()) if name != "."]
    return {str(group[name].attrs["result"]): group[name] for name in names}


def _axes(file: Any) -> dict[str, Any]:
    """Return the axes of all results by name."""
    found: dict[str, Any] = {}
    for path in _plots(file):
        found |= _axes_of(file, path)
    return found


def _plots(file: Any) -> Iterator[str]:
    entry = file[layout.ENTRY]
    for link in entry:
        if isinstance(entry.get(link, getlink=True), h5py.HardLink):
            node = entry[link]
            if isinstance(node, h5py.Group) and "kind" in node.attrs:
                yield str(file[layout.place_of(str(node.attrs["result"]))[1]].attrs.get("plot", ""))
    for value in file.get(layout.ACCUMULATED, {}).values():
        yield str(value.attrs.get("plot", ""))


def _listed(group: Any, column: str) -> dict[int, str]:
    """Return the texts of a list of frames, by frame."""
    index = group["index"][...]
    index = index[index >= 0]
    return dict(zip(index.tolist(), map(_text, group[column][: len(index)]), strict=True))


def _number_or_text(value: Any) -> str | float:
    return value.decode() if isinstance(value, bytes) else float(value)


def _text(value: Any) -> str:
    return bytes(value).rstrip(b"\0").decode(errors="replace")
