"""`processor: images`: images over all frames of a series: mean, maximum, minimum, sum."""

from __future__ import annotations

from typing import Literal

from penstock.processing.accumulate import Accumulated, Max, Mean, Min, Sum
from penstock.processing.describe import Plot
from penstock.processing.processor import Frame, Processor, Result

LABELS = {"mean": "mean", "max": "maximum", "min": "minimum", "sum": "sum"}
KINDS: dict[str, type[Accumulated]] = {"mean": Mean, "max": Max, "min": Min, "sum": Sum}


class Images(Processor):
    """Images that are accumulated over the frames, element by element; frames may have any shape."""

    images: list[Literal["mean", "max", "min", "sum"]] = ["mean", "max"]
    """Which ones."""

    def describe(self) -> list[Plot]:
        """Return unit and label of each image."""
        return [
            Plot(f"{name}_image", unit="counts", label=f"{LABELS[name]} of the frames")
            for name in dict.fromkeys(self.images)
        ]

    def process(self, frame: Frame) -> Result:
        """Return the pixels for each kind: `mean_image` (float64), `max_image` and `min_image` (of the
        pixels' type), `sum_image` (64 bits). A frame of which a part is missing is in none."""
        if frame.partial:
            return None
        return {f"{name}_image": KINDS[name](frame.pixels) for name in dict.fromkeys(self.images)}
