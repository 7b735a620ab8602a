"""Events of a result file in the layout of stempy's sparse arrays, version 3.

A process of its own, which the distributor starts when a series is over:
python -m penstock.processing.results.as_stempy RESULT_FILE SETTINGS

Of a scan of [rows, cols] positions frame i lies at position i // k, k being the number of frames per
position; frames that are not done, and those that never were, are empty (stempy 3.6, `io/sparse_array.py`,
`SparseArray.from_hdf5`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import msgspec
import numpy as np
from h5py import h5s

from penstock.processing.results import layout
from penstock.processing.results.errors import ResultError, not_written
from penstock.processing.results.rows import beyond
from penstock.receiver.reading.frame_files import open_frames
from penstock.receiver.reading.reader import ReaderError
from penstock.stins.texts import plural

VERSION = 3
ELECTRONS, SHAPE = "electrons", "frame_shape"
"""Events of the built-in step; and the result of the series as a whole that says the rows and columns of a
frame."""
CHUNK = 1024
"""Frames that are written at once."""
MOST_APART = 4
"""Events are read in one piece if it has at most so many times those that are wanted."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What the file is to be."""

    result: str
    """Name of the events."""
    scan: tuple[int, int] | None = None
    """Positions, (rows, cols); `None` for one row of all frames."""
    overwrite: bool = False


def path_of(result_file: Path) -> Path:
    """Return the path of the file: `x.electrons.stempy.h5` for `x.electrons.h5`."""
    return result_file.with_name(f"{result_file.stem}.stempy.h5")


def write(result_file: Path, settings: Settings) -> str:
    """Write the file beside a result file.

    Returns:
        A sentence about frames that are not in it; "" if all are.

    Raises:
        ResultError: it cannot be made; the sentence says why.
    """
    path = path_of(result_file)
    if path.exists() and not settings.overwrite:
        raise ResultError("name_taken", f"{path} exists and is not overwritten: move it away")
    draft = path.with_name(f".{path.name}.new")
    try:
        found = h5py.File(result_file, "r", locking=False)
    except OSError as error:
        raise ResultError("not_a_result_file", f"{result_file} cannot be opened: {error}") from error
    try:
        with found, h5py.File(draft, "w") as made:
            said = _fill(found, result_file, made, settings)
        if settings.overwrite:
            os.rename(draft, path)
        else:
            os.link(draft, path)
    except FileExistsError as error:
        raise ResultError("name_taken", f"{path} exists and is not overwritten: move it away") from error
    except OSError as error:
        raise not_written(path, "the file", error) from error
    finally:
        draft.unlink(missing_ok=True)
    return said


def _fill(found: Any, result_file: Path, made: Any, settings: Settings) -> str:
    where, events = layout.place_of(settings.result)
    if where not in found or found[where].attrs.get("kind") != "events":
        raise ResultError("no_such_result", f"{result_file} has no events {settings.result} for stempy")
    done = found[layout.STATUS][...] == layout.DONE
    rows, columns = settings.scan or (1, max(len(done), 1))
    total = beyond(found).end
    if settings.scan is None or total // (rows * columns) > len(done):
        total = len(done)  # a plan of which not even one position could be complete is none of this scan
    each = max(1, total // (rows * columns))
    if total > rows * columns and total % (rows * columns):
        raise ResultError(
            "bad_value",
            f"{plural(total, 'frame')} of {result_file} are no multiple of the {rows} x {columns} "
            "positions of scan, so that no frame's position is known: give the scan that was taken, and "
            "process the raw file again",
        )
    shape = _shape(found, result_file, settings.result)

    made.attrs["version"] = VERSION
    group = made.create_group("electron_events")
    positions = group.create_dataset("scan_positions", data=np.arange(rows * columns))
    positions.attrs.update(Nx=columns, Ny=rows)
    frames = group.create_dataset("frames", (rows * columns * each,), h5py.vlen_dtype(np.uint32))
    frames.attrs.update(Nx=shape[0], Ny=shape[1])
    space = frames.id.get_space()
    for first, of_frames in _chunks(found[where], found[events], done):
        # Not by assignment: h5py takes arrays of one length for an array of two dimensions.
        space.select_hyperslab((first,), of_frames.shape)
        frames.id.write(h5s.create_simple(of_frames.shape), space, of_frames)
    about = made.create_group("metadata/penstock")
    about["result_file"], about["not_done"] = result_file.name, np.flatnonzero(~done)
    return _missing(done, rows, columns, each)


def _missing(done: np.ndarray[Any, Any], rows: int, columns: int, each: int) -> str:
    not_done, never = int(np.count_nonzero(~done)), rows * columns * each - len(done)
    said = [f"{plural(not_done, 'frame')} not done"] if not_done else []
    if never:
        said.append(
            f"{plural(len(done), 'frame')} for {rows} x {columns} positions"
            + (f" of {plural(each, 'frame')}" if each > 1 else "")
        )
    return f"what is missing is empty: {', '.join(said)}" if said else ""


def _chunks(
    group: Any, events: Any, done: np.ndarray[Any, Any]
) -> Iterator[tuple[int, np.ndarray[Any, Any]]]:
    """Yield the first of some frames, and the events of each of them."""
    index, counted = layout.index_paths(group.name)
    for first in range(0, len(done), CHUNK):
        part = slice(first, first + CHUNK)
        begins = group[index][part].astype(np.int64)
        counts = np.where(done[part], group[counted][part], 0).astype(np.int64)
        there = counts > 0
        if not there.any():
            continue
        low, high = int(begins[there].min()), int((begins + counts)[there].max())
        piece = events[low:high] if high - low <= MOST_APART * counts.sum() else None
        found = np.empty(len(counts), h5py.vlen_dtype(np.uint32))
        for place, (begin, count) in enumerate(zip(begins.tolist(), counts.tolist(), strict=True)):
            if not count:
                found[place] = np.zeros(0, np.uint32)
            elif piece is not None:
                found[place] = piece[begin - low : begin - low + count].astype(np.uint32)
            else:
                found[place] = events[begin : begin + count].astype(np.uint32)
        yield first, found


def _shape(found: Any, result_file: Path, events: str) -> tuple[int, int]:
    """Return the rows and columns of a frame, which events do not tell; those of a step that has a name come
    with the same name."""
    for name in (events.removesuffix(ELECTRONS) + SHAPE, SHAPE):
        if (said := found.get(f"{layout.WHOLE}/{name}")) is not None and said.shape == (2,):
            return int(said[0]), int(said[1])
    raw = str(found[layout.ACCOUNT].attrs.get("raw_file", ""))  # relative
    try:
        if not raw:
            raise ReaderError("there is no raw file")
        with open_frames(result_file.parent / raw) as frames:
            return int(frames.shape[-2]), int(frames.shape[-1])
    except (ReaderError, IndexError) as error:
        raise ResultError(
            "bad_value", f"{result_file}: rows and columns of a frame are unknown, so that stempy could not "
            f"read its events: {error}"
        ) from error  # fmt: skip


def main() -> None:
    """Write the file of one result file; print what is missing in it."""
    path, settings = Path(sys.argv[1]), msgspec.json.decode(sys.argv[2], type=Settings)
    try:
        print(write(path, settings))
    except ResultError as error:
        print(error)
        sys.exit(1)


if __name__ == "__main__":
    main()
