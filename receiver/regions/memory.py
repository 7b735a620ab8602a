"""The values and times of one series, from the data process to the HTTP process, through shared memory.

There is one writer and one reader: a ring with one row per frame, by index. A row is valid once it holds its
index, which is written last. The head names the series of the rows; its version is odd while that changes.
"""

from __future__ import annotations

import math
import mmap
import os
import time
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from penstock.receiver.config.rectangles import Rectangle
from penstock.receiver.regions.pixels import VALUES

MOST_FRAMES = 1_000_000
"""Most frames whose values are kept; fewer with more than four regions."""
MOST_VALUES = 2**24
LOOKS, LOOK_SECONDS = 20, 0.0005
"""Limit for the beginning of a series, which a process that was killed during it would never complete."""
_HEAD = 2**16
_NUMBERS = 64
_VERSION, _LENGTH, _COMPLETE, _HIGHEST, _END = range(5)
_INDICES = 8 * MOST_FRAMES
_SIZE = _HEAD + 2 * _INDICES + 8 * MOST_VALUES


class Kept(msgspec.Struct, frozen=True):
    """The series of the kept values."""

    series: str
    rois: dict[str, Rectangle]
    slots: int
    """Number of frames whose values are kept, the newest ones."""


class Progress(msgspec.Struct, frozen=True):
    """The progress of a series."""

    version: int
    kept: Kept
    complete_below: int
    """Index below which every frame has its values, or is missing."""
    first: int
    """Lowest index whose values are kept."""
    after: int
    """Highest index with values, plus one."""
    end: int | None
    """Highest index of a series that has ended, plus one; `None` while it is running."""


def create() -> int:
    """Return the file descriptor of new shared memory, to be passed to the other process."""
    descriptor = os.memfd_create("penstock-rois")
    os.ftruncate(descriptor, _SIZE)
    return descriptor


class RegionMemory:
    """One end of the shared memory; only pages that are written to take memory.

    Args:
        descriptor: file descriptor from `create`.
    """

    def __init__(self, descriptor: int) -> None:
        self._memory = mmap.mmap(descriptor, _SIZE)
        self._numbers = np.frombuffer(self._memory, np.int64, _NUMBERS // 8)
        self._rows = np.frombuffer(self._memory, np.int64, MOST_FRAMES, _HEAD)
        self._times = np.frombuffer(self._memory, np.float64, MOST_FRAMES, _HEAD + _INDICES)
        self._flat = np.frombuffer(self._memory, np.float64, MOST_VALUES, _HEAD + 2 * _INDICES)
        self._values: np.ndarray[Any, Any] = self._flat[:0].reshape(0, 0, len(VALUES))

    # -- data process --------------------------------------------------------------------------

    def begin(self, series: str, rois: Mapping[str, Rectangle]) -> None:
        """Begin a series: the values of the last one are discarded."""
        count = len(rois)
        slots = min(MOST_FRAMES, MOST_VALUES // (len(VALUES) * count)) if count else 0
        info = msgspec.json.encode(Kept(series, dict(rois), slots))
        changing = int(self._numbers[_VERSION]) | 1
        self._numbers[_VERSION] = changing
        self._memory[_NUMBERS : _NUMBERS + len(info)] = info
        self._numbers[_LENGTH] = len(info)
        self._numbers[_COMPLETE], self._numbers[_HIGHEST], self._numbers[_END] = 0, -1, -1
        # Rows of another series would be taken for this one's; the kernel provides zeros again.
        self._memory.madvise(mmap.MADV_REMOVE, _HEAD, _SIZE - _HEAD)
        self._values = self._shaped(count, slots)
        self._numbers[_VERSION] = changing + 1

    def put(self, index: int, row: np.ndarray[Any, Any], time: float | None = None) -> None:
        """Store the values of one frame: (regions, values); and its time, in seconds since 1970 (UTC)."""
        slots, highest = len(self._values), int(self._numbers[_HIGHEST])
        if index <= highest - slots:
            return
        slot = index % slots
        self._rows[slot] = 0
        self._values[slot] = row
        self._times[slot] = math.nan if time is None else time
        self._rows[slot] = index + 1
        if index > highest:
            self._numbers[_HIGHEST] = index

    def finalize(self, below: int) -> None:
        """Set the index below which every frame has its values, or is missing."""
        self._numbers[_COMPLETE] = below

    def end(self, frames: int) -> None:
        """End the series; `frames` is its highest index, plus one."""
        self._numbers[_END] = frames

    # -- HTTP process --------------------------------------------------------------------------

    def progress(self) -> Progress | None:
        """Return the progress of the running or last series; `None` before the first."""
        for _ in range(LOOKS):
            version = int(self._numbers[_VERSION])
            if version == 0:
                return None
            length, complete_below, highest, end = (
                int(self._numbers[place]) for place in (_LENGTH, _COMPLETE, _HIGHEST, _END)
            )
            info = bytes(self._memory[_NUMBERS : _NUMBERS + length])
            if version % 2 == 0 and int(self._numbers[_VERSION]) == version:
                kept = msgspec.json.decode(info, type=Kept)
                first = max(0, highest + 1 - kept.slots) if kept.slots else 0
                known = None if end < 0 else end
                return Progress(version, kept, complete_below, first, highest + 1, known)
            time.sleep(LOOK_SECONDS)  # a series begins at this moment
        return None

    def read(self, progress: Progress, first: int, upto: int) -> np.ndarray[Any, Any] | None:
        """Return values as (frames, regions, values), NaN for missing ones; `None` if another series has
        begun meanwhile."""
        kept = progress.kept
        return self._read(self._shaped(len(kept.rois), kept.slots), progress, first, upto)

    def read_times(self, progress: Progress, first: int, upto: int) -> np.ndarray[Any, Any] | None:
        """Return the time of each frame, in seconds since 1970, as `read` returns values."""
        return self._read(self._times, progress, first, upto)

    def _read(
        self, of_slots: np.ndarray[Any, Any], progress: Progress, first: int, upto: int
    ) -> np.ndarray[Any, Any] | None:
        indices = np.arange(first, upto)
        slots = indices % progress.kept.slots
        before = self._rows[slots] == indices + 1
        found = of_slots[slots]
        there = before & (self._rows[slots] == indices + 1)
        found[~there] = np.nan
        return found if int(self._numbers[_VERSION]) == progress.version else None

    def _shaped(self, count: int, slots: int) -> np.ndarray[Any, Any]:
        return self._flat[: slots * count * len(VALUES)].reshape(slots, count, len(VALUES))
