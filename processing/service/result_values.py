"""Results as an HTTP answer: JSON or .npy, read from the result file while it is written."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from penstock.processing.distributor.frames.account import State
from penstock.processing.models import Latest, Result, Series, Values
from penstock.processing.results.errors import ResultError
from penstock.processing.results.read import Described, Results
from penstock.processing.results.rows import Rows, padded
from penstock.stins.texts import plural

MOST_VALUES = 1_000_000
"""Most numbers in one JSON answer."""
USUAL = 1000
"""Frames that are answered with if the request does not say which."""
RANGE = r"^(-?[0-9]{1,16})?:(-?[0-9]{1,16})?(:[1-9][0-9]{0,15})?$"
"""Frames from a on and before b, as in Python: negative numbers count from the last that has a row, and a
third one takes every so many."""
STATUS = {
    "no_such_result": 404, "no_such_series": 404, "no_results": 404, "not_a_result_file": 404,
    "bad_value": 422, "accumulated": 422,
}  # fmt: skip
"""HTTP status of refusals, by kind; of others 409."""


class NoResults(Exception):
    """There is nothing to answer with; `kind` is stable, the sentence says why."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.http_status = STATUS.get(kind, 409)


class ResultValues:
    """The results of one series.

    Args:
        series: the series; `None` if there was none yet.

    Raises:
        NoResults: it has no result file.
    """

    def __init__(self, series: Series | None) -> None:
        if series is None:
            raise NoResults("no_results", "there is no series yet, and so no results")
        if series.result_file is None:
            why = f": {series.reason}" if series.reason else "; they are not stored"
            raise NoResults("no_results", f"series {series.id} has no result file{why}")
        self._series = series
        self._results = Results(series.result_file)

    def names(self) -> list[Result]:
        """Return what results there are by now."""
        with _sentences():
            return [
                Result(
                    name=each.name, kind=each.kind, dtype=each.dtype.name, shape=list(each.shape),
                    unit=each.unit, label=each.label, errors=each.errors, axes=list(each.axes),
                )
                for each in self._results.names()
            ]  # fmt: skip

    def values(self, name: str, frames: str | None) -> Values:
        """Return the values of a range of frames.

        Args:
            name: of a result per frame.
            frames: see `RANGE`; `None`: the last ones.

        Raises:
            NoResults: there is no such result, or too much is asked for.
        """
        with _sentences():
            described = self._described(name)
            first, end, step = self._range(frames)
            count = len(range(first, end, step))
            if count * int(np.prod(described.shape)) > MOST_VALUES:
                asked = plural(count, "frame")
                raise NoResults(
                    "bad_value",
                    f"{asked} of {name} have more than {MOST_VALUES:,} numbers: ask for fewer, or for .npy",
                )
            rows = self._results.rows(name, first, end, step)
        return Values(
            name=name, series=self._series.id, first=rows.first, step=rows.step,
            states=[State(code).name.lower() for code in rows.states.tolist()], values=_per_frame(rows),
        )  # fmt: skip

    def array(self, name: str, frames: str | None) -> bytes:
        """Return the same as an .npy file: (frames, *shape), NaN or 0 where there is no value; of events all,
        one after the other."""
        with _sentences():
            self._described(name)
            return _npy(self._results.rows(name, *self._range(frames)).values)

    def rows(self, name: str, frames: str | None, *, values: bool) -> bytes:
        """Return the same, with state of each frame and whether it has a value, as an .npz file.

        Args:
            name: of a result per frame.
            frames: see `RANGE`.
            values: if false, without the values themselves.
        """
        with _sentences():
            self._described(name)
            rows = self._results.rows(name, *self._range(frames), values=values)
        counts = {} if rows.counts is None else {"counts": rows.counts.astype(np.uint32)}
        return _npz(
            series=self._series.id, first=rows.first, step=rows.step, states=rows.states, has=rows.has,
            values=rows.values, **counts,
        )  # fmt: skip

    def states(self, frames: str | None) -> bytes:
        """Return the state of each frame, and that of all that have no row, uint8 as in the result file, as
        an .npz file."""
        first, end, step = self._range(":" if frames is None else frames)
        with _sentences():
            found, beyond = self._results.known(first, end)
        # A file in progress may know of fewer frames than have come.
        states = padded(found, end - first, State.PENDING)[::step]
        return _npz(
            series=self._series.id, first=first, step=step, states=states, beyond=np.uint8(beyond.state)
        )

    def latest(self, name: str) -> Latest:
        """Return the newest value.

        Raises:
            NoResults: there is no such result.
        """
        with _sentences():
            frame, n, value = self._latest(name)
        shown = None if value is None else plain(value)
        return Latest(name=name, series=self._series.id, frame=frame, n=n, value=shown)

    def latest_array(self, name: str) -> bytes:
        """Return the newest value as an .npy file.

        Raises:
            NoResults: there is no such result, or no value yet.
        """
        with _sentences():
            *_, value = self._latest(name)
        if value is None:
            raise NoResults("no_results", f"no frame has a value of {name} yet")
        return _npy(value)

    def newest(self, name: str) -> bytes:
        """Return the same with its frame, and the number of frames in it, as an .npz file; -1: there is none.

        Raises:
            NoResults: there is no such result, or no value yet.
        """
        with _sentences():
            frame, n, value = self._latest(name)
        if value is None:
            raise NoResults("no_results", f"no frame has a value of {name} yet")
        known = {"frame": -1 if frame is None else frame, "n": -1 if n is None else n}
        return _npz(series=self._series.id, value=value, **known)

    def _latest(self, name: str) -> tuple[int | None, int | None, np.ndarray[Any, Any] | None]:
        match self._known(name).kind:
            case "accumulated":
                value, n = self._results.accumulated(name)
                return None, n, value if n else None
            case "axis":
                return None, None, self._results.axis(name)
            case "whole":
                return None, None, self._results.whole(name)
        rows = self._results.latest(name)
        if rows is None:
            return None, None, None
        return rows.first, None, rows.values if rows.counts is not None else rows.values[0]

    def _known(self, name: str) -> Described:
        for each in self._results.names():
            if each.name == name:
                return each
        names = ", ".join(each.name for each in self._results.names()) or "none"
        raise NoResults("no_such_result", f"there is no result {name} (yet); there is {names}")

    def _described(self, name: str) -> Described:
        found = self._known(name)
        if found.kind not in ("value", "events"):
            raise NoResults(
                "accumulated", f"{name} is one value for all frames; ask for /results/{name}/latest"
            )
        return found

    def _range(self, frames: str | None) -> tuple[int, int, int]:
        total, rows = self._series.counts.frames, self._series.rows
        frames = f"{-USUAL}:" if frames is None else frames
        if (parts := re.match(RANGE, frames)) is None:
            raise NoResults("bad_value", f'frames is "{frames}"; give FIRST:END, such as 0:100 or -10:')
        first, end, step = (int(part.lstrip(":")) if part else None for part in parts.groups())
        # Without a number, and with a negative one, frames do not count that have no row: see `Series.rows`.
        last = total if rows is None else rows
        first, end = (
            min(bound, total) if bound >= 0 else max(0, last + bound)
            for bound in (0 if first is None else first, last if end is None else end)
        )
        return first, max(first, end), step or 1


@contextmanager
def _sentences() -> Iterator[None]:
    try:
        yield
    except ResultError as error:
        raise NoResults(error.kind, str(error)) from error


def _per_frame(rows: Rows) -> list[Any]:
    if rows.counts is None:
        return [
            value if has else None for value, has in zip(plain(rows.values), rows.has.tolist(), strict=True)
        ]
    ends = np.cumsum(rows.counts)
    parts = np.split(rows.values, ends[:-1]) if len(ends) else []
    return [plain(part) if has else None for part, has in zip(parts, rows.has.tolist(), strict=True)]


def plain(array: np.ndarray[Any, Any]) -> Any:
    """Return an array as lists of numbers, a value as a number; NaN and infinity, which JSON has not, become
    `None`, and complex numbers pairs."""
    array = np.asarray(array)
    if array.dtype.kind == "f":
        found = np.asarray(array).astype(object)  # without asarray a NumPy scalar would not become an array
        found[~np.isfinite(array)] = None
        return found.tolist()
    if array.dtype.kind == "c":
        return plain(np.stack([array.real, array.imag], axis=-1))
    return array.tolist()


def _npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    return file.getvalue()


def _npy(array: np.ndarray[Any, Any]) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()
