"""Numbers over many frames, as few as a plot can show: pure functions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

MOST = 4000
"""Numbers that are drawn; the screen has no more columns."""


def is_scattered(values: npt.NDArray[np.float64]) -> bool:
    """Return whether most of the numbers stand alone, so that no line can be drawn."""
    known = np.isfinite(values)
    beside = np.zeros(len(known), np.bool_)
    beside[1:] |= known[:-1]
    beside[:-1] |= known[1:]
    return bool(known.any() and (known & ~beside).sum() > known.sum() / 2)


def thinned(
    frames: npt.NDArray[np.int64], values: npt.NDArray[np.float64], most: int = MOST
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return the least and the greatest of each few frames, and NaN where one of them has no value.

    Args:
        frames: (n,), ascending.
        values: (n,), NaN where there is none.
        most: numbers at most, about; as many as this or fewer stay as they are.
    """
    if len(frames) <= most:
        return frames, values
    block = -(-3 * len(frames) // most)
    count = len(frames) // block
    whole = values[: count * block].reshape(count, block)
    known = np.isfinite(whole)
    least = np.where(known, whole, np.inf).argmin(1)
    greatest = np.where(known, whole, -np.inf).argmax(1)
    places = np.sort(np.stack([least, greatest], axis=1), axis=1) + np.arange(count)[:, np.newaxis] * block
    gap = ~known.all(1)
    x = np.concatenate([frames[places], frames[places[:, 1:]]], axis=1)
    y = np.concatenate([values[places], np.where(gap, np.nan, values[places[:, 1]])[:, np.newaxis]], axis=1)
    rest = slice(count * block, None)
    return np.concatenate([x.ravel(), frames[rest]]), np.concatenate([y.ravel(), values[rest]])
