"""The frames of a series that are taken from its raw file, some at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.processing.distributor.frames.account import Indices
from penstock.processing.distributor.frames.bunches import Item
from penstock.processing.distributor.frames.schedule import Schedule
from penstock.processing.sources.file import FileFrames

AHEAD = 2048
"""Frames of the file that are queued at a time."""


class FileRest:
    """What the file has, and who has not been queued yet.

    Args:
        schedule: gets the frames.
    """

    def __init__(self, schedule: Schedule) -> None:
        self.frames: FileFrames | None = None
        """The raw file, once it is read."""
        self.queued = 0
        """Frames that were queued so far."""
        self.may_fill: Callable[[], bool] = lambda: True
        """Returns whether frames may be queued by now."""
        self.come: Callable[[Sequence[Item]], None] = lambda _items: None
        """Is told of frames before they are queued."""
        self._schedule = schedule
        self._wanted: Indices = np.zeros(0, np.int64)

    def __len__(self) -> int:
        """Return how many frames are wanted that are not queued yet."""
        return len(self._wanted)

    def open(self, path: str) -> None:
        """Open the file, if it is not open.

        Raises:
            ReaderError: it cannot be read.
        """
        self.frames = self.frames or FileFrames(path)

    @property
    def stored(self) -> Indices:
        """Indices of the frames that the file has, ascending."""
        return np.zeros(0, np.int64) if self.frames is None else self.frames.indices

    def want(self, indices: Indices) -> None:
        """Take these frames of the file."""
        self._wanted = indices

    def give_up(self) -> Indices:
        """Take no more frames; return those that were not queued yet."""
        gone, self._wanted = self._wanted, self._wanted[:0]
        return gone

    def fill(self, number: int) -> None:
        """Queue more frames, if there is room and they may be queued by now.

        Args:
            number: of the series.
        """
        if not self.may_fill():
            return
        room = AHEAD - self._schedule.waiting(number)
        if not len(self._wanted) or room < AHEAD // 2:
            return
        assert self.frames is not None
        nbytes = self.frames.header.frame_bytes or 0
        some, self._wanted = self._wanted[:room], self._wanted[room:]
        located = self.frames.located
        items = [Item(index, None, nbytes, located=located(index)) for index in some.tolist()]
        self.come(items)
        self._schedule.come(number, items, from_file=True)
        self.queued += len(items)

    def flags(self, frames: int) -> np.ndarray[Any, Any] | None:
        """Return per frame whether the file has it, as uint8; `None` if nobody knows.

        Args:
            frames: of which that is wanted, from the first on.
        """
        if self.frames is None:
            return None
        flags = np.zeros(frames, np.uint8)
        flags[self.stored[self.stored < frames]] = 1
        return flags

    def close(self) -> None:
        """Close the file."""
        if self.frames is not None:
            self.frames.close()
