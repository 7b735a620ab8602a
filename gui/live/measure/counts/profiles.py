"""Counts along a line, and of the rows and columns of a rectangle: pure functions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from penstock.gui.live.measure.counts.counts import Counted
from penstock.receiver.models import Rectangle

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
