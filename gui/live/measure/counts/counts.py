"""What is counted in a frame: figures of it or of a rectangle, profiles along a line and of rows and columns.

Pure functions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.receiver.models import Rectangle
from penstock.receiver.validity.pixels import Flag, PixelRule

STRIP = 1 << 20
"""Pixels at a time: what is in the processor's cache is fast, and little memory is needed."""


NO_LIMITS = PixelRule()


@dataclass(frozen=True)
class Figures:
    """What was counted."""

    pixels: int
    """Pixels that count."""
    left_out: int
    """Pixels that do not: masked, in a gap, without a number."""
    saturated: int
    """Saturated pixels among those that count."""
    sum: float
    """An `int` of integer pixels, exact."""
    maximum: float | None
    """`None` if no pixel counts, as are the others."""
    place: tuple[int, int] | None
    """(row, column) of the maximum; of several equal ones, the first."""
    centroid: tuple[float, float] | None
    """(x, y), weighted by the counts, in pixels from the outer corner of the first; `None` as well if their
    sum is not above 0, or infinite."""

    @property
    def mean(self) -> float | None:
        """Sum by pixels that count."""
        return self.sum / self.pixels if self.pixels else None


@dataclass(frozen=True)
class Saturated:
    """Saturated pixels of the frame on show."""

    count: int | None
    """`None`: they are not counted, since the frame came in blocks."""
    some: bool
    """True if there are any."""


