"""Rotation of images by multiples of 90 degrees."""

from __future__ import annotations

from typing import Literal

import numpy as np

from penstock.receiver.transforms.steps.format import Format, Kernel, Step, plain


def rotate(image: np.ndarray, quarter_turns: int) -> np.ndarray:
    """Return the image, or the images of a stack, rotated counter-clockwise, as a view."""
    return np.rot90(image, quarter_turns, axes=(-2, -1))


class Rotate(Step, frozen=True, kw_only=True, tag="rotate"):
    """Each image is rotated counter-clockwise; the images of a frame of k blobs keep their order."""

    quarter_turns: Literal[1, 2, 3]
    """Number of rotations by 90 degrees."""

    def plan(self, format: Format) -> tuple[Format, Kernel]:
        plain(format, "rotate")
        rows, cols = format.image_shape
        if self.quarter_turns % 2:
            rows, cols = cols, rows
        after = format._replace(shape=(*format.shape[:-2], rows, cols))
        return after, lambda image: rotate(image, self.quarter_turns)
