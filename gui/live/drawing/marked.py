"""The pixels of a frame that count, in a form that is fast to compare, and the least and greatest of them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from penstock.receiver.validity.pixels import Flag, PixelRule

PART = 1 << 18
"""Pixels at a time: they stay in the processor's cache."""
NO_LIMITS = PixelRule()

Image = npt.NDArray[Any]
Gaps = npt.NDArray[np.bool_]


class Extremes(NamedTuple):
    """The limits of what a frame counts."""

    ends: tuple[float, float] | None
    """Least and greatest count of the good pixels, exact; `int` of integer pixels. `None`: there is no good
    pixel."""
    is_saturated: bool
    """True if any pixel is saturated."""


def extremes(image: Image, marked: Marked, gaps: Gaps | None = None) -> Extremes:
    """Return the least and the greatest count of an image, several times as fast as it is reduced.

    Of most parts of an image it is enough to know that they have no pixel beyond those of the parts before.

    Args:
        image: (rows, cols), any integer or floating type in the machine's byte order.
        marked: which pixels count.
        gaps: pixels that have no value whatever is stored there, in the image's shape.
    """
    found: tuple[Any, Any] | None = None
    saturated = False
    lines = max(1, PART // image.shape[1])
    for begin in range(0, image.shape[0], lines):
        place = slice(begin, begin + lines)
        part, without = image[place], None if gaps is None else gaps[place]
        if found is not None:
            is_least = found[0] <= marked.least  # often 0: then nothing good is below
            if (is_least or found[0] <= part.min()) and marked.most(part, saturated) <= found[1]:
                continue
            beyond = part > found[1] if is_least else (part < found[0]) | (part > found[1])
            if without is not None:
                beyond, without = beyond > without, None
            if not beyond.any():
                continue
            part = part[beyond]
        known, least = marked.known(part, without)
        most = known.max()
        with np.errstate(over="ignore"):  # limits may be beyond the type
            saturated = saturated or (marked.limit is not None and bool(most >= marked.limit))
            more = marked.ends(known, least, most)
        if more:
            found = more if found is None else (min(found[0], more[0]), max(found[1], more[1]))
    return Extremes(found, saturated)


class Marked:
    """Writes the pixels of one frame so that those without a value are below all others.

    Args:
        dtype: type of the pixels.
        rule: which of them count.
        partial: a part of the frame is missing, and has the fill value of its type.
        counts: whether the rule holds; else all finite numbers are good.
    """

    def __init__(self, dtype: np.dtype[Any], rule: PixelRule, partial: bool, counts: bool = True) -> None:
        if not counts:
            rule, partial = NO_LIMITS, False
        self._kind, self._size = dtype.kind, dtype.itemsize
        self.greatest = rule.greatest_flag(dtype) if counts else Flag.GOOD
        """What the type's greatest value says of its pixel."""
        if partial and dtype.kind == "u":
            self.greatest = Flag.INVALID
        low, _, mark = rule.limits(dtype, partial=partial)
        self._missing = mark if dtype.kind == "i" else math.nan
        # Whole numbers are compared with one another, which is faster.
        self.least: Any = (
            max(float(np.finfo(dtype).min), low) if dtype.kind == "f"
            else max(int(np.iinfo(dtype).min), math.ceil(low))
        )  # fmt: skip
        """Below it a value is none."""
        self.limit = self._saturated(dtype, rule)
        """From here on a value is saturated; `None`: none is."""

    def most(self, image: Image, saturated: bool) -> Any:
        """Return the greatest value of pixels; it leaves out the type's greatest one where that says nothing.

        Args:
            image: a part of the frame.
            saturated: whether it is known that there are saturated pixels.
        """
        most = image.max()
        says_nothing = self.greatest is Flag.INVALID or (saturated and self.greatest is Flag.SATURATED)
        if says_nothing and most == np.iinfo(image.dtype).max:
            return int((image + image.dtype.type(1)).max()) - 1  # it has become 0, as in most of the gaps
        return most

    def known(self, image: Image, gaps: Gaps | None) -> tuple[Image, Any]:
        """Return pixels in a type that is fast to compare, and the least value: below it there is none.

        Args:
            image: a part of the frame.
            gaps: in the shape of this part.
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
        least = self.least
        if gaps is not None:
            known = np.array(known)
            known[gaps] = none
            least = max(least, none + 1) if self._kind != "f" else least
        return np.ascontiguousarray(known), least

    def ends(self, known: Image, least: Any, most: Any) -> tuple[()] | tuple[Any, Any]:
        """Return the least and the greatest of the good pixels; nothing if there is none.

        Args:
            known: pixels as `known` has returned them.
            least: likewise.
            most: the greatest of them.
        """
        limit = self.limit
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
            if size > 2 and gaps is not None:  # detectors write the greatest but one into bad pixels
                known = np.where(gaps, known.dtype.type(-1), known)
                if known.min() >= -1:
                    return known
        elif gaps is None:
            return image
        known = image.astype(np.int32 if size <= 2 else np.float64)
        if has_none:
            known[image == np.iinfo(image.dtype).max] = -1
        return known


def _ends_within(known: Image, least: Any, limit: Any) -> tuple[()] | tuple[Any, Any]:
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
