"""Blocks of pixels that become one pixel each: arrays alone, without rules of what counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.receiver.validity.pixels import greatest_none

Array = np.ndarray[Any, Any]


def blocks(operation: np.ufunc, region: Array, step: int) -> Array:
    """Reduce blocks of step x step pixels to one each; blocks at the right and lower edge may be smaller."""
    for axis in (-2, -1):
        region = operation.reduceat(region, np.arange(0, region.shape[axis], step), axis=axis)
    return region


def means(region: Array, step: int, none: Array | None) -> Array:
    """Reduce blocks to the mean of their pixels that have a value, float32; NaN where none has.

    Args:
        region: pixels.
        step: rows and columns of a block.
        none: which of them have no value; `None`: all have.
    """
    # Sums in double precision: 64 x 64 pixels of 32 bits do not fit into less.
    values = region.astype(np.float64)
    if none is None or not none.any():
        counts = np.outer(*(_lengths(length, step) for length in region.shape[-2:]))
    else:
        values[none] = 0
        counts = blocks(np.add, (~none).astype(np.int64), step)
    with np.errstate(invalid="ignore"):
        return (blocks(np.add, values, step) / counts).astype(np.float32)  # 0 / 0 is NaN


def without(region: Array, none: Array | None) -> Array:
    """Return the pixels with `greatest_none` where they have no value."""
    if none is None:
        return region
    region = region.copy()
    region[none] = greatest_none(region.dtype)
    return region


def _lengths(length: int, step: int) -> Array:
    return np.minimum(step, length - np.arange(0, length, step))
