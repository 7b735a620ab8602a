"""Rows of an open result file: the values of consecutive frames.

States are read before rows, which are written in the other order: a row whose frame is done by its state is
right.
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
    """Of each frame, uint8; see `layout.CODES`."""
    has: np.ndarray[Any, Any]
    """Whether each is done and has a value of this name; bool."""
    values: np.ndarray[Any, Any]
    """(frames, *shape); where there is none: NaN of floating-point numbers, else 0. Of events, all of these
    frames, one after the other."""
    counts: np.ndarray[Any, Any] | None = None
    """Of events: how many each frame has."""
    step: int = 1


def read_rows(file: Any, name: str, first: int, end: int, step: int = 1, *, wanted: bool = True) -> Rows:
    """Return the values of frames from `first` on and before `end`, as far as there are places.

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
    states = file[layout.STATUS]
    first, end = max(first, 0), min(end, len(states))
    end = max(first, end)
    part = slice(first, end, step)
    states = np.asarray(states[part])
    has = (states == layout.DONE) & has_value(file, name, part)
    where, path = layout.place_of(name)
    values = file[path]
    if file[where].attrs["kind"] == "events":
        return _events(file[where], values, part, states, has, wanted=wanted)
    if not wanted:
        return Rows(first, states, has, np.zeros((0, *values.shape[1:]), values.dtype), step=step)
    _check(name, len(states) * int(np.prod(values.shape[1:])) * values.dtype.itemsize)
    found = np.asarray(values[part])
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
    group: Any, values: Any, part: slice, states: np.ndarray[Any, Any], has: np.ndarray[Any, Any],
    *, wanted: bool,
) -> Rows:  # fmt: skip
    first, count = layout.index_paths(group.name)
    firsts = group[first][part].astype(np.int64)
    counts = np.where(has, group[count][part], 0)
    nothing = np.zeros((0, *values.shape[1:]), values.dtype)
    if not wanted:
        return Rows(part.start, states, has, nothing, counts, part.step)
    _check(group.name, int(counts.sum()) * int(np.prod(values.shape[1:])) * values.dtype.itemsize)
    parts = [
        values[at : at + count] for at, count in zip(firsts.tolist(), counts.tolist(), strict=True) if count
    ]
    found = np.concatenate(parts) if parts else nothing
    return Rows(part.start, states, has, found, counts, part.step)


def _check(name: str, nbytes: int) -> None:
    if nbytes > MOST_BYTES:
        raise ResultError(
            "bad_value", f"{nbytes:,} bytes of {name} are too many at once: ask for fewer frames"
        )
