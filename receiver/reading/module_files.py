"""The modules of a series that has a file for each, as readers find them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, TypeAlias

import h5py
import numpy as np

from penstock.receiver.files.stores.errors import why_not
from penstock.receiver.files.stores.parts.linked_frames import (
    LinkedFrames,
    Unreadable,
    UnreadableError,
    is_virtual,
    place_of,
)
from penstock.receiver.files.stores.parts.module_views import module_sources
from penstock.receiver.files.stores.parts.names import foreign
from penstock.receiver.files.stores.segments.segment_file import DATASET
from penstock.receiver.reading.packed_chunks import Chunks
from penstock.receiver.validity.frames import WITH_DATA

Place: TypeAlias = tuple[Chunks, tuple[int, ...]]
"""What is stored in a dataset, and the corner of a chunk in it."""


class ModuleFiles:
    """The files of the modules; each is opened when it is needed.

    Args:
        view: dataset of the blobs in the file of the series, virtual.
        series: id of the series.
        statuses: of each module of each frame, (frames, k); `None` if the file lacks them.
    """

    def __init__(self, view: h5py.Dataset, series: str, statuses: h5py.Dataset | None) -> None:
        self._path, self._series, self._statuses = Path(view.file.filename), series, statuses
        self._names = {source.module: source.file for source in module_sources(view)}
        self._number = int(view.shape[1])
        self._known: dict[int, Chunks | Unreadable] = {}
        self._linked: dict[int, LinkedFrames] = {}

    def __len__(self) -> int:
        return self._number

    def dataset(self, module: int) -> h5py.Dataset | None:
        """Return the dataset of a module, (frames, rows, cols); `None` if its file cannot be read."""
        found = self._find(module)
        return found.data if isinstance(found, Chunks) else None

    def unreadable(self) -> list[Unreadable]:
        """Return the files that should hold modules, but cannot be read."""
        if self._statuses is None:
            return []
        modules = np.flatnonzero(np.isin(self._statuses[...], WITH_DATA).sum(axis=0)).tolist()
        return [each for each in map(self._find, modules) if isinstance(each, Unreadable)]

    def places(self, index: int) -> list[Place]:
        """Return where the modules of a frame are that have a place."""
        found = (self._place(index, module) for module in range(self._number))
        return [place for place in found if place is not None]

    def blobs(self, index: int) -> list[bytes]:
        """Return the blobs of a frame as stored; that of a module which is not there is empty.

        Raises:
            OSError: one cannot be read, or its file is away.
            ValueError: the lengths in one show that it is damaged.
        """
        self.require(index)
        places = (self._place(index, module) for module in range(self._number))
        return [b"" if place is None else place[0].blob(place[1]) for place in places]

    def check(self, index: int) -> None:
        """Check that HDF5 can read the modules of a frame: it would show the fill value for a file that is
        away, and the pixels of one that is foreign, and its filters trust the lengths in a blob.

        Raises:
            UnreadableError: a file is away, foreign, or cannot be opened.
            ValueError: a module cannot be unpacked.
        """
        for found in map(self._find, range(self._number)):
            if isinstance(found, Unreadable) and not found.is_absent:
                raise UnreadableError(found.why)
        for module in self.require(index):
            if (place := self._place(index, module)) is not None:
                place[0].unpacked(place[1])

    def require(self, index: int) -> list[int]:
        """Return the modules of a frame that the file of the series says to be there.

        Raises:
            UnreadableError: the file of one of them is away, or cannot be read.
        """
        if self._statuses is None or index >= len(self._statuses):
            return []
        there: list[int] = np.flatnonzero(np.isin(self._statuses[index], WITH_DATA)).tolist()
        for found in map(self._find, there):
            if isinstance(found, Unreadable):
                raise UnreadableError(found.why)
        return there

    def close(self) -> None:
        """Close all files; may be called again."""
        for linked in self._linked.values():
            linked.close()
        for found in self._known.values():
            if isinstance(found, Chunks) and found.data:
                found.data.file.close()
        self._linked.clear()
        self._known.clear()

    def _place(self, index: int, module: int) -> Place | None:
        found = self._find(module)
        if not isinstance(found, Chunks) or index >= len(found.data):
            return None
        if module not in self._linked:
            return found, (index, 0, 0)
        place = self._linked[module].find(index)
        return None if place is None else (Chunks(place[0]), (place[1], 0, 0))

    def _find(self, module: int) -> Chunks | Unreadable | None:
        """Return what is stored of a module, or the file that cannot be read; `None` before the first
        frame."""
        if module not in self._names:
            return None
        if module not in self._known:
            self._known[module] = self._open(module, place_of(self._path, self._names[module]))
        return self._known[module]

    def _open(self, module: int, place: Path) -> Chunks | Unreadable:
        if not os.path.exists(place):
            return Unreadable.absent(place)
        try:
            file = h5py.File(place, "r", locking=False)
        except OSError as error:
            return Unreadable(place, why_not(place, error))
        why = foreign(file, place, self._series)
        data: Any = None if why else file.get(DATASET)
        if not isinstance(data, h5py.Dataset):
            file.close()
            return Unreadable(place, why or f"{place} has no dataset {DATASET}")
        if is_virtual(data):  # some of its frames could not be written
            self._linked[module] = LinkedFrames(data)
        return Chunks(data)
