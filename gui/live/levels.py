"""The two values between which colours run, found from the image: a pure function."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

LOW, HIGH = 1.0, 99.5
"""Percentiles: hot pixels and the beam stop's edge do not decide about the picture."""
SAMPLES = 250_000
"""Pixels looked at: enough for these percentiles, and 16 million would cost more than the drawing."""


class Levels(NamedTuple):
    """Values of the first and of the last colour; `low < high`, and `low > 0` for logarithmic colours."""

    low: float
    high: float


def autoscale(
    image: npt.NDArray[Any], good: npt.NDArray[np.bool_], *, logarithmic: bool = False
) -> Levels | None:
    """Levels from the `LOW` and `HIGH` percentiles of the good pixels; `None` if there is none.

    Args:
        image: (rows, cols).
        good: (rows, cols), true where the pixel carries a count.
        logarithmic: leave zeros out, which have no logarithm.
    """
    # An odd stride does not lock onto a detector's modules, whose pitch is even.
    stride = max(1, int(np.sqrt(image.size / SAMPLES))) | 1 if image.size > SAMPLES else 1
    part, valid = image[::stride, ::stride], good[::stride, ::stride]
    values = part[valid]
    if logarithmic:
        values = values[values > 0]
    if values.size == 0:
        return None
    low, high = (float(value) for value in np.percentile(values, (LOW, HIGH)))
    if image.dtype.kind in "ui":
        low, high = float(np.floor(low)), float(np.ceil(high))
    if high <= low:
        high = low * 10 if logarithmic else low + 1
    return Levels(low, high)
