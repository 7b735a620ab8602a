"""Which pixels carry no count, and why: a pure function of the image."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt


class Flag(IntEnum):
    """What is wrong with a pixel."""

    GOOD = 0
    INVALID = 1
    """Gap between modules, dead or masked pixel."""
    SATURATED = 2
    """At or above what the detector can count."""


def flags(image: npt.NDArray[Any], saturation: float | None = None) -> npt.NDArray[np.uint8]:
    """One `Flag` a pixel, of the image's shape.

    Negative values and NaN are how detectors write gaps and dead pixels into signed and floating
    images. In unsigned ones they write the type's greatest value: with 32 bits and more no exposure
    reaches it, so it is invalid; with 8 and 16 bits it is also where counting ends, so it is saturated.

    Args:
        image: (rows, cols), any integer, floating or boolean type.
        saturation: value from which a pixel counts as saturated; `None` where nobody said so.
    """
    result = np.zeros(image.shape, np.uint8)
    kind = image.dtype.kind
    if saturation is not None:
        result[image >= saturation] = Flag.SATURATED
    if kind == "u":
        greatest = Flag.SATURATED if image.dtype.itemsize <= 2 else Flag.INVALID
        result[image == np.iinfo(image.dtype).max] = greatest
    elif kind == "i":
        result[image < 0] = Flag.INVALID
    elif kind == "f":
        result[~(image >= 0)] = Flag.INVALID  # NaN is neither below nor above
    return result
