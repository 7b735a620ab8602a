"""`processor: regions`: sum, mean and maximum of named rectangles, and the total of each frame."""

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
from penstock.receiver.regions.pixels import VALUES, Area

LABELS = {"sum": "sum of the pixels", "mean": "mean of the pixels", "max": "maximum of the pixels"}
LONGEST_NAME = 63 - len("_mean")
"""Results have names of 63 characters at most."""


class Regions(Processor):
    """Sum, mean and maximum of rectangles, as the receiver's regions of interest, and the total of the frame.

    Masked pixels and NaN do not count. A frame of which a part is missing has no values.
    """

    regions: dict[str, Rectangle] = {}
    """Rectangles by name, as the receiver's `rois`: `{x: …, y: …, width: …, height: …}` in pixels; they may
    reach beyond the edges, and have no values outside of them."""

    WHO: ClassVar[str] = "regions"

    def configure(self) -> None:
        """Check the names; the rectangles' parts inside a frame are found with the next frame."""
        check_names(self.regions)
        for name in self.regions:
            if len(name) > LONGEST_NAME:
                raise CannotProcess(
                    f"region {name} has a name of {len(name)} characters, and {LONGEST_NAME} are the most: "
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
            Plot("total", unit="counts", label="sum of the pixels"),
            *(
                Plot(f"{name}_{value}", unit="counts", label=f"{name}: {LABELS[value]}")
                for name in self.regions
                for value in VALUES
            ),
        ]

    def process(self, frame: Frame) -> Result:
        """Return `NAME_sum`, `NAME_mean` and `NAME_max` of each rectangle, and `total`, float64."""
        image = image_of(frame, self._series, self.WHO)
        if image is None:
            return None
        if image.shape != self._shape:
            self._find(image.shape)
        found = {"total": _total(image, self._masked)}
        for name, area in self._areas.items():
            for value, number in zip(VALUES, pixels.values(image, area), strict=True):
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


def _total(image: np.ndarray[Any, Any], masked: np.ndarray[Any, Any] | None) -> float:
    """Return the sum of the pixels that count; NaN if none does.

    Args:
        image: (rows, cols).
        masked: places of the pixels that do not count, in the image as one line; `None` if all count.
    """
    if image.dtype.kind == "f" or image.dtype.itemsize == 8:
        counts = ~np.isnan(image)
        if masked is not None:
            counts.ravel()[masked] = False
        return float(np.sum(image, where=counts, dtype=np.float64)) if counts.any() else math.nan
    if masked is not None and len(masked) == image.size:
        return math.nan
    # Integers are exact, and few are masked: it is faster to take them off than to leave them out.
    kind = np.int64 if image.dtype.kind == "i" else np.uint64
    total = image.sum(dtype=kind)
    return float(total if masked is None else total - image.take(masked).sum(dtype=kind))
