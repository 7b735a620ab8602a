"""A frame reduced to the pixels of the screen: one value and one `Flag` for each. Pure functions.

A pixel without a count takes no part. They let go of the interpreter's lock: a few lines of Python for each
strip of the picture, and NumPy for its pixels, which stay in the processor's cache.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.gui.live.drawing.span import Places, Span
from penstock.gui.live.pixels import Flag, greatest_flag

STRIP = 48
"""Rows of the picture at a time."""

Image = npt.NDArray[Any]
Gaps = npt.NDArray[np.bool_]


class Reduction(Enum):
    """What a block of pixels becomes."""

    GREATEST = "greatest"
    """The greatest of its counts: no spot vanishes, however small."""
    MEAN = "mean"
    """Their mean: what is faint and large stands out of the noise."""


def reduce(
    image: Image,
    rows: Span,
    columns: Span,
    *,
    reduction: Reduction = Reduction.GREATEST,
    saturation: float | None = None,
    gaps: Gaps | None = None,
    counts: bool = True,
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.uint8]]:
    """Return the values of the screen's pixels, and their flags, both (rows.size, columns.size).

    Args:
        image: (rows, cols), any integer or floating type in the machine's byte order.
        rows: rows in sight.
        columns: columns in sight.
        reduction: what a block becomes.
        saturation: count from which a pixel is saturated; `None` if unknown.
        gaps: pixels that have no count whatever their value, in the image's shape.
        counts: whether they are a detector's; else all finite numbers are good, negative ones too.
    """
    greatest = greatest_flag(image.dtype, saturation) if counts else Flag.GOOD
    values = np.empty((rows.size, columns.size), np.float32)
    flags = np.zeros(values.shape, np.uint8)
    (tops, bottoms), (lefts, rights) = rows.blocks(), columns.blocks()
    across = lefts - columns.start, rights - columns.start
    for begin in range(0, rows.size, STRIP):
        part = slice(begin, begin + STRIP)
        first, last = int(tops[part][0]), int(bottoms[part][-1])
        place = slice(first, last), slice(columns.start, columns.stop)
        along = tops[part] - first, bottoms[part] - first
        here = None if gaps is None else gaps[place]
        known = _known(image[place], greatest, here) if counts else _finite(image[place], here)
        found = _greatest(known, along, across)
        flags[part][found < 0 if counts else np.isneginf(found)] = Flag.INVALID
        if saturation is not None:
            flags[part][found >= saturation] = Flag.SATURATED
        if greatest is Flag.SATURATED:
            flags[part][found == np.iinfo(image.dtype).max] = Flag.SATURATED
        with np.errstate(over="ignore"):  # double precision goes farther: the last colour in any case
            values[part] = (
                found if reduction is Reduction.GREATEST
                else _mean(known, along, across, -np.inf if not counts else -0.5)
            )  # fmt: skip
    return values, flags


def greatest_colours(colours: npt.NDArray[np.uint8], rows: Span, columns: Span) -> npt.NDArray[np.uint8]:
    """Return colours, (rows, cols, 3), reduced to the greatest of each: (rows.size, columns.size, 3)."""
    found = np.empty((rows.size, columns.size, 3), np.uint8)
    (tops, bottoms), (lefts, rights) = rows.blocks(), columns.blocks()
    for colour in range(3):
        seen = np.ascontiguousarray(colours[rows.start : rows.stop, columns.start : columns.stop, colour])
        along = tops - rows.start, bottoms - rows.start
        found[..., colour] = _greatest(seen, along, (lefts - columns.start, rights - columns.start))
    return found


def _known(image: Image, greatest: Flag, gaps: Gaps | None) -> Image:
    """Return the pixels with -1 where there is no count, in a type that has -1 and is fast to compare."""
    kind, size = image.dtype.kind, image.dtype.itemsize
    if kind == "f":
        known = np.where((image >= 0) & (image < np.inf), image, image.dtype.type(-1))
    elif kind == "u" and greatest is Flag.INVALID:
        # As a signed number of the same size the greatest value is -1; only counts of half of it and
        # more would be negative too.
        known = image.view(f"i{size}")
        if size <= 2 or (known < -1).any():
            known = image.astype(np.int32 if size <= 2 else np.float64)
            known[image == np.iinfo(image.dtype).max] = -1
    elif kind == "u" and gaps is not None and gaps.any():
        known = image.astype(np.int32 if size <= 2 else np.float64)
    else:
        known = image
    if gaps is not None and gaps.any():
        known = np.array(known)
        known[gaps] = -1
    return np.ascontiguousarray(known)


def _finite(image: Image, gaps: Gaps | None) -> Image:
    """Return the pixels with -infinity where there is no number."""
    known = image if image.dtype.kind == "f" else image.astype(np.float64)
    known = np.where(np.isfinite(known), known, known.dtype.type(-np.inf))
    if gaps is not None:
        known[gaps] = -np.inf
    return np.ascontiguousarray(known)


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


def _mean(known: Image, along: tuple[Places, Places], across: tuple[Places, Places], above: float) -> Image:
    has_count = known > above
    sums = _sum(np.where(has_count, known, known.dtype.type(0)).astype(np.float64), along, across)
    counts = _sum(has_count.astype(np.float64), along, across)
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
