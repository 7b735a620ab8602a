"""The pixels of a dataset that were ever written, if it is stored in its own file."""

from __future__ import annotations

import os
from math import prod
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from h5py import h5d, h5f

Bools = np.ndarray[Any, np.dtype[np.bool_]]
Box: TypeAlias = "tuple[tuple[int, int], ...]"
"""A part of a frame: first and behind the last index along each of its axes."""
NEVER = "it was never written: the file has a place for it, and no pixels"
PARTLY = "a part of it was never written: the file has a place for it, and no pixels"
MOST_CHUNKS = 2**26
"""Most chunks of a dataset; with more, what was never written is not looked for."""


class Chunks:
    """The pieces of one dataset.

    HDF5 names those that were written: chunks, or all of a dataset in one piece. What was allocated when the
    dataset was created cannot be told from what was written.

    Args:
        data: h5py dataset, not virtual; it is not kept.
    """

    def __init__(self, data: Any) -> None:
        self.shape: tuple[int, ...] = tuple(data.shape)
        how = data.id.get_create_plist()
        layout = how.get_layout()
        self._chunk = tuple(how.get_chunk()) if layout == h5d.CHUNKED else self.shape
        self._why = ""
        self._there: Bools | None = None
        """Flags of the chunks that were written, by place in their grid; `None`: all were."""
        self._kept: tuple[Box, tuple[Bools, Bools]] | None = None
        if how.get_external_count():
            self._find_external(data, how)
        elif layout == h5d.CHUNKED:
            self._find_chunks(data)
        elif layout == h5d.CONTIGUOUS and data.id.get_offset() is None:
            self._there = np.zeros((1,) * len(self.shape), np.bool_)

    def survey(self, box: Box) -> tuple[Bools, Bools]:
        """Return per frame whether some of a part of it was written, and whether all of it was."""
        if self._kept is None or self._kept[0] != box:
            self._kept = box, self._survey(box)
        return self._kept[1]

    def missing(self, frame: int, box: Box) -> Bools:
        """Return which pixels of a part of a frame were never written, of the part's shape."""
        if self._there is None:
            return np.zeros([end - first for first, end in box], np.bool_)
        lead = self._lead(box)
        place = np.unravel_index(frame, lead) if lead else ()
        found = ~self._there[tuple(int(at) // size for at, size in zip(place, self._chunk, strict=False))]
        for axis, (size, (first, end)) in enumerate(zip(self._chunk[len(lead) :], box, strict=True)):
            found = np.take(found, np.arange(first, end) // size, axis)
        return np.asarray(found)

    def why(self, frame: int, box: Box) -> str | None:
        """Return why a part of a frame, or some of it, is not there."""
        some, whole = self.survey(box)
        if whole[frame]:
            return None
        return self._why or (PARTLY if some[frame] else NEVER)

    def _survey(self, box: Box) -> tuple[Bools, Bools]:
        lead = self._lead(box)
        if self._there is None:
            every = np.ones(prod(lead), np.bool_)
            return every, every
        inner = tuple(
            slice(first // size, -(-end // size))
            for (first, end), size in zip(box, self._chunk[len(lead) :], strict=True)
        )
        part = self._there[(slice(None),) * len(lead) + inner]
        over = tuple(range(len(lead), part.ndim))
        found = []
        for each in (part.any(over), part.all(over)):
            for axis, (size, length) in enumerate(zip(self._chunk, lead, strict=False)):
                each = each if size == 1 else np.take(each, np.arange(length) // size, axis)
            found.append(np.asarray(each).reshape(-1))
        return found[0], found[1]

    def _lead(self, box: Box) -> tuple[int, ...]:
        return self.shape[: len(self.shape) - len(box)]

    def _find_chunks(self, data: Any) -> None:
        grid = tuple(-(-length // size) for length, size in zip(self.shape, self._chunk, strict=True))
        # To count them is cheap: only where some are missing they are asked for one by one.
        if prod(grid) > MOST_CHUNKS or data.id.get_num_chunks() >= prod(grid):
            return
        corners: list[tuple[int, ...]] = []
        add = corners.append
        data.id.chunk_iter(lambda chunk: add(chunk.chunk_offset))
        self._there = np.zeros(grid, np.bool_)
        if corners:
            places = np.array(corners, np.int64) // np.array(self._chunk, np.int64)
            self._there[tuple(places.T)] = True

    def _find_external(self, data: Any, how: Any) -> None:
        """Find the frames whose bytes are in files that are there, and as long as they should be.

        HDF5 reads zeros behind the end of such a file.
        """
        rows, at = np.ones(self.shape[0] if self.shape else 1, np.bool_), 0
        nbytes = prod(self.shape[1:]) * data.dtype.itemsize
        for number in range(how.get_external_count()):
            name, offset, size = how.get_external(number)
            path = _raw_file(Path(data.file.filename), os.fsdecode(name))
            end = at + size if size != h5f.UNLIMITED else max(at, len(rows) * nbytes)
            has = path.stat().st_size - offset if path.exists() else 0
            if at + has < end:
                rows[(at + max(0, has)) // nbytes : -(-end // nbytes)] = False
                self._why = self._why or (
                    f"{path} ends before it: copy it again" if path.exists() else f"{path} does not exist"
                )
            at = end
        if not rows.all():
            self._chunk = (1, *self.shape[1:])
            self._there = rows.reshape(-1, *(1 for _ in self.shape[1:]))


def _raw_file(shown_by: Path, name: str) -> Path:
    """Return the path of a file of raw pixels, as HDF5 looks for it: from the working directory, unless the
    environment says otherwise."""
    prefix = os.environ.get("HDF5_EXTFILE_PREFIX", "").replace("${ORIGIN}", str(shown_by.parent))
    return Path(prefix) / name