@dataclass(frozen=True, eq=False)
class Counted:
    """A frame, and which of its pixels count.

    Args:
        image: (rows, cols), whole: of a frame that was reduced, no number may be made.
        rule: which pixels count by their value.
        partial: a part of the frame is missing, and has the fill value of its type.
        mask: (rows, cols): pixels that are not 0 do not count, as in the receiver's regions; `None`: all do.
        left_out: pixels that never count: gaps, and those that the user has masked.
        raw: counts as received, where `image` was made of them: they say what is saturated.
    """

    image: npt.NDArray[Any]
    rule: PixelRule = NO_LIMITS
    partial: bool = False
    mask: npt.NDArray[Any] | None = None
    left_out: npt.NDArray[np.bool_] | None = None
    raw: npt.NDArray[Any] | None = None

    def of(self, place: Rectangle | None = None) -> Figures:
        """Return the figures of a rectangle; by default of the whole frame. What is beside it is cut off."""
        rows, columns = self.image.shape
        if place is None:
            place = Rectangle(x=0, y=0, width=columns, height=rows)
        left, right = max(0, place.x), min(columns, place.x + place.width)
        top, bottom = max(0, place.y), min(rows, place.y + place.height)
        total = _Total(left, top, max(0, right - left))
        step = max(1, STRIP // max(1, right - left))
        for row in range(top, bottom, step):
            total.add(row, *self._strip(slice(row, min(row + step, bottom)), slice(left, right)))
        return total.figures()

    def saturated(self) -> int:
        """Return how many of the pixels that count are saturated: faster than `of`."""
        raw = self.image if self.raw is None else self.raw
        if self.rule.saturation is None and self.rule.greatest_flag(raw.dtype) is not Flag.SATURATED:
            return 0
        step, found = max(1, STRIP // max(1, raw.shape[1])), 0
        for row in range(0, raw.shape[0], step):
            rows, columns = slice(row, row + step), slice(None)
            flagged = self._flags(raw, rows, columns)
            if (flagged == Flag.SATURATED).any():
                counts = self._counts(rows, columns, flagged)
                found += int(np.count_nonzero(counts & (flagged == Flag.SATURATED)))
        return found

    def counts(self, rows: slice, columns: slice) -> npt.NDArray[np.bool_]:
        """Return which pixels of a part count."""
        raw = self.image if self.raw is None else self.raw
        return self._counts(rows, columns, self._flags(raw, rows, columns))

    def _strip(
        self, rows: slice, columns: slice
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        raw = self.image if self.raw is None else self.raw
        found = self._flags(raw, rows, columns)
        counts = self._counts(rows, columns, found)
        return self.image[rows, columns], counts, counts & (found == Flag.SATURATED)

    def _flags(self, raw: npt.NDArray[Any], rows: slice, columns: slice) -> npt.NDArray[np.uint8]:
        return self.rule.flags(raw[rows, columns], partial=self.partial)

    def _counts(self, rows: slice, columns: slice, found: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
        counts: npt.NDArray[np.bool_] = found != Flag.INVALID
        if self.mask is not None:
            counts &= self.mask[rows, columns] == 0
        image = self.image[rows, columns]
        if image.dtype.kind == "f":
            counts &= ~np.isnan(image)
        if self.left_out is not None:
            counts &= ~self.left_out[rows, columns]
        return counts


def moved(figures: Figures, x: int, y: int) -> Figures:
    """Return figures of a part of a frame that begins at column `x` and row `y`, as those of the frame."""
    place, centroid = figures.place, figures.centroid
    return replace(
        figures,
        place=None if place is None else (place[0] + y, place[1] + x),
        centroid=None if centroid is None else (centroid[0] + x, centroid[1] + y),
    )


class _Total:
    """Adds strips."""

    def __init__(self, left: int, top: int, width: int) -> None:
        self._left, self._top = left, top
        self._columns = np.arange(width) + (left + 0.5)
        self._pixels = self._all = self._saturated = 0
        self._sum: Any = 0
        self._x = self._y = 0.0
        self._most: Any = None
        self._place: tuple[int, int] | None = None

    def add(
        self,
        row: int,
        image: npt.NDArray[Any],
        counts: npt.NDArray[np.bool_],
        saturated: npt.NDArray[np.bool_],
    ) -> None:
        pixels = int(np.count_nonzero(counts))
        self._all += image.size
        if not pixels:
            return
        self._pixels += pixels
        self._saturated += int(np.count_nonzero(saturated))
        kind = image.dtype.kind
        # A column of 64-bit counts may have more bits than 64; the centroid needs no more than these.
        large = kind in "iu" and image.dtype.itemsize == 8
        wide: Any = np.float64 if large or kind == "f" else np.int64 if kind == "i" else np.uint64
        values = np.where(counts, image, image.dtype.type(0))
        with np.errstate(over="ignore", invalid="ignore"):  # of infinite pixels, where a mask has them count
            across, along = values.sum(0, dtype=wide), values.sum(1, dtype=wide)
            self._sum += _exact(values) if large else sum(across.tolist())  # of any length
            self._x += float(across.astype(np.float64) @ self._columns)
            self._y += float(along.astype(np.float64) @ (np.arange(len(along)) + (row + 0.5)))
        lowest = image.dtype.type(-np.inf) if kind == "f" else _lowest(image.dtype)
        seen = np.where(counts, image, lowest)
        at = int(np.argmax(seen))
        if not counts.flat[at]:  # all that count have the lowest value too
            at = int(np.argmax(counts))
        if self._most is None or seen.flat[at] > self._most:
            self._most = seen.flat[at]
            self._place = (row + at // image.shape[1], self._left + at % image.shape[1])

    def figures(self) -> Figures:
        centroid = (self._x / self._sum, self._y / self._sum) if 0 < self._sum < np.inf else None
        most = None if self._most is None else self._most.item()
        return Figures(
            self._pixels, self._all - self._pixels, self._saturated, self._sum, most, self._place, centroid
        )


def _exact(values: npt.NDArray[Any]) -> int:
    """Return the sum of 64-bit integers, which may have more bits."""
    high, low = values >> 32, values & 0xFFFFFFFF
    return (int(high.sum(dtype=np.int64)) << 32) + int(low.sum(dtype=np.uint64))


def _lowest(dtype: np.dtype[Any]) -> Any:
    return dtype.type(False) if dtype.kind == "b" else np.iinfo(dtype).min


Values = npt.NDArray[np.float64]


class Kind(Enum):
    """What is drawn; the value is what the user reads."""

    LINE = "along the line"
    COLUMNS = "columns of the rectangle"
    ROWS = "rows of the rectangle"


@dataclass(frozen=True, eq=False)
class Profile:
    """Values over places."""

    kind: Kind
    x: Values
    """Pixels from the start of a line; else columns, or rows, at their middles."""
    y: Values
    """NaN where no pixel counts."""


def along(counted: Counted, start: tuple[float, float], end: tuple[float, float]) -> Profile:
    """Return the counts of the pixels under a line, one for each pixel of its length.

    Args:
        counted: the frame.
        start: column and row, in pixels from the outer corner of the first one.
        end: likewise.
    """
    length = float(np.hypot(end[0] - start[0], end[1] - start[1]))
    steps = max(1, round(length))
    share = (np.arange(steps) + 0.5) / steps
    columns = np.floor(start[0] + share * (end[0] - start[0])).astype(np.intp)
    rows = np.floor(start[1] + share * (end[1] - start[1])).astype(np.intp)
    height, width = counted.image.shape
    inside = (columns >= 0) & (columns < width) & (rows >= 0) & (rows < height)
    values = np.full(steps, np.nan)
    if inside.any():
        here = rows[inside], columns[inside]
        top, bottom = int(here[0].min()), int(here[0].max()) + 1
        left, right = int(here[1].min()), int(here[1].max()) + 1
        counts = counted.counts(slice(top, bottom), slice(left, right))[here[0] - top, here[1] - left]
        values[inside] = np.where(counts, counted.image[here].astype(np.float64), np.nan)
    return Profile(Kind.LINE, np.asarray(share * length, np.float64), values)


def projected(counted: Counted, place: Rectangle | None, kind: Kind, *, mean: bool) -> Profile:
    """Return the sum, or the mean, of each column or row of a rectangle; by default of the whole frame.

    Args:
        counted: the frame.
        place: the rectangle.
        kind: columns or rows.
        mean: of the pixels that count; else their sum.
    """
    height, width = counted.image.shape
    place = place or Rectangle(x=0, y=0, width=width, height=height)
    left, right = max(0, place.x), min(width, place.x + place.width)
    top, bottom = max(0, place.y), min(height, place.y + place.height)
    axis = 0 if kind is Kind.COLUMNS else 1
    rows, columns = slice(top, max(top, bottom)), slice(left, max(left, right))
    counts = counted.counts(rows, columns)
    sums = np.where(counts, counted.image[rows, columns], 0).sum(axis, dtype=np.float64)
    pixels = np.count_nonzero(counts, axis=axis)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.where(pixels > 0, sums / pixels if mean else sums, np.nan)
    first = left if kind is Kind.COLUMNS else top
    places = np.asarray(np.arange(len(values)) + (first + 0.5), np.float64)
    return Profile(kind, places, np.asarray(values, np.float64))
