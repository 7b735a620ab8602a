"""`processor: peaks`: number, places and heights of the local maxima of each frame."""

from __future__ import annotations

import math
from typing import Annotated, Any

import msgspec
import numpy as np

from penstock.processing.accumulate import Events
from penstock.processing.describe import Plot
from penstock.processing.processor import CannotProcess, Frame, Processor, Result
from penstock.processing.processors._image import image_of, masked_of, native, native_type
from penstock.processing.processors._maxima import highest_around
from penstock.processing.series import Series
from penstock.receiver.validity.pixels import PixelRule

NAME = "peaks"


class Peaks(Processor):
    """Pixels above a threshold that are the highest of those around them.

    Masked pixels and those without a value do not count, neither as a peak nor beside one; saturated ones
    do. Of equal neighbours the first one, row by row, is the peak.
    """

    threshold: float = 100.0
    """A peak is above this, in counts."""
    highest: float | None = None
    """What is above this does not count, such as saturated or hot pixels; `None`: all do."""
    radius: Annotated[int, msgspec.Meta(ge=1, le=64)] = 1
    """Pixels around a peak, in each direction, in which there is no higher one."""
    most: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 10_000
    """Most peaks of a frame whose places are kept: the highest ones. All are counted."""

    def configure(self) -> None:
        """Check the thresholds."""
        if math.isnan(self.threshold):
            raise CannotProcess("threshold is no number: give one, in counts")
        if self.highest is not None and not self.threshold < self.highest:
            raise CannotProcess(
                f"threshold is {self.threshold:g} and highest {self.highest:g}; highest has to be the "
                "greater one"
            )
        self._shape: tuple[int, ...] = ()
        self._found = np.empty(self.most, np.int64)

    def start(self, series: Series) -> None:
        """Begin a series: compile for the type that its header says."""
        self._series = series
        self._shape = ()
        kind = series.header.type
        if kind is not None and np.dtype(kind).kind in "biuf":
            tiny = np.zeros((1, 1), native_type(kind))
            tiny.flags.writeable = False  # as pixels are
            self._count(tiny, np.zeros((0, 0), bool), series.rule)

    def describe(self) -> list[Plot]:
        """Return the label of the number."""
        return [Plot("peak_count", label="peaks")]

    def process(self, frame: Frame) -> Result:
        """Return `peak_count`, and `peaks`, events of float64: row, column, height; row by row."""
        image = image_of(frame, self._series, NAME)
        if image is None:
            return None
        image = native(image)
        if image.shape != self._shape:
            masked = masked_of(self._series, image.shape, NAME)
            self._masked = np.zeros((0, 0), bool) if masked is None else masked
            self._shape = image.shape
        rule = self._series.rule_for(frame)
        count = self._count(image, self._masked, rule)
        if count > len(self._found):
            self._found = np.empty(count, np.int64)
            self._count(image, self._masked, rule)
        places = self._found[:count]
        heights = image.ravel()[places]
        if count > self.most:
            highest = np.sort(np.argpartition(-heights.astype(np.float64), self.most)[: self.most])
            places, heights = places[highest], heights[highest]
        rows, columns = np.divmod(places, image.shape[1])
        return {
            NAME: Events(np.column_stack([rows, columns, heights.astype(np.float64)])),
            "peak_count": count,
        }

    def _count(self, image: np.ndarray[Any, Any], masked: np.ndarray[Any, Any], rule: PixelRule) -> int:
        # What has no value is less than all that have one, or greater, and what is greater is no neighbour.
        least, greatest = rule.values(image.dtype)
        low: Any = self.threshold
        high: Any = greatest if self.highest is None else min(self.highest, greatest)
        if image.dtype.kind in "biu" and image.dtype.itemsize < 8:
            # Integers are compared several times as fast as floating-point numbers.
            low = max(math.floor(min(max(low, -(2.0**62)), 2.0**62)), int(least) - 1)
            low, high = np.int64(low), np.int64(math.floor(max(high, -(2.0**62))))
        elif rule.underload is not None:
            low = max(low, math.nextafter(rule.underload, -math.inf))
        return highest_around(image, masked, low, high, self.radius, self._found)
