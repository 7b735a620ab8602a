"""Totals of the frames that this window has shown: not of every frame, and marked as such."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

NAME = "frames shown"
"""Name of the columns in a table."""
WHOLE = "whole frame"
"""What the values are of, in the plot; a region's name has no space in it."""
FRAMES = 10_000
"""Frames that are remembered, at most: the newest."""
VALUES = ("sum", "mean", "max", "saturated")


class Shown:
    """What was counted of the frames shown, of one series at a time."""

    def __init__(self) -> None:
        self.series = ""
        self._known: dict[int, tuple[float, ...]] = {}

    def add(self, series: str, frame: int, time: float | None, counted: Sequence[float | None]) -> None:
        """Add a frame.

        Args:
            series: id of its series; another one forgets the frames of the last.
            frame: its index.
            time: when it was, in seconds since 1970.
            counted: sum, mean and maximum of its pixels that count, and the number of saturated ones.
        """
        if series != self.series:
            self.series = series
            self._known.clear()
        values = tuple(np.nan if value is None else float(value) for value in (time, *counted))
        self._known[frame] = values
        while len(self._known) > FRAMES:
            del self._known[next(iter(self._known))]

    def curve(self, value: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Return indices, ascending, and values."""
        frames = sorted(self._known)
        place = 1 + VALUES.index(value)
        return np.array(frames, np.int64), np.array([self._known[each][place] for each in frames], np.float64)

    def times(self) -> npt.NDArray[np.float64]:
        """Return the times of the same frames; NaN where one is not known."""
        return np.array([self._known[each][0] for each in sorted(self._known)], np.float64)
