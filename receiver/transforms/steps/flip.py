"""Mirroring of images."""

from __future__ import annotations

from typing import Literal

import numpy as np

from penstock.receiver.transforms.steps.format import Format, Kernel, Step, plain


def flip(image: np.ndarray, direction: str) -> np.ndarray:
    """Return the image, or the images of a stack, mirrored left-right or up-down, as a view."""
    return image[..., ::-1] if direction == "left-right" else image[..., ::-1, :]


class Flip(Step, frozen=True, kw_only=True, tag="flip"):
    """Each image is mirrored."""

    direction: Literal["left-right", "up-down"]
    """Direction in which the image is mirrored."""

    def plan(self, format: Format) -> tuple[Format, Kernel]:
        plain(format, "flip")
        return format, lambda image: flip(image, self.direction)
