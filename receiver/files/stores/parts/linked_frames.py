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

from penstock.receiver.files.stores.counted_names import is_counted, numbered
from penstock.receiver.files.stores.errors import why_not
from penstock.receiver.files.stores.parts.names import foreign
from penstock.receiver.files.stores.parts.views import series_shown_by

DEEPEST = 8
"""Most virtual datasets one behind the other."""
MOST_OPEN = 32
"""Most files that are open at the same time; a series can have thousands of segments."""
_NO_FILE = (RuntimeError, ValueError, KeyError, TypeError)


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


def runs_of(data: Any, *, counted: bool = False) -> list[Run]:
    """Return what a virtual dataset shows, in the order of the frames; nothing if it is none, or shows parts
    of frames.

    Args:
        data: the dataset.
        counted: also of one whose files, or datasets, are counted, as if number 0 had all of its frames.
    """
    if not is_virtual(data):
        return []
    found = []
    for source in h5py.Dataset(data.id).virtual_sources():  # of another object: see `is_virtual`
        here, there = _frames(source.vspace), _frames(source.src_space)
        names = source.file_name, source.dset_name
        if here is None or there is None or (not counted and any(map(is_counted, names))):
            return []
        (first, count), (start, _) = here, there
        file, dataset = map(numbered, names)
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


class Unreadable(NamedTuple):
    """A file of which frames are shown, and which cannot be read."""

    path: Path
    why: str
    """A sentence that names the file."""

    @classmethod
    def absent(cls, path: Path) -> Unreadable:
        """Return the file of this path, which does not exist."""
        return cls(path, f"{path} does not exist")

    @property
    def is_absent(self) -> bool:
        """True if there is no such file."""
        return self == self.absent(self.path)


class UnreadableError(OSError):
    """A file that should hold pixels of a frame cannot be read; the sentence names it."""


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
        self._series: dict[tuple[str, str], str | None] = {}
        self._last: tuple[int, int, Any, int] = (0, 0, None, 0)
        """Place of the frames that were asked for last: index of the first, behind the last, dataset, index
        of the first there."""

    def find(self, index: int) -> tuple[Any, int] | None:
        """Return the dataset that holds a frame, and its index there; `None` if none does, or its file cannot
        be read."""
        first, end, data, start = self._last
        if first <= index < end and data.id.valid:
            return data, index - first + start
        found, _ = self._follow(index)
        return None if found is None or isinstance(found, Unreadable) else found

    def run(self, index: int) -> tuple[Any, int, int] | None:
        """Return the dataset that holds a frame, its index there, and how many frames from this one on lie
        there one behind the other; `None` as `find` does."""
        found, count = self._follow(index)
        return None if found is None or isinstance(found, Unreadable) else (*found, count)

    def why_not(self, index: int) -> str | None:
        """Return why the file that should hold a frame cannot be read, a sentence that names it; `None` if it
        can, or nobody knows."""
        found, _ = self._follow(index)
        return found.why if isinstance(found, Unreadable) else None

    def unreadable(self, indices: np.ndarray[Any, Any]) -> list[Unreadable]:
        """Return the files that should hold some of these frames, in order, but cannot be read."""
        files: dict[Path, Unreadable] = {}
        at = 0
        while at < len(indices):
            index = int(indices[at])
            found, count = self._follow(index)
            if isinstance(found, Unreadable):
                files.setdefault(found.path, found)
            at = int(np.searchsorted(indices, index + count))
        return list(files.values())

    def _follow(self, index: int) -> tuple[tuple[Any, int] | Unreadable | None, int]:
        """Return the place of a frame, or the file that cannot be read; and for how many frames from this one
        on the same file is asked."""
        data, at, count = self._data, index, sys.maxsize
        place = Path(data.file.filename)
        try:
            for _ in range(DEEPEST):
                if not self._is_virtual(data):
                    if at >= len(data):
                        return None, count
                    self._last = index, index + min(count, len(data) - at), data, at
                    return (data, at), count
                run = self._run(data, at)
                if run is None:
                    return None, 1
                if run.end is not None:
                    count = min(count, run.end - at)
                file = data.file
                if run.file != ".":
                    place = place_of(Path(file.filename), run.file)
                    if not os.path.exists(place):
                        return Unreadable.absent(place), count
                    file = self._file(place)
                    if why := self._foreign(data, place, file):
                        return Unreadable(place, why), count
                if not isinstance(found := file.get(run.dataset), h5py.Dataset):
                    return Unreadable(place, f"{place} has no dataset {run.dataset}"), count
                data, at = found, at - run.first + run.start
        except OSError as error:
            return Unreadable(place, why_not(place, error)), count
        except _NO_FILE as error:
            return Unreadable(place, f"{place} is damaged: {error}"), count
        return None, 1

    def _foreign(self, view: Any, place: Path, file: h5py.File) -> str:
        """Return why a file that a view of parts shows is not the part that should be there; "" if it is."""
        key = view.file.filename, view.name
        if key not in self._series:
            self._series[key] = series_shown_by(view)
        series = self._series[key]
        return "" if series is None else foreign(file, place, series)

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
        self._last = (0, 0, None, 0)
        for file in self._open.values():
            file.close()
        self._open.clear()


def place_of(shown_by: Path, name: str) -> Path:
    """Return the path of a file that a virtual dataset names: the first that exists of those at which HDF5
    looks (`H5F_prefix_open_file`), else the one beside the file of the virtual dataset."""
    found = next(filter(os.path.exists, _places(shown_by, name)), None)
    if found is None:
        beside = shown_by.resolve().parent if shown_by.is_symlink() else shown_by.parent
        found = os.path.join(beside, name)
    return Path(found)


def _places(shown_by: Path, name: str) -> Iterator[str]:
    if os.path.isabs(name):
        yield name
        name = os.path.basename(name)
    folder = os.path.dirname(shown_by)
    for prefix in os.environ.get("HDF5_VDS_PREFIX", "").split(":"):
        if prefix:
            yield os.path.join(prefix.replace("${ORIGIN}", folder), name)
    yield os.path.join(folder, name)
    yield name
    if os.path.islink(shown_by):
        yield os.path.join(os.path.dirname(os.path.realpath(shown_by)), name)
