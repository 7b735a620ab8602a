"""The places of the modules of an assembled image, as the receiver's files say them, and what is between
them."""

from __future__ import annotations

from typing import Any

import h5py
import numpy as np

from penstock.receiver.reading.hdf5.nodes import dataset

NO_PIXEL = 1
"""Bit 0 of a NeXus pixel mask: there is no sensor."""


def place_of_module(detector: h5py.Group, module: int) -> tuple[slice, slice] | None:
    """Return the rows and columns of a module in the image; `None` if they are not known."""
    place = detector.get(f"module_{module}")
    if not isinstance(place, h5py.Group):
        return None
    ends = [dataset(place, name) for name in ("data_origin", "data_size")]
    if any(each is None or each.shape != (2,) for each in ends):
        return None
    (row, column), (rows, columns) = (each[...].tolist() for each in ends if each is not None)
    return slice(row, row + rows), slice(column, column + columns)


def with_gaps(
    detector: h5py.Group, mask: np.ndarray[Any, Any] | None, shape: tuple[int, ...]
) -> np.ndarray[Any, Any] | None:
    """Return a pixel mask in which the pixels of no module do not count either.

    Args:
        detector: an NXdetector.
        mask: its pixel mask, (rows, cols); `None` if it has none.
        shape: of the frames on show: they are images of modules only if the detector's have this shape.

    Returns:
        The mask; as it is, if there are no gaps, or nobody knows where all modules lie.
    """
    data, status = dataset(detector, "data"), dataset(detector, "module_status")
    if data is None or data.ndim != 3 or data.shape[1:] != shape or status is None or status.ndim != 2:
        return mask
    gaps = np.ones(shape, bool)
    for module in range(status.shape[1]):
        if (found := place_of_module(detector, module)) is None:
            return mask
        gaps[found] = False
    if not gaps.any():
        return mask
    if mask is None:
        return np.where(gaps, NO_PIXEL, 0).astype(np.uint32)
    if mask.shape != shape:
        return mask
    combined = mask.copy()
    combined[gaps & (mask == 0)] = NO_PIXEL
    return combined
