"""The two values between which colours run, found from the image, and its histogram: pure functions.

`draw` (`picture.py`) calls them in the thread "penstock-painter".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

SAMPLES = 250_000
"""Pixels that the histogram is made of: 16 million would cost more than the drawing."""
LEVEL_PIXELS = 1_000_000
"""Pixels whose blocks the levels are of; of larger frames it is some rows of blocks. Noise moves a level of
99.9 % by a count at most: some fifty blocks are above it."""
LEVEL_ROWS = 64
"""Rows of blocks that there are at least."""
MOST_COUNTED = 1 << 16
"""Whole numbers up to here are counted, which takes a fifth of what it takes to sort them."""
BINS = 128
FARTHEST = 1e37
"""Greatest level: a picture's values are single precision, and silx' ticks need room beyond."""
NEAREST = 1e-9
"""Least difference of two levels, as a share of them: 128 bins between them are still different numbers."""
MOST_BEYOND = 1.0
"""The histogram goes at most so many widths of its levels beyond them: one hot pixel does not squeeze the
rest, and the colour bar, which has the same scale, is for a third at least what lies between."""

Values = npt.NDArray[Any]


class Scale(Enum):
    """How values become shades; the value of each is silx' name of it."""

    LIN = "linear"
    LOG = "log"
    SQRT = "sqrt"
    ASINH = "arcsinh"

    @property
    def label(self) -> str:
        """What the user reads."""
        return self.name.lower()

    def place(self, values: Values | float) -> Values:
        """Return where values are, in steps that look equal: what the colour map does."""
        return np.asarray(_PLACES[self](np.asarray(values, np.float64)))

    def value_at(self, place: float) -> float:
        """Return the value at a place: the inverse of `place`."""
        return float(_VALUES[self](place))


_PLACES: dict[Scale, Callable[[Any], Any]] = {
    Scale.LIN: lambda values: values, Scale.LOG: lambda values: np.log10(np.maximum(values, 1e-300)),
    Scale.SQRT: lambda values: np.sqrt(np.maximum(values, 0.0)), Scale.ASINH: np.arcsinh,
}  # fmt: skip
_VALUES: dict[Scale, Callable[[float], Any]] = {
    Scale.LIN: lambda place: place, Scale.LOG: lambda place: 10.0 ** min(place, 300.0),
    Scale.SQRT: lambda place: max(place, 0.0) ** 2, Scale.ASINH: lambda place: np.sinh(min(place, 700.0)),
}  # fmt: skip


Ends = tuple[float, float]
"""Least and greatest count of the good pixels of a frame."""


class Percentiles(NamedTuple):
    """Shares of what is drawn, in per cent, that are below the first and the last colour.

    0 and 100 are the least and the greatest good pixel.
    """

    low: float
    high: float


DEFAULT = Percentiles(1.0, 99.9)
"""Some hundred hot pixels, or the beam stop's edge, do not decide about the picture, and some ten spots are
not lost in the noise."""
CHOICES = (
    DEFAULT, Percentiles(0.0, 100.0), Percentiles(0.1, 99.9), Percentiles(1.0, 99.5), Percentiles(1.0, 99.0),
    Percentiles(5.0, 95.0),
)  # fmt: skip


class Levels(NamedTuple):
    """Values of the first and of the last colour; `low < high`, and `low > 0` for logarithmic colours."""

    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Histogram:
    """How often values are found, in bins that look equally wide."""

    scale: Scale
    low: float
    """Value at the lower edge of the first bin."""
    high: float
    counts: npt.NDArray[np.intp]
    ends: Ends
    """Least and greatest value, which may be beyond its bins."""


def stride(shape: tuple[int, ...]) -> int:
    """Return every how many rows and columns are looked at."""
    size = int(np.prod(shape))
    # An odd stride does not lock onto a detector's modules, whose pitch is even.
    return max(1, int(np.sqrt(size / SAMPLES))) | 1 if size > SAMPLES else 1


