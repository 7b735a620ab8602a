"""Rotation of images by multiples of 90 degrees."""

from __future__ import annotations

from typing import Literal

import numpy as np

from penstock.receiver.processing.transforms.format import Data, Format, Kernel, Plan, Step, plain


def rotate(image: np.ndarray, quarter_turns: int) -> np.ndarray:
    """Return the image rotated counter-clockwise, as a view."""
    return np.rot90(image, quarter_turns)


class Rotate(Step, frozen=True, kw_only=True, tag="rotate"):
    """Each image is rotated counter-clockwise; the images of a frame of k blobs keep their order."""

    quarter_turns: Literal[1, 2, 3]
    """Number of rotations by 90 degrees."""

    def load(self) -> Plan:
        return self._plan

    def _plan(self, format: Format) -> tuple[Format, Kernel]:
        plain(format, "rotate")
        rows, cols = format.image_shape
        if self.quarter_turns % 2:
            rows, cols = cols, rows

        def kernel(image: Data) -> Data:
            assert isinstance(image, np.ndarray)
            return rotate(image, self.quarter_turns)

        return format._replace(shape=(*format.shape[:-2], rows, cols)), kernel
