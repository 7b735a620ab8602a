"""Frames that a virtual dataset shows: the dataset and file that hold each of them.

Segments of a series, a scan's file, and other files that refer to these all show whole frames of other
datasets, which may be virtual themselves.
"""

from __future__ import annotations

import os
import sys
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
from h5py import h5d, h5s

DEEPEST = 8
"""Most virtual datasets one behind the other."""
MOST_OPEN = 32
"""Most files that are open at the same time; a series can have thousands of segments."""
_NO_FILE = (OSError, RuntimeError, ValueError, KeyError)


class Run(NamedTuple):
    """Consecutive frames of a virtual dataset that lie one behind the other in another dataset."""

    first: int
    """Index of the first."""
    end: int | None
    """Index behind the last; `None` if unlimited."""
    file: str
    """File name; "." for the file of the virtual dataset."""
    dataset: str
    start: int
    """Index of the first frame in that dataset."""


def is_virtual(data: Any) -> bool:
    """Return whether a dataset is a view of others.

    h5py would keep the answer's property list with the dataset, and HDF5 2.0 cannot close that of a view when
    the process ends: it crashes where a dataset still lives then.
    """
    return bool(data.id.get_create_plist().get_layout() == h5d.VIRTUAL)


def runs_of(data: Any) -> list[Run]:
    """Return what a virtual dataset shows, in the order of the frames; nothing if it is none, or shows parts
    of frames."""
    if not is_virtual(data):
        return []
    found = []
    for source in h5py.Dataset(data.id).virtual_sources():  # of another object: see `is_virtual`
        here, there = _frames(source.vspace), _frames(source.src_space)
        if here is None or there is None:
            return []
        (first, count), (start, _) = here, there
        # In these names HDF5 takes "%" for the beginning of a number's place.
        file, dataset = (name.replace("%%", "%") for name in (source.file_name, source.dset_name))
        found.append(Run(first, None if count is None else first + count, file, dataset, start))
    return sorted(found)


def _frames(space: Any) -> tuple[int, int | None] | None:
    """Return the first frame of a selection, and the number of frames; `None` if it is not of whole frames
    in a row."""
    if space.get_select_type() == h5s.SEL_ALL:
        return 0, space.shape[
            0
        ] if space.shape else None  # of the source, all of it may be said without its size
    if not space.is_regular_hyperslab():
        return None
    start, stride, count, block = space.get_regular_hyperslab()
    endless = h5s.UNLIMITED in (count[0], block[0])
    if not endless and stride[0] != block[0] and count[0] != 1:
        return None
    inner = zip(start[1:], count[1:], block[1:], space.shape[1:], strict=True)
    whole = all(first == 0 and number * size == length for first, number, size, length in inner)
    return (int(start[0]), None if endless else int(count[0] * block[0])) if whole else None


class LinkedFrames:
    """The frames of one virtual dataset; each file is opened when it is needed.

    Args:
        data: the virtual dataset.
    """

    def __init__(self, data: Any) -> None:
        self._data = data
        self._open: dict[Path, h5py.File] = {}
        self._runs: dict[tuple[str, str], list[Run]] = {}
        self._virtual: dict[tuple[str, str], bool] = {}

    def find(self, index: int) -> tuple[Any, int] | None:
        """Return the dataset that holds a frame, and its index there; `None` if none does, or its file cannot
        be read."""
        found, _ = self._follow(index)
        return None if found is None or isinstance(found, Path) else found

    def run(self, index: int) -> tuple[Any, int, int] | None:
        """Return the dataset that holds a frame, its index there, and how many frames from this one on lie
        there one behind the other; `None` as `find` does."""
        found, count = self._follow(index)
        return None if found is None or isinstance(found, Path) else (*found, count)

    def absent(self, indices: np.ndarray[Any, Any]) -> list[Path]:
        """Return the files that should hold some of these frames, in order, but do not exist, or cannot be
        read."""
        files: list[Path] = []
        at = 0
        while at < len(indices):
            index = int(indices[at])
            found, count = self._follow(index)
            if isinstance(found, Path) and found not in files:
                files.append(found)
            at = int(np.searchsorted(indices, index + count))
        return files

    def _follow(self, index: int) -> tuple[tuple[Any, int] | Path | None, int]:
        """Return the place of a frame, or the file that does not exist, or cannot be read; and for how many
        frames from this one on the same file is asked."""
        data, count = self._data, sys.maxsize
        place: Path | None = None
        try:
            for _ in range(DEEPEST):
                if not self._is_virtual(data):
                    return (data, index) if index < len(data) else None, count
                run = self._run(data, index)
                if run is None:
                    return None, 1
                if run.end is not None:
                    count = min(count, run.end - index)
                file = data.file
                if run.file != ".":
                    place = place_of(Path(file.filename), run.file)
                    if not os.path.exists(place):
                        return place, count
                    file = self._file(place)
                data, index = file[run.dataset], index - run.first + run.start
        except _NO_FILE:
            return place, 1 if place is None else count  # the caller names the frames
        return None, 1

    def _is_virtual(self, data: Any) -> bool:
        key = data.file.filename, data.name
        if key not in self._virtual:
            self._virtual[key] = is_virtual(data)
        return self._virtual[key]

    def _run(self, data: Any, index: int) -> Run | None:
        key = data.file.filename, data.name
        if key not in self._runs:
            self._runs[key] = runs_of(data)
        runs = self._runs[key]
        at = bisect_right(runs, index, key=lambda run: run.first) - 1
        found = runs[at] if at >= 0 else None
        return found if found is not None and (found.end is None or index < found.end) else None

    def _file(self, place: Path) -> h5py.File:
        if place not in self._open:
            while len(self._open) >= MOST_OPEN:
                self._open.pop(next(iter(self._open))).close()
            self._open[place] = h5py.File(place, "r", locking=False)
        return self._open[place]

    def close(self) -> None:
        """Close all files."""
        for file in self._open.values():
            file.close()
        self._open.clear()


def place_of(shown_by: Path, name: str) -> Path:
    """Return the path of a file that a virtual dataset names: the first that exists of those at which HDF5
    looks (`H5F_prefix_open_file`), else the one beside the file of the virtual dataset."""
    given = Path(name)
    beside = shown_by.parent / name  # which is the name itself if that is absolute
    return next(filter(os.path.exists, _places(shown_by, given)), beside)


def _places(shown_by: Path, given: Path) -> Iterator[Path]:
    if given.is_absolute():
        yield given
        given = Path(given.name)
    for prefix in os.environ.get("HDF5_VDS_PREFIX", "").split(":"):
        if prefix:
            yield Path(prefix.replace("${ORIGIN}", str(shown_by.parent))) / given
    yield shown_by.parent / given
    yield given
    if shown_by.is_symlink():
        yield shown_by.resolve().parent / given