def every_row(shape: tuple[int, int], rows: int) -> int:
    """Return of every how many rows of blocks the levels are.

    Args:
        shape: rows and columns of the frame.
        rows: rows of blocks.
    """
    every = min(shape[0] * shape[1] // LEVEL_PIXELS, rows // LEVEL_ROWS)
    return every | 1 if every > 1 else 1  # odd, as the stride


def autoscale(
    values: Values, scale: Scale = Scale.LIN, percentiles: Percentiles = DEFAULT, *, whole: bool = False,
    ends: Ends | None = None,
) -> Levels | None:  # fmt: skip
    """Return levels at the percentiles of these values; `None` if there are none.

    Of whole numbers many may be equal: the levels are those below which the share is, no less of the last
    colour, so that it is never what most of the picture has, unless nothing is greater.

    Args:
        values: (n,), those of good blocks of pixels.
        scale: logarithmic ones leave out zeros, which have no logarithm.
        percentiles: shares below the two.
        whole: whether the values are whole numbers.
        ends: least and greatest count of all good pixels, which no percentile of blocks tells; by default
            those of the values.
    """
    if scale is Scale.LOG:
        values = values[values > 0]
    if values.size == 0:
        return None
    least, most = (float(values.min()), float(values.max())) if ends is None else ends
    if scale is Scale.LOG and least <= 0:
        least = float(values.min())
    low, high = _at(values, percentiles, whole and least >= 0 and most < MOST_COUNTED)
    if whole:
        low, high = math.floor(low), min(math.floor(high) + 1, most)
    return possible(
        least if percentiles.low <= 0 else low, most if percentiles.high >= 100 else high, scale
    )  # fmt: skip


def _at(values: Values, percentiles: Percentiles, countable: bool) -> tuple[float, float]:
    """Return the least values up to which there are these shares."""
    size = values.size
    first, last = (min(max(math.ceil(size * each / 100) - 1, 0), size - 1) for each in percentiles)
    if countable:
        places = np.cumsum(np.bincount(values.astype(np.uint16)))
        low, high = np.searchsorted(places, (first, last), side="right")
        return float(low), float(high)
    ordered = np.sort(values)  # faster than a partition, which NumPy does without vectors
    return float(ordered[first]), float(ordered[last])


def with_ends(values: Values, ends: Ends | None) -> Values:
    """Return some of a frame's counts, (n,), and its least and greatest one, for a histogram of all of it."""
    if ends is None or not values.size:
        return values
    more = [end for end, there in zip(ends, (values.min(), values.max()), strict=True) if end != there]
    exact = values.dtype.kind in "ui" and all(isinstance(end, int) for end in more)
    return np.append(values, np.array(more, values.dtype if exact else None)) if more else values


def possible(low: float, high: float, scale: Scale) -> Levels:
    """Return the levels that are nearest to these two and can be drawn: different, and not below zero where
    they must not be."""
    low, high = (min(max(value, -FARTHEST), FARTHEST) for value in (low, high))
    if scale is Scale.LOG and low <= 0:
        low = min(1.0, high / 10) if high > 0 else 1.0
    if scale is Scale.LOG:
        low = max(low, 1 / FARTHEST)
    if scale is Scale.SQRT:
        low = max(low, 0.0)
    least = NEAREST * max(abs(low), abs(high))
    if not high - low > least:
        high = low * 10 if scale is Scale.LOG else low + max(1.0, 2 * least)
    return Levels(low, high)


def histogram(values: Values, levels: Levels, scale: Scale = Scale.LIN) -> Histogram | None:
    """Return how often counts are found, in a range around the levels; `None` if there are no counts."""
    if scale is Scale.LOG:
        values = values[values > 0]
    if values.size == 0:
        return None
    first, last = (float(place) for place in scale.place(np.array(levels)))
    least, most = (float(place) for place in scale.place(np.array([values.min(), values.max()])))
    room = MOST_BEYOND * (last - first)
    least, most = max(min(least, first), first - room), min(max(most, last), last + room)
    whole = values.dtype.kind in "ui"
    bins = _bins_of_whole_numbers(most - least) if whole and scale is Scale.LIN else BINS
    ends, low, high = (values.min().item(), values.max().item()), scale.value_at(least), scale.value_at(most)
    weights = None
    if whole:
        first = max(ends[0], math.floor(low)) if low > 0 else ends[0]  # a root has all below 0 in one place
        values, weights = _counted(values, first, min(ends[1], math.ceil(high)))
    counts, _ = np.histogram(scale.place(values), bins, (least, most), weights=weights)
    return Histogram(scale, low, high, counts, ends)


def _counted(values: Values, least: int, most: int) -> tuple[Values, Values | None]:
    """Return the whole numbers from `least` to `most` and how often each is found, which are sorted into bins
    in a fifth of the time. `None`: they are too many, or too great, to be counted."""
    if not 0 <= most - least < MOST_COUNTED or max(-least, most) >= 1 << 53:
        return values, None
    inside = values[(values >= least) & (values <= most)].astype(np.int64) - least
    return np.arange(least, most + 1), np.bincount(inside, minlength=most - least + 1)


def _bins_of_whole_numbers(span: float) -> int:
    """Return how many bins have as many whole numbers each, so that none is empty for want of a number."""
    numbers = math.floor(span) + 1
    return math.ceil(numbers / math.ceil(numbers / BINS))
