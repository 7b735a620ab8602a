"""Which pixels carry no count, and why: a pure function of the image."""

from __future__ import annotations

from collections.abc import Sequence
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


def outside(
    shape: tuple[int, int], modules: Sequence[Sequence[int]], x: int = 0, y: int = 0, step: int = 1
) -> npt.NDArray[np.bool_]:
    """Return which pixels are of no module: gaps, and where a module is missing.

    Args:
        shape: rows and columns of the image on show.
        modules: row, column, rows and columns of each, in detector pixels.
        x: first column on show, in detector pixels.
        y: first row.
        step: every so many rows and columns are on show.
    """
    found = np.ones(shape, np.bool_)
    for row, column, rows, columns in modules:
        found[_visible(row - y, rows, step), _visible(column - x, columns, step)] = False
    return found


def _visible(first: int, length: int, step: int) -> slice:
    """Of every `step`-th pixel from 0 on, those from `first` on, so many."""
    return slice(max(0, -(-first // step)), max(0, -(-(first + length) // step)))


def greatest_flag(dtype: np.dtype[Any], saturation: float | None) -> Flag:
    """Return what the greatest value of an unsigned type says of its pixel; GOOD for other types.

    Detectors write it into gaps and dead pixels. With 32 bits or more no exposure reaches it; with 8 and 16
    bits it is also the end of counting, unless the detector says that its counting ends before.
    """
    if dtype.kind != "u":
        return Flag.GOOD
    ends_before = saturation is not None and saturation < np.iinfo(dtype).max
    return Flag.INVALID if dtype.itemsize > 2 or ends_before else Flag.SATURATED


def flags(
    image: npt.NDArray[Any], saturation: float | None = None, gaps: npt.NDArray[np.bool_] | None = None,
    *, counts: bool = True,
) -> npt.NDArray[np.uint8]:  # fmt: skip
    """Return one `Flag` per pixel, in the shape of the image.

    Detectors write gaps and dead pixels as negative values, NaN or infinity into signed and floating images,
    and as the type's greatest value into unsigned ones (see `greatest_flag`).

    Args:
        image: (rows, cols), any integer, floating or boolean type.
        saturation: value from which a pixel counts as saturated; `None` if unknown.
        gaps: pixels that were not sent, whatever their value.
        counts: whether they are a detector's; else all finite numbers are good.
    """
    result = np.zeros(image.shape, np.uint8)
    kind = image.dtype.kind if counts else ""
    if not counts and image.dtype.kind == "f":
        result[~np.isfinite(image)] = Flag.INVALID
    if saturation is not None:
        result[image >= saturation] = Flag.SATURATED
    if kind == "u":
        result[image == np.iinfo(image.dtype).max] = greatest_flag(image.dtype, saturation)
    elif kind == "i":
        result[image < 0] = Flag.INVALID
    elif kind == "f":
        result[~((image >= 0) & (image < np.inf))] = Flag.INVALID  # NaN is neither below nor above
    if gaps is not None:
        result[gaps] = Flag.INVALID
    return result


def as_numbers(image: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an image that can be drawn: in the machine's byte order, truth values as 0 and 1, half precision
    as single."""
    native: np.dtype[Any] = image.dtype.newbyteorder("=")
    return np.asarray(image, {"bool": "uint8", "float16": "float32"}.get(native.name, native))


def as_bytes(colours: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Return colours, (rows, cols, 3), as bytes: those of other types with their greatest value as 255."""
    if colours.dtype == np.uint8:
        return colours
    values = np.nan_to_num(colours.astype(np.float64), posinf=0.0, neginf=0.0)
    return np.asarray(np.clip(values * (255.0 / max(values.max(), 1e-30)), 0, 255), np.uint8)
