"""Mirror each image."""

from __future__ import annotations

from typing import Literal

import numpy as np

from penstock.receiver.processing.transforms.format import Data, Format, Kernel, Plan, Step, plain


def flip(image: np.ndarray, direction: str) -> np.ndarray:
    """The image with its left and right, or up and down, exchanged; a view."""
    return image[:, ::-1] if direction == "left-right" else image[::-1]


class Flip(Step, frozen=True, kw_only=True, tag="flip"):
    """Each image is mirrored."""

    direction: Literal["left-right", "up-down"]
    """What is exchanged: the columns or the rows."""

    def load(self) -> Plan:
        return self._plan

    def _plan(self, format: Format) -> tuple[Format, Kernel]:
        plain(format, "flip")

        def kernel(image: Data) -> Data:
            assert isinstance(image, np.ndarray)
            return flip(image, self.direction)

        return format, kernel
