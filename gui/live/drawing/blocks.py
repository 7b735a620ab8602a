"""A frame reduced to the pixels of the screen: one value and one `Flag` for each. Pure functions.

A pixel without a value takes no part. They let go of the interpreter's lock: a few lines of Python for each
strip of the picture, and NumPy for its pixels, which stay in the processor's cache.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.gui.live.drawing.span import Places, Span
from penstock.receiver.validity.pixels import Flag, PixelRule

STRIP = 48
"""Rows of the picture at a time."""
NO_LIMITS = PixelRule()

Image = npt.NDArray[Any]
Gaps = npt.NDArray[np.bool_]


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
    ends: tuple[float, float] | None
    """Least and greatest count of the good pixels, exact, whatever became of the blocks; `int` of integer
    pixels. `None`: there is no good pixel."""
    reduction: Reduction

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
    """
    marked = _Marked(image.dtype, rule, partial) if counts else _Marked(image.dtype, NO_LIMITS, False, False)
    values = np.empty((rows.size, columns.size), np.float32)
    flags = np.zeros(values.shape, np.uint8)
    (tops, bottoms), (lefts, rights) = rows.blocks(), columns.blocks()
    across = lefts - columns.start, rights - columns.start
    ends: list[Any] = []
    for begin in range(0, rows.size, STRIP):
        part = slice(begin, begin + STRIP)
        first, last = int(tops[part][0]), int(bottoms[part][-1])
        place = slice(first, last), slice(columns.start, columns.stop)
        along = tops[part] - first, bottoms[part] - first
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
            ends.extend(marked.ends(known, least, found))
    return Blocks(values, flags, (min(ends), max(ends)) if ends else None, reduction)


def greatest_colours(colours: npt.NDArray[np.uint8], rows: Span, columns: Span) -> npt.NDArray[np.uint8]:
    """Return colours, (rows, cols, 3), reduced to the greatest of each: (rows.size, columns.size, 3)."""
    found = np.empty((rows.size, columns.size, 3), np.uint8)
    (tops, bottoms), (lefts, rights) = rows.blocks(), columns.blocks()
    for colour in range(3):
        seen = np.ascontiguousarray(colours[rows.start : rows.stop, columns.start : columns.stop, colour])
        along = tops - rows.start, bottoms - rows.start
        found[..., colour] = _greatest(seen, along, (lefts - columns.start, rights - columns.start))
    return found


class _Marked:
    """Writes the pixels of one frame so that those without a value are below all others.

    Args:
        dtype: type of the pixels.
        rule: which of them count.
        partial: see `reduce`.
        counts: whether the greatest value of an unsigned type may stand for something.
    """

    def __init__(self, dtype: np.dtype[Any], rule: PixelRule, partial: bool, counts: bool = True) -> None:
        self._kind, self._size = dtype.kind, dtype.itemsize
        self.greatest = rule.greatest_flag(dtype) if counts else Flag.GOOD
        """What the type's greatest value says of its pixel."""
        if partial and dtype.kind == "u":
            self.greatest = Flag.INVALID
        low, _, mark = rule.limits(dtype, partial=partial)
        self._missing = mark if dtype.kind == "i" else math.nan
        # Whole numbers are compared with one another, which is faster.
        self._least: Any = (
            max(float(np.finfo(dtype).min), low) if dtype.kind == "f"
            else max(int(np.iinfo(dtype).min), math.ceil(low))
        )  # fmt: skip
        self.limit = self._saturated(dtype, rule)
        """From here on a value is saturated; `None`: none is."""

    def known(self, image: Image, gaps: Gaps | None) -> tuple[Image, Any]:
        """Return pixels in a type that is fast to compare, and the least value: below it there is none.

        Args:
            image: a part of the frame.
            gaps: see `reduce`, of this part.
        """
        gaps = gaps if gaps is not None and gaps.any() else None
        if self._kind == "f":
            known = np.where(np.isfinite(image), image, image.dtype.type(-np.inf))
            none: Any = -np.inf
        elif self._kind == "u":
            known, none = self._signed(image, gaps), -1
        else:
            known, none = image, np.iinfo(image.dtype).min
            if not math.isnan(self._missing):
                missing = image == self._missing
                gaps = missing if gaps is None else gaps | missing
        least = self._least
        if gaps is not None:
            known = np.array(known)
            known[gaps] = none
            least = max(least, none + 1) if self._kind != "f" else least
        return np.ascontiguousarray(known), least

    def ends(self, known: Image, least: Any, greatest: Image) -> tuple[Any, ...]:
        """Return the least and the greatest of the good pixels; nothing if there is none.

        Args:
            known: pixels as `known` has returned them.
            least: likewise.
            greatest: the greatest of each block of them.
        """
        most, limit = greatest.max(), self.limit
        if most < least:
            return ()
        if limit is not None and most >= limit:
            return _ends_within(known, least, limit)
        # As an unsigned number -1 is above all others.
        unsigned = self._kind == "u" and known.dtype.kind == "i"
        low = known.view(f"u{known.itemsize}").min() if unsigned else known.min()
        if low < least:
            return _ends_within(known, least, None)
        return low.item(), most.item()

    def _saturated(self, dtype: np.dtype[Any], rule: PixelRule) -> Any:
        limit = rule.saturation
        if dtype.kind == "f":
            return limit
        top = int(np.iinfo(dtype).max)
        if self.greatest is Flag.SATURATED and (limit is None or limit > top):
            return top
        return None if limit is None or not limit <= top else math.ceil(limit)

    def _signed(self, image: Image, gaps: Gaps | None) -> Image:
        """Return unsigned pixels in a type that has -1, which those without a value have."""
        size, has_none = self._size, self.greatest is Flag.INVALID
        if has_none:
            # As a signed number of the same size the greatest value is -1; only counts of half of it and
            # more would be negative too.
            known = image.view(f"i{size}")
            if size > 2 and known.min() >= -1:
                return known
        elif gaps is None:
            return image
        known = image.astype(np.int32 if size <= 2 else np.float64)
        if has_none:
            known[image == np.iinfo(image.dtype).max] = -1
        return known


def _ends_within(known: Image, least: Any, limit: Any) -> tuple[Any, ...]:
    """Return the least and the greatest number from `least` on that is below a limit, if there is one."""
    if known.dtype.kind == "f":
        good = known[known >= least] if limit is None else known[(known >= least) & (known < limit)]
        return (good.min().item(), good.max().item()) if good.size else ()
    kind = np.dtype(f"u{known.itemsize}")
    numbers = 1 << 8 * known.itemsize
    most = (int(np.iinfo(known.dtype).max) + 1 if limit is None else limit) - least
    if most <= 0:
        return ()
    # Unsigned numbers begin anew below 0: those from `least` on are the lowest, all others above them. That
    # takes a third of the time of picking them.
    above = known.view(kind) - kind.type(least % numbers)
    low = int(above.min())
    if low >= most:
        return ()
    high = (int((above - kind.type(most)).max()) + most) % numbers
    return low + least, high + least


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
