"""The pixels of the frame that go to each pixel of the screen, along one axis: pure functions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_SLACK = 1e-6
"""Pixels of the frame: what the arithmetic of the axes' limits may be off by."""

Places = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Span:
    """The part of one axis that is in sight."""

    start: int
    """First pixel of the frame in sight, also if only a part of it is."""
    stop: int
    """One behind the last."""
    first: int
    """First pixel of the screen, from the left edge, or the top, of the plot's canvas."""
    size: int
    """Pixels of the screen, at least one."""
    origin: float
    """Place in the frame, in its pixels, of the edge of pixel `first` of the screen."""
    step: float
    """Pixels of the frame in one pixel of the screen."""

    def is_all(self, pixels: int) -> bool:
        """Return whether it is all of so many pixels of the frame, none of them on several of the screen:
        then `size` says which blocks there are."""
        return self.start == 0 and self.stop == pixels >= self.size and self.step >= 1

    def blocks(self) -> tuple[Places, Places]:
        """Return for each pixel of the screen the first pixel of the frame in it, and one behind the last.

        Each pixel of the frame is in at least one pixel of the screen. Where the frame has fewer, they are
        repeated.
        """
        count = self.stop - self.start
        if count > self.size:
            edges = self.start + np.arange(self.size + 1, dtype=np.intp) * count // self.size
            return edges[:-1], edges[1:]
        if self.step >= 1:  # as many, but for what the edges round away
            places = self.start + np.arange(self.size, dtype=np.intp) * count // self.size
        else:
            middles = self.origin + (np.arange(self.size) + 0.5) * self.step
            places = np.clip(np.floor(middles).astype(np.intp), self.start, self.stop - 1)
        return places, places + 1


def all_of(pixels: int, size: int) -> Span:
    """Return a whole axis of so many pixels of the frame on `size` of the screen, or as many where that is
    fewer: nothing is repeated."""
    size = min(size, pixels)
    return Span(0, pixels, 0, size, 0.0, pixels / size if size else 1.0)


def span(
    limits: tuple[float, float], edges: tuple[float, float], pixels: int, scale: float = 1.0
) -> Span | None:
    """Return what is in sight of an axis; `None` if nothing is.

    Args:
        limits: values at the axis' two ends, ascending.
        edges: where these ends are, in pixels of the screen, ascending.
        pixels: pixels of the frame; the first begins at value 0.
        scale: length of a pixel of the frame, in the axis' values.
    """
    low, high = max(limits[0], 0.0), min(limits[1], pixels * scale)
    if high <= low or edges[1] <= edges[0]:
        return None
    step = (limits[1] - limits[0]) / (edges[1] - edges[0])
    first = _nearest(edges[0] + (low - limits[0]) / step)
    size = max(1, _nearest(edges[0] + (high - limits[0]) / step) - first)
    start = min(int(np.floor(low / scale + _SLACK)), pixels - 1)
    stop = max(start + 1, min(int(np.ceil(high / scale - _SLACK)), pixels))
    origin = (limits[0] + (first - edges[0]) * step) / scale
    return Span(start, stop, first, size, origin, step / scale)


def _nearest(place: float) -> int:
    """Return the whole number next to a place; a half goes up, whatever the arithmetic was off by."""
    return math.floor(place + 0.5 + _SLACK)
