"""An example of a processor: the mean of each ring around the middle of the image, as a curve per frame."""

import numpy as np

from penstock.processing import Mean, Processor


class Rings(Processor):
    """Means of rings of pixels, one pixel wide."""

    highest: int = 60000
    """A parameter: pixels above it are hot, and do not count."""

    def start(self, series):
        """Begin a series; its first frame says how large the image is."""
        self.ring = None

    def process(self, frame):
        """Return the curve of one frame, all its counts, and the mean of all frames."""
        if self.ring is None:
            size = np.array(frame.pixels.shape).reshape(2, 1, 1)
            y, x = np.indices(frame.pixels.shape) - size / 2
            self.ring = np.hypot(x, y).astype(int).ravel()
        good = frame.pixels.ravel() <= self.highest
        total = np.bincount(self.ring, frame.pixels.ravel() * good)
        curve = total / np.maximum(1, np.bincount(self.ring, good))
        return {"curve": curve, "counts": total.sum(), "mean": Mean(curve)}
