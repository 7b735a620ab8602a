"""The end of a result file: rows without a value, and places that no frame has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penstock.processing.results import contents, layout
from penstock.processing.results.columns import Column, runs
from penstock.processing.results.errors import ResultError
from penstock.processing.results.open_result import OpenResult
from penstock.processing.results.rows import Beyond
from penstock.processing.wire import Array

MOST_FILLED = 2**26
"""Bytes of NaN that are written at most: more rows are hidden, so that they take no space."""
MOST_PARTS = 10_000
"""Parts of one virtual dataset at most; each takes 125 bytes, and time when it is opened."""
_BLOCK = 2**22


def tidy(
    opened: OpenResult,
    beyond: Beyond,
    events: Mapping[str, int],
    whole: Sequence[tuple[Array, np.ndarray[Any, Any]]],
) -> str:
    """Let the file show as many rows as there are frames that have one, and NaN where a frame has no value.

    Args:
        opened: the file.
        beyond: the frames that have no row.
        events: number of events by name.
        whole: results of the series as a whole.

    Returns:
        A sentence if there was no space to make the file anew, else "".

    Raises:
        OSError: NaN cannot be written.
    """
    frames = beyond.first
    if layout.BEYOND in opened.columns:  # not in a file that an earlier version has begun
        opened.put(layout.BEYOND, 0, np.array([beyond.state]))
    cut = {column.path: frames for column in opened.per_frame if column.rows != frames}
    done = opened.read(layout.STATUS) == layout.DONE
    for name, count in events.items():
        where, path = layout.place_of(name)
        if opened.columns[path].rows != count:
            cut[path] = count
        counted = opened.columns[layout.index_paths(where)[1]]
        found = counted.read(opened.descriptor)
        if found[~done].any():
            counted.write(opened.descriptor, 0, np.where(done, found, 0).astype(counted.dtype))
    parts = _hidden(opened, frames, done)
    if not cut and not parts and not whole:
        return ""
    columns = opened.columns

    moved = {path: rows for path, rows in cut.items() if path not in parts}

    def change(file: Any) -> None:
        layout.replace(file, [(columns[path], rows) for path, rows in moved.items()])
        for path, shown in parts.items():
            layout.hide(file, columns[path], frames, shown)
        for array, value in whole:
            contents.add_whole(file, array, value)

    try:
        opened.remake(change, "the file as it is at the end", keep_space=False, moved=moved)
    except ResultError as error:
        return f"{error}. It has places for {opened.rows:,} frames; those beyond {frames:,} are empty"
    return ""


def _hidden(opened: OpenResult, frames: int, done: np.ndarray[Any, Any]) -> dict[str, list[tuple[int, int]]]:
    """Write NaN where it takes little space; return the rows to be shown of columns where it does not."""
    parts: dict[str, list[tuple[int, int]]] = {}
    prefix = f"{layout.VALID}/"
    for path, valid in list(opened.columns.items()):
        if not path.startswith(prefix):
            continue
        column = opened.columns[layout.place_of(path.removeprefix(prefix))[1]]
        end = min(frames, column.rows)
        said = valid.read(opened.descriptor, 0, end) == 1
        has = said & done[:end]
        if (said & ~has).any():  # results have come of a frame that was lost or has failed after that
            valid.write(opened.descriptor, 0, has.astype(np.uint8))
        if column.dtype.kind != "f" or not column.row_bytes:
            continue
        missing, shown = np.flatnonzero(~has), np.flatnonzero(has)
        found = [(int(shown[begin]), int(shown[stop - 1]) + 1) for begin, stop in runs(shown)]
        if len(missing) * column.row_bytes > MOST_FILLED and len(found) <= MOST_PARTS:
            parts[column.path] = found or [(0, 0)]
        else:
            _fill(opened.descriptor, column, missing)
    return parts


def _fill(descriptor: int, column: Column, missing: np.ndarray[Any, Any]) -> None:
    rows = max(1, _BLOCK // column.row_bytes)
    blank = np.full((min(rows, max(len(missing), 1)), *column.shape), np.nan, column.dtype)
    for begin, stop in runs(missing):
        for at in range(int(missing[begin]), int(missing[stop - 1]) + 1, rows):
            column.write(descriptor, at, blank[: min(rows, int(missing[stop - 1]) + 1 - at)])
