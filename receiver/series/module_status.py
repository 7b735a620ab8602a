"""What became of each module of each frame: the account below the account.

One byte a module and frame. A frame's own status follows from those of its modules, see `frame_status`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from penstock.receiver.models import FrameStatus
from penstock.receiver.series.account import GOOD

HAVE = GOOD | {FrameStatus.PARTIAL}
"""Statuses of a module whose pixels are there."""


class ModuleStatus:
    """Statuses of the modules of one series, (frames, k), by the numbers of `FrameStatus`.

    Args:
        modules: their number.
    """

    def __init__(self, modules: int) -> None:
        self.modules = modules
        self._status = np.zeros((1024, modules), np.uint8)  # 0: missing
        self.touched: tuple[int, int] | None = None
        """First and last index that was changed since `finalize`."""

    def good(self, index: int) -> frozenset[int]:
        """Return the modules of which there is a sound blob."""
        if index >= len(self._status):
            return frozenset()
        return frozenset(
            number for number, status in enumerate(self._status[index].tolist()) if status in HAVE
        )

    def enter(self, index: int, statuses: Mapping[int, FrameStatus]) -> FrameStatus:
        """Some modules of a frame have come; returns what the frame is by now."""
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
        """Statuses of the indices from `first` to `last`, uint8."""
        return self.table(last + 1)[first:]

    def table(self, length: int) -> np.ndarray:
        """Statuses of the first `length` indices, uint8."""
        known = self._status[:length]
        if len(known) == length:
            return known
        return np.vstack([known, np.zeros((length - len(known), self.modules), np.uint8)])

    def finalize(self) -> None:
        """What was changed so far is known elsewhere now."""
        self.touched = None


def frame_status(modules: list[int]) -> FrameStatus:
    """What a frame is whose modules have these statuses.

    All good: what they are. Some good, or one of them partial itself: partial. None good: corrupt if one
    came, else missing.
    """
    good = [status for status in modules if status in HAVE]
    if len(good) == len(modules) and FrameStatus.PARTIAL not in good:
        return FrameStatus(good[0])
    if good:
        # What the sender wanted discarded is not in the file, however much of it came.
        return FrameStatus.DISCARDED if FrameStatus.DISCARDED in good else FrameStatus.PARTIAL
    return FrameStatus.CORRUPT if FrameStatus.CORRUPT in modules else FrameStatus.MISSING
