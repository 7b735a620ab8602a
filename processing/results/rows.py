"""Rows of an open result file, the values of consecutive frames; and the frames of a series that have none.

States are read before rows, which are written in the other order: a row whose frame is done by its state is
right. Planned frames behind the last that came have none. All of them are in one state, so that a plan takes
neither space nor time, however large it is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from penstock.processing.results import layout
from penstock.processing.results.errors import ResultError

MOST_BYTES = 2**28
"""Bytes of rows that are read at once at most."""


class Rows(NamedTuple):
    """Values of consecutive frames."""

    first: int
    """The first frame; each next one is `step` further on."""
    states: np.ndarray[Any, Any]
    """State of each frame, uint8; see `layout.CODES`."""
    has: np.ndarray[Any, Any]
    """True if each is done and has a value of this name; bool."""
    values: np.ndarray[Any, Any]
    """(frames, *shape); where there is none: NaN of floating-point numbers, else 0. Of events, all of these
    frames, one after the other."""
    counts: np.ndarray[Any, Any] | None = None
    """Number of events of each frame; `None` if the result has no events."""
    step: int = 1


def read_rows(file: Any, name: str, first: int, end: int, step: int = 1, *, wanted: bool = True) -> Rows:
    """Return the values of frames from `first` on and before `end`, as far as the series goes.

    Args:
        file: h5py file.
        name: of a result per frame.
        first: index of a frame.
        end: likewise.
        step: 1, or every so many frames only.
        wanted: if false, only which frames have a value, and how many events.

    Raises:
        ResultError: there is no such result per frame, or it is too much at once.
    """
    rest = beyond(file)
    first = max(first, 0)
    end = max(first, min(end, rest.end))
    count = len(range(first, end, step))
    check_size(name, len(range(max(first, rest.first), end, step)))
    part = slice(min(first, rest.first), min(end, rest.first), step)
    states = padded(np.asarray(file[layout.STATUS][part]), count, rest.state)
    has = (states == layout.DONE) & padded(has_value(file, name, part), count, blank=False)
    where, path = layout.place_of(name)
    values = file[path]
    if file[where].attrs["kind"] == "events":
        counts, found = _events(file[where], values, part, has, wanted=wanted)
        return Rows(first, states, has, found, counts, step)
    if not wanted:
        return Rows(first, states, has, np.zeros((0, *values.shape[1:]), values.dtype), step=step)
    check_size(name, count * int(np.prod(values.shape[1:])) * values.dtype.itemsize)
    found = padded(np.asarray(values[part]), count, 0)
    found[~has] = np.nan if found.dtype.kind == "f" else 0
    return Rows(first, states, has, found, step=step)


def has_value(file: Any, name: str, part: slice = slice(None)) -> np.ndarray[Any, Any]:
    """Return of each frame whether it has a value of this name, whatever its state; bool.

    Raises:
        ResultError: there is no such result per frame.
    """
    where, _ = layout.place_of(name)
    group = file.get(where)
    if group is None or "kind" not in group.attrs:
        raise no_result(file, name)
    if group.attrs["kind"] == "events":
        return np.asarray(group[layout.index_paths(where)[1]][part] > 0)
    return np.asarray(file[layout.valid_path(name)][part] == 1)


def no_result(file: Any, name: str) -> ResultError:
    """Return the error that a file has no such result."""
    return ResultError("no_such_result", f"{file.filename} has no result {name} (yet)")


def _events(
    group: Any, values: Any, part: slice, has: np.ndarray[Any, Any], *, wanted: bool
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return how many events each frame has, and the events of all of them."""
    first, count = layout.index_paths(group.name)
    firsts = group[first][part].astype(np.int64)
    counts = np.where(has, padded(group[count][part], len(has), 0), 0)
    nothing = np.zeros((0, *values.shape[1:]), values.dtype)
    if not wanted:
        return counts, nothing
    check_size(group.name, int(counts.sum()) * int(np.prod(values.shape[1:])) * values.dtype.itemsize)
    parts = [
        values[at : at + count]
        for at, count in zip(firsts.tolist(), counts[: len(firsts)].tolist(), strict=True)
        if count
    ]
    return counts, np.concatenate(parts) if parts else nothing


def check_size(name: str, nbytes: int) -> None:
    """Check that this is not too much to be read at once.

    Raises:
        ResultError: it is.
    """
    if nbytes > MOST_BYTES:
        raise ResultError(
            "bad_value", f"{nbytes:,} bytes of {name} are too many at once: ask for fewer frames"
        )


class Beyond(NamedTuple):
    """Consecutive frames without a row; none if `first` is `end`."""

    first: int
    """The first of them: so many frames have a row."""
    end: int
    """Number of all frames of the series."""
    state: int
    """State of each, see `layout.CODES`."""


def beyond(file: Any) -> Beyond:
    """Return the frames without a row.

    Args:
        file: h5py file.
    """
    rows = len(file[layout.STATUS])
    counts = {name: int(file[f"{layout.COUNTED}/{name}"][()]) for name in layout.COUNTS}
    # While the number is unknown there may be more rows than frames. What is counted is counted at the end.
    end = max(rows, counts.pop("planned"), sum(counts.values()))
    state = int(file[layout.BEYOND][()]) if layout.BEYOND in file else layout.PENDING
    return Beyond(rows, end, state)


def padded(values: np.ndarray[Any, Any], count: int, blank: Any) -> np.ndarray[Any, Any]:
    """Return values, (count, …), of frames of which those at the end have no row.

    Args:
        values: of those that have one.
        count: number of frames.
        blank: value of the others.
    """
    missing = count - len(values)
    if not missing:
        return values
    return np.concatenate([values, np.full((missing, *values.shape[1:]), blank, values.dtype)])
