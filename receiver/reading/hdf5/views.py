"""The pixels of a virtual dataset that are there: in its own file, and in those that it shows.

HDF5 reads the fill value where a file is away, cannot be read, or was never written.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import h5py
import numpy as np
from h5py import h5d, h5f, h5p

from penstock.receiver.files.stores.parts.linked_frames import is_virtual, place_of
from penstock.receiver.reading.hdf5.chunks import NEVER, Bools, Box, Chunks
from penstock.receiver.reading.hdf5.mappings import Indices, Mapping, all_of, flat, mappings
from penstock.receiver.reading.reader import ReaderError, open_hdf5

DEEPEST = 8
"""Most virtual datasets one behind the other."""
MOST_OPENED = 1000
"""Files that are opened to see what was written there, as a file is opened; of further ones it is only asked
whether they exist, until one of their frames is read."""
UNMAPPED = "it is in no file: the virtual dataset shows nothing there"
_NO_DATA = (OSError, RuntimeError, ValueError, KeyError, TypeError)


Extent: TypeAlias = "Chunks | View"


class Sources:
    """The datasets that virtual datasets show. Files are closed again as soon as it is known what they have.

    Args:
        axes: number of axes of a frame.
        most: files that are opened by a survey.
    """

    def __init__(self, axes: int, most: int = MOST_OPENED) -> None:
        self.axes = axes
        self._most = most
        self.left_out = False
        """True if files were not opened, since there are so many."""
        self._opened: set[Path] = set()
        self._known: dict[tuple[Path, str], Extent | str] = {}
        self._places: dict[tuple[Path, str], Path] = {}

    def find(self, by: Path, file: str, dataset: str, depth: int, *, surely: bool) -> Extent | str | None:
        """Return what a dataset has, or why it is not there.

        Args:
            by: file of the virtual dataset.
            file: name in it.
            dataset: name of the dataset.
            depth: number of virtual datasets before it.
            surely: also if very many files were opened already; else `None`: it exists.
        """
        path = by if file == "." else self._places.get((by, file))
        if path is None:
            path = self._places[by, file] = place_of(by, file)
        key = path, dataset
        if key not in self._known:
            if not os.path.exists(path):
                return f"{path} does not exist"
            if not surely and path not in self._opened and len(self._opened) >= self._most:
                self.left_out = True
                return None
            self._opened.add(path)
            self._known[key] = self._open(path, dataset, depth)
        return self._known[key]

    def of(self, data: Any, depth: int = 0) -> Extent:
        """Return what a dataset has."""
        return View(data, self, depth) if is_virtual(data) else Chunks(data)

    def _open(self, path: Path, dataset: str, depth: int) -> Extent | str:
        if depth > DEEPEST:
            return f"{path} is shown by more than {DEEPEST} virtual datasets one behind the other"
        try:
            # Not as h5py.File, and closed as it is forgotten: else h5py goes through all that is open.
            file = h5f.open(os.fsencode(path), h5f.ACC_RDONLY, _access())
        except OSError:
            try:
                open_hdf5(path).close()
            except ReaderError as error:
                return str(error)
            return f"{path} cannot be opened"
        try:
            data = h5py.Dataset(h5d.open(file, dataset.encode()))
            if data.ndim < self.axes:
                return f"{path} has no frames in {dataset}"
            return self.of(data, depth)
        except KeyError:
            return f"{path} has no {dataset}"
        except _NO_DATA as error:
            return f"{dataset} of {path} cannot be read: {error}"


@lru_cache(maxsize=1)
def _access() -> Any:
    """Return how files are opened: without a lock, so that a writer is not disturbed."""
    how = h5p.create(h5p.FILE_ACCESS)
    how.set_file_locking(False, True)
    return how


class View:
    """The mappings of one virtual dataset.

    Args:
        data: h5py dataset; it is not kept.
        sources: the datasets that it shows.
        depth: number of virtual datasets before it.
    """

    def __init__(self, data: Any, sources: Sources, depth: int) -> None:
        self.shape: tuple[int, ...] = tuple(data.shape)
        self._path = Path(data.file.filename)
        self._sources, self._depth = sources, depth
        self._mappings = list(mappings(data, sources.axes))
        self._kept: tuple[Box, tuple[Bools, Bools]] | None = None

    def survey(self, box: Box) -> tuple[Bools, Bools]:
        """Return per frame whether some of a part of it is there, and whether all is that is mapped."""
        if self._kept is None or self._kept[0] != box:
            self._kept = box, self._survey(box)
        return self._kept[1]

    def _survey(self, box: Box) -> tuple[Bools, Bools]:
        count = int(np.prod(self.shape[: len(self.shape) - len(box)]))
        some, gone = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
        for mapping in self._mappings:
            if (part := mapping.covered(box)) is None:
                continue
            found = self._find(mapping, surely=False)
            if found is None:
                some[mapping.frames] = True
            elif isinstance(found, str):
                gone[mapping.frames] = True
            else:
                one, whole = _shown(mapping, found, tuple(part))
                some[mapping.frames] |= one
                gone[mapping.frames] |= ~whole
        return some, some & ~gone

    def missing(self, frame: int, box: Box) -> Bools:
        """Return which pixels of a part of a frame are shown from where nothing is, of the part's shape."""
        missing = np.zeros([end - first for first, end in box], np.bool_)
        for mapping, at in self._of(frame):
            if (part := mapping.covered(box)) is None:
                continue
            place = tuple(
                slice(first - begin, end - begin) for (first, end), (begin, _) in zip(part, box, strict=True)
            )
            found = self._find(mapping, surely=True)
            if found is None:
                continue
            there = None if isinstance(found, str) else _place(mapping, found, at, tuple(part))
            if isinstance(found, str):
                missing[place] = True
            elif there is None:
                missing[place] |= not _has_anything(found, len(box))
            else:
                missing[place] |= found.missing(*there) if there[0] >= 0 else True
        return missing

    def why(self, frame: int, box: Box) -> str | None:
        """Return why a part of a frame, or some of it, is not there; of several reasons the first."""
        mapped = False
        for mapping, at in self._of(frame):
            if (part := mapping.covered(box)) is None:
                continue
            mapped = True
            found = self._find(mapping, surely=True)
            if isinstance(found, str):
                return found
            if found is None:
                continue
            file = self._path if mapping.file == "." else place_of(self._path, mapping.file)
            there = _place(mapping, found, at, tuple(part))
            if there is None:
                if not _has_anything(found, len(box)):
                    return f"{NEVER} ({mapping.dataset} of {file})"
                continue
            if there[0] < 0:
                return f"{mapping.dataset} of {file} has fewer frames than are shown of it"
            if (why := found.why(*there)) is not None:
                return why if isinstance(found, View) else f"{why} ({mapping.dataset} of {file})"
        return None if mapped else UNMAPPED

    def _of(self, frame: int) -> Iterator[tuple[Mapping, int]]:
        """Yield the mappings that show a frame, and which of their frames it is."""
        for mapping in self._mappings:
            frames = mapping.frames
            if len(frames) and frames[0] <= frame <= frames[-1]:
                at = int(np.searchsorted(frames, frame))
                if frames[at] == frame:
                    yield mapping, at

    def _find(self, mapping: Mapping, *, surely: bool) -> Extent | str | None:
        return self._sources.find(self._path, mapping.file, mapping.dataset, self._depth + 1, surely=surely)


