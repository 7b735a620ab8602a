"""`processor: images`: images over all frames of a series: mean, maximum, minimum, sum."""

from __future__ import annotations

import logging
from typing import Any, Literal

import numpy as np

from penstock.processing.accumulate import Accumulated, Max, Mean, Min, Sum
from penstock.processing.describe import Plot
from penstock.processing.processor import Frame, Processor, Result
from penstock.processing.series import Series
from penstock.stins.blobs import has_colours

log = logging.getLogger(__name__)

LABELS = {"mean": "mean", "max": "maximum", "min": "minimum", "sum": "sum"}
KINDS: dict[str, type[Accumulated]] = {"mean": Mean, "max": Max, "min": Min, "sum": Sum}


class Images(Processor):
    """Images that are accumulated over the frames, pixel by pixel, of the pixels that count in each frame.

    Frames may have any shape. In images of [rows, cols] masked and saturated pixels, and those without a
    value, do not count; a pixel that counts in no frame is NaN.
    """

    images: list[Literal["mean", "max", "min", "sum"]] = ["mean", "max"]
    """Images to accumulate."""

    def describe(self) -> list[Plot]:
        """Return unit and label of each image."""
        return [
            Plot(f"{name}_image", unit="counts", label=f"{LABELS[name]} of the frames")
            for name in dict.fromkeys(self.images)
        ]

    def start(self, series: Series) -> None:
        """Begin a series; its first frame says how large the images are."""
        self._series = series
        self._shape: tuple[int, ...] = ()

    def process(self, frame: Frame) -> Result:
        """Return the pixels for each kind: `mean_image` (float64), `max_image` and `min_image` (of the
        pixels' type), `sum_image` (64 bits); float64 as soon as a pixel does not count. A frame of which a
        part is missing is in none."""
        if frame.partial:
            return None
        pixels = frame.pixels
        without = self._without(frame, pixels)
        return {f"{name}_image": KINDS[name](pixels, without) for name in dict.fromkeys(self.images)}

    def _without(self, frame: Frame, pixels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
        """Return the places of the pixels that do not count; `None` if all do."""
        if not self._has_counts(pixels):
            return None
        masked, others = self._masked_in(pixels), self._series.rule_for(frame).not_good(pixels)
        if masked is None:
            return others if len(others) else None
        return np.concatenate([masked, others]) if len(others) else masked

    def _has_counts(self, pixels: np.ndarray[Any, Any]) -> bool:
        """Return whether the pixels are counts of a detector: colours are not."""
        return bool(self._series.header.channels) or not has_colours(pixels.shape, 1)

    def _masked_in(self, pixels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
        """Return the places of the pixels that the series' mask leaves out; `None`: none.

        A mask of another number of pixels is that of other frames, such as of joined ones: it is not used.
        """
        if pixels.shape != self._shape:
            self._shape, self._masked = pixels.shape, None
            mask = self._series.mask
            if mask is not None and mask.any():
                if mask.shape == pixels.shape[-2:]:
                    mask = np.broadcast_to(mask, pixels.shape)
                if mask.size == pixels.size:
                    self._masked = np.flatnonzero(mask)
                else:
                    log.warning(
                        "images: the pixel_mask of the series has %s pixels, the frames %s: it is not used",
                        list(mask.shape), list(pixels.shape),
                    )  # fmt: skip
        return self._masked
