"""A frame reduced to the pixels of the screen: which of its pixels go to each, along both axes, and one value
and one `Flag` for each. Pure functions.

A pixel without a value takes no part. They let go of the interpreter's lock: a few lines of Python for each
strip of the picture, and NumPy for its pixels, which stay in the processor's cache.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.gui.live.drawing.marked import NO_LIMITS, Extremes, Gaps, Image, Marked
from penstock.receiver.validity.pixels import Flag, PixelRule

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


STRIP = 48
"""Rows of the picture at a time."""


class Reduction(Enum):
    """What a block of pixels becomes."""

    GREATEST = "greatest"
    """The greatest of its values: no spot vanishes, however small."""
    MEAN = "mean"
    """Their mean: what is faint and large stands out of the noise."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """A frame, or a part of it, reduced to pixels of the screen."""

    values: npt.NDArray[np.float32]
    """(rows, columns) of the screen."""
    flags: npt.NDArray[np.uint8]
    """The `Flag` of each, in the same shape."""
    extremes: Extremes
    """Extremes of the pixels that were reduced, whatever became of the blocks."""
    reduction: Reduction
    is_single: bool
    """True if each block is one pixel."""

    def some(self, every: int) -> Blocks:
        """Return every so many-th row of it, as `reduce` does."""
        part = slice(every // 2, None, every)
        return replace(self, values=self.values[part], flags=self.flags[part])

    def good(self) -> npt.NDArray[np.float32]:
        """Return the values of blocks that are good, (n,)."""
        return self.values[self.flags == Flag.GOOD] if self.flags.any() else self.values.ravel()


def reduce(
    image: Image,
    rows: Span,
    columns: Span,
    *,
    reduction: Reduction = Reduction.GREATEST,
    rule: PixelRule = NO_LIMITS,
    partial: bool = False,
    gaps: Gaps | None = None,
    counts: bool = True,
    every: int = 1,
) -> Blocks:
    """Return the values of the screen's pixels, and their flags, both (rows.size, columns.size).

    Args:
        image: (rows, cols), any integer or floating type in the machine's byte order.
        rows: rows in sight.
        columns: columns in sight.
        reduction: what a block becomes.
        rule: which pixels count.
        partial: a part of the frame is missing, and has the fill value of its type.
        gaps: pixels that have no value whatever is stored there, in the image's shape.
        counts: whether the rule holds; else all finite numbers are good.
        every: only each so many-th row of the screen's pixels is made, from the middle of the first ones on.
    """
    marked = Marked(image.dtype, rule, partial, counts)
    tops, bottoms = (places[every // 2 :: every] for places in rows.blocks())
    lefts, rights = columns.blocks()
    across = lefts - columns.start, rights - columns.start
    values = np.empty((tops.size, columns.size), np.float32)
    flags = np.zeros(values.shape, np.uint8)
    ends: list[Any] = []
    for begin in range(0, tops.size, STRIP):
        part = slice(begin, begin + STRIP)
        lines, along = _lines(tops[part], bottoms[part], every == 1)
        place = lines, slice(columns.start, columns.stop)
        known, least = marked.known(image[place], None if gaps is None else gaps[place])
        found = _greatest(known, along, across)
        # Limits may be beyond the type, and double precision goes farther: the last colour in any case.
        with np.errstate(over="ignore"):
            flags[part][found < least] = Flag.INVALID
            if marked.limit is not None:
                flags[part][found >= marked.limit] = Flag.SATURATED
            values[part] = (
                found if reduction is Reduction.GREATEST else _mean(known, along, across, least)
            )  # fmt: skip
            ends.extend(marked.ends(known, least, found.max()))
    extremes = Extremes((min(ends), max(ends)) if ends else None, bool((flags == Flag.SATURATED).any()))
    is_single = bool((bottoms - tops == 1).all() and (rights - lefts == 1).all())
    return Blocks(values, flags, extremes, reduction, is_single)


def _lines(tops: Places, bottoms: Places, all_of_them: bool) -> tuple[slice | Places, tuple[Places, Places]]:
    """Return the rows of the frame that some rows of the screen are made of, and where in these rows each
    begins and ends."""
    if all_of_them:
        first = int(tops[0])
        return slice(first, int(bottoms[-1])), (tops - first, bottoms - first)
    ends = np.cumsum(bottoms - tops)
    starts = ends - (bottoms - tops)
    return np.arange(ends[-1]) + np.repeat(tops - starts, bottoms - tops), (starts, ends)


def greatest_colours(colours: npt.NDArray[np.uint8], rows: Span, columns: Span) -> npt.NDArray[np.uint8]:
    """Return colours, (rows, cols, 3), reduced to the greatest of each: (rows.size, columns.size, 3)."""
    found = np.empty((rows.size, columns.size, 3), np.uint8)
    (tops, bottoms), (lefts, rights) = rows.blocks(), columns.blocks()
    for colour in range(3):
        seen = np.ascontiguousarray(colours[rows.start : rows.stop, columns.start : columns.stop, colour])
        along = tops - rows.start, bottoms - rows.start
        found[..., colour] = _greatest(seen, along, (lefts - columns.start, rights - columns.start))
    return found


def _greatest(image: Image, along: tuple[Places, Places], across: tuple[Places, Places]) -> Image:
    return _greatest_on(_greatest_on(image, 0, *along), 1, *across)


def _greatest_on(image: Image, axis: int, starts: Places, ends: Places) -> Image:
    """Reduce one axis. A shorter block repeats its last pixel, which changes no greatest value."""
    found = np.take(image, starts, axis, mode="clip")
    other = np.empty_like(found)
    for ahead in range(1, int((ends - starts).max())):
        np.take(image, np.minimum(starts + ahead, ends - 1), axis, out=other, mode="clip")
        np.maximum(found, other, out=found)
    return found


def _mean(known: Image, along: tuple[Places, Places], across: tuple[Places, Places], least: float) -> Image:
    has_value = known >= least
    sums = _sum(np.where(has_value, known, known.dtype.type(0)).astype(np.float64), along, across)
    counts = _sum(has_value.astype(np.float64), along, across)
    return np.asarray(sums / np.maximum(counts, 1.0))


def _sum(image: Image, along: tuple[Places, Places], across: tuple[Places, Places]) -> Image:
    return _sum_on(_sum_on(image, 0, *along), 1, *across)


def _sum_on(image: Image, axis: int, starts: Places, ends: Places) -> Image:
    found = np.take(image, starts, axis, mode="clip")
    shape = [-1 if place == axis else 1 for place in range(2)]
    for ahead in range(1, int((ends - starts).max())):
        other = np.take(image, np.minimum(starts + ahead, ends - 1), axis, mode="clip")
        other *= (starts + ahead < ends).reshape(shape)  # blocks that are shorter
        found += other
    return found