def _shown(mapping: Mapping, found: Extent, part: Box) -> tuple[Bools, Bools]:
    """Return of each frame of a mapping whether some of its part is there, and whether all is."""
    aligned = _aligned(mapping, found, part)
    if aligned is None:
        some = np.full(len(mapping.frames), _has_anything(found, len(part)))
        return some, some
    frames, box = aligned
    some, whole = found.survey(box)
    has = frames < len(some)
    one, all_ = np.zeros(len(frames), np.bool_), np.zeros(len(frames), np.bool_)
    one[has], all_[has] = some[frames[has]], whole[frames[has]]
    return one, all_


def _has_anything(found: Extent, frame_axes: int) -> bool:
    every = tuple((0, length) for length in found.shape[len(found.shape) - frame_axes :])
    return bool(found.survey(every)[0].any())


def _place(mapping: Mapping, found: Extent, at: int, part: Box) -> tuple[int, Box] | None:
    """Return which frame of the other dataset is shown, and which part of it; −1: one behind its last.

    Returns:
        `None` if frames are put together in another way, so that nobody knows.
    """
    aligned = _aligned(mapping, found, part)
    if aligned is None:
        return None
    frames, box = aligned
    count = int(np.prod(found.shape[: len(found.shape) - len(part)]))
    return (int(frames[at]) if frames[at] < count else -1), box


def _aligned(mapping: Mapping, found: Extent, part: Box) -> tuple[Indices, Box] | None:
    """Return the frames of the other dataset that a mapping shows, and which part of them.

    Returns:
        `None` if its axes are not those of the frames, such as where rows are made of modules.
    """
    lead = found.shape[: len(found.shape) - len(part)]
    selected = all_of(found.shape) if mapping.source == [] else mapping.source
    if selected is None or mapping.inner is None or len(selected) != len(found.shape):
        return None
    box = []
    for here, there, (first, end) in zip(mapping.inner, selected[len(lead) :], part, strict=True):
        if here.blocks * here.block != there.blocks * there.block or here.is_stepped or there.is_stepped:
            return None
        box.append((there.start + first - here.start, there.start + end - here.start))
    outer = selected[: len(lead)]
    number = len(mapping.frames)
    if len(outer) == 1:  # all of it may be more than it has
        frames = outer[0].first(number) if mapping.source else np.arange(number)
    else:
        frames = flat([axis.within(length) for axis, length in zip(outer, lead, strict=True)], lead)
    return (frames, tuple(box)) if len(frames) == number else None
