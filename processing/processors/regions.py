"""`processor: regions`: sum, mean and maximum of rectangles, their saturated pixels, and totals of frames."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from penstock.processing.describe import Plot
from penstock.processing.processor import CannotProcess, Frame, Processor, Result
from penstock.processing.processors._image import image_of, masked_of
from penstock.processing.series import Series
from penstock.receiver.config.rectangles import Rectangle, check_names
from penstock.receiver.regions import pixels
from penstock.receiver.regions.pixels import UNITS, VALUES, Area, sum_type
from penstock.receiver.validity.pixels import Flag, PixelRule

LABELS = {
    "sum": "sum of the pixels", "mean": "mean of the pixels", "max": "maximum of the pixels",
    "saturated": "saturated pixels",
}  # fmt: skip
LONGEST_NAME = 63 - len("_saturated")
"""Results have names of 63 characters at most, with which that of a step counts."""


class Regions(Processor):
    """Sum, mean and maximum of rectangles, as the receiver's regions of interest, and the total of the frame.

    Pixels without a value do not count: masked ones, gaps, NaN. Saturated ones count, and their number is
    given. A frame of which a part is missing has no values.
    """

    regions: dict[str, Rectangle] = {}
    """Rectangles by name, as the receiver's `rois`: `{x: …, y: …, width: …, height: …}` in pixels; they may
    reach beyond the edges, and have no values outside of them."""

    WHO: ClassVar[str] = "regions"

    def configure(self) -> None:
        """Check the names; the rectangles' parts inside a frame are found with the next frame."""
        check_names(self.regions)
        most, why = LONGEST_NAME, ""
        if self._label:
            most, why = most - len(f"{self._label}_"), f" in a step of the name {self._label}"
        for name in self.regions:
            if len(name) > most:
                raise CannotProcess(
                    f"region {name} has a name of {len(name)} characters, and {most} are the most{why}: "
                    "rename it"
                )
        self._areas: dict[str, Area | None] = {}
        self._shape: tuple[int, ...] = ()

    def start(self, series: Series) -> None:
        """Begin a series; its first frame says how large the images are."""
        self._series = series

    def describe(self) -> list[Plot]:
        """Return unit and label of each result."""
        return [
            Plot("total", unit=UNITS["sum"], label=LABELS["sum"]),
            Plot("total_saturated", unit=UNITS["saturated"], label=LABELS["saturated"]),
            *(
                Plot(f"{name}_{value}", unit=UNITS[value], label=f"{name}: {LABELS[value]}")
                for name in self.regions
                for value in VALUES
            ),
        ]

    def process(self, frame: Frame) -> Result:
        """Return `NAME_sum`, `NAME_mean`, `NAME_max` and `NAME_saturated` of each rectangle, and `total` and
        `total_saturated`, float64."""
        image = image_of(frame, self._series, self.WHO)
        if image is None:
            return None
        if image.shape != self._shape:
            self._find(image.shape)
        rule = self._series.rule_for(frame)
        found = dict(zip(("total", "total_saturated"), _total(image, self._masked, rule), strict=True))
        for name, area in self._areas.items():
            for value, number in zip(VALUES, pixels.values(image, area, rule), strict=True):
                found[f"{name}_{value}"] = number
        return found

    def _find(self, shape: tuple[int, ...]) -> None:
        rows, columns = shape
        masked = masked_of(self._series, shape, self.WHO)
        self._masked = None if masked is None else np.flatnonzero(masked)
        self._areas = {
            name: pixels.area(region, (rows, columns), masked) for name, region in self.regions.items()
        }
        self._shape = shape


def _total(
    image: np.ndarray[Any, Any], masked: np.ndarray[Any, Any] | None, rule: PixelRule
) -> tuple[float, float]:
    """Return the sum of the pixels that have a value, and the number of saturated ones; NaN if none has one.

    Args:
        image: (rows, cols).
        masked: places of the pixels that do not count, in the image as one line; `None` if all count.
        rule: which of the others count.
    """
    left_out, saturated = [] if masked is None else [masked], 0
    if not rule.all_good(image, float(image.max())):
        places, flags = rule.beyond(image, masked)
        left_out.append(places[flags == Flag.INVALID])
        saturated = int(np.count_nonzero(flags == Flag.SATURATED))
    if sum(map(len, left_out)) == image.size:
        return math.nan, math.nan
    kind = sum_type(image.dtype)
    if kind is np.float64:  # what is NaN cannot be taken off
        image = image.flatten() if left_out else image
        for each in left_out:
            image[each] = 0
        return float(image.sum(dtype=kind)), float(saturated)
    # Integers are exact, and few do not count: it is faster to take them off than to leave them out.
    total = image.sum(dtype=kind)
    for each in left_out:
        total -= image.take(each).sum(dtype=kind)
    return float(total), float(saturated)
