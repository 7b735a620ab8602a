"""The status of each module of each frame, one byte each; a frame's own status follows from them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from penstock.receiver.models import FrameStatus
from penstock.receiver.series.account import GOOD

HAVE = GOOD | {FrameStatus.PARTIAL}
"""Statuses of a module whose pixels arrived sound, or a part of them."""


class ModuleStatus:
    """Statuses of the modules of one series: (frames, k) numbers of `FrameStatus`.

    Args:
        modules: number of modules.
    """

    def __init__(self, modules: int) -> None:
        self.modules = modules
        self._status = np.zeros((1024, modules), np.uint8)  # 0: missing
        self.touched: tuple[int, int] | None = None
        """First and last index changed since `finalize`."""

    def good(self, index: int) -> frozenset[int]:
        """Return the modules of a frame with a sound blob."""
        if index >= len(self._status):
            return frozenset()
        return frozenset(
            number for number, status in enumerate(self._status[index].tolist()) if status in HAVE
        )

    def enter(self, index: int, statuses: Mapping[int, FrameStatus]) -> FrameStatus:
        """Enter the statuses of some modules of a frame; return the status of the frame."""
        if index >= len(self._status):
            grown = np.zeros((max(index + 1, 2 * len(self._status)), self.modules), np.uint8)
            grown[: len(self._status)] = self._status
            self._status = grown
        row = self._status[index]
        for number, status in statuses.items():
            row[number] = status
        low, high = self.touched or (index, index)
        self.touched = min(low, index), max(high, index)
        return frame_status(row.tolist())

    def rows(self, first: int, last: int) -> np.ndarray:
        """Return the statuses of the indices from `first` to `last`, uint8."""
        return self.table(last + 1)[first:]

    def table(self, length: int) -> np.ndarray:
        """Return the statuses of the first `length` indices, uint8."""
        known = self._status[:length]
        if len(known) == length:
            return known
        return np.vstack([known, np.zeros((length - len(known), self.modules), np.uint8)])

    def finalize(self) -> None:
        """Forget which indices were changed: they have been written."""
        self.touched = None


def frame_status(modules: list[int]) -> FrameStatus:
    """Return the status of a frame from those of its modules.

    All good: their status. Some good, or one of them partial itself: partial. None good: corrupt if one has
    arrived, else missing.
    """
    good = [status for status in modules if status in HAVE]
    if len(good) == len(modules) and FrameStatus.PARTIAL not in good:
        return FrameStatus(good[0])
    if good:
        # Frames that the sender marked as not to be written are not in the file, however many modules have
        # arrived.
        return FrameStatus.DISCARDED if FrameStatus.DISCARDED in good else FrameStatus.PARTIAL
    return FrameStatus.CORRUPT if FrameStatus.CORRUPT in modules else FrameStatus.MISSING
