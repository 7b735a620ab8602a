"""Frames that the window itself keeps, of a series of which nobody else does."""

from __future__ import annotations

from collections import OrderedDict

from penstock.receiver.client import LastFrame

CAPACITY = 256 * 1024 * 1024
"""Bytes."""


class Kept:
    """The newest whole frames of one series, up to `capacity` bytes; one frame is kept however large.

    Args:
        capacity: bytes.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._frames: OrderedDict[int, LastFrame] = OrderedDict()
        self._bytes = 0
        self._series = ""

    def __len__(self) -> int:
        return len(self._frames)

    def begin(self, series: str) -> None:
        """Keep frames of this series; those of another are forgotten."""
        if series != self._series:
            self._series = series
            self._frames.clear()
            self._bytes = 0

    def keep(self, frame: LastFrame) -> None:
        """Keep a frame, unless it is of another series, or was reduced on its way."""
        if frame.series != self._series or frame.downsample > 1:
            return
        before = self._frames.pop(frame.frame, None)
        self._bytes += frame.array.nbytes - (0 if before is None else before.array.nbytes)
        self._frames[frame.frame] = frame
        while self._bytes > self._capacity and len(self._frames) > 1:
            _, oldest = self._frames.popitem(last=False)
            self._bytes -= oldest.array.nbytes

    def frame(self, index: int) -> LastFrame | None:
        """Return a frame; `None` if it is not kept."""
        return self._frames.get(index)

    def indices(self) -> list[int]:
        """Return the indices of the frames, in order."""
        return sorted(self._frames)

    def nearest(self, index: int) -> int | None:
        """Return the index of the frame nearest to one; `None` if none is kept."""
        return min(self._frames, key=lambda each: abs(each - index), default=None)
