"""The pixels of a frame that have no value or are saturated, by `receiver.validity`; and pixels as drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.receiver.client import LastFrame
from penstock.receiver.models import FrameStatus
from penstock.receiver.validity.pixels import Flag, PixelRule

PARTIAL = FrameStatus.PARTIAL.name.lower()


def outside(
    shape: tuple[int, int], modules: Sequence[Sequence[int]], x: int = 0, y: int = 0, step: int = 1,
    *, blocks: bool = False,
) -> npt.NDArray[np.bool_]:  # fmt: skip
    """Return which pixels are of no module: gaps, and where a module is missing.

    Args:
        shape: rows and columns of the image on show.
        modules: row, column, rows and columns of each, in detector pixels.
        x: first column on show, in detector pixels.
        y: first row.
        step: every so many rows and columns are on show.
        blocks: so many rows and columns have become one: it is of a module if one of its pixels is.
    """
    found = np.ones(shape, np.bool_)
    for row, column, rows, columns in modules:
        found[_visible(row - y, rows, step, blocks), _visible(column - x, columns, step, blocks)] = False
    return found


def not_sent(frame: LastFrame, shape: tuple[int, int]) -> npt.NDArray[np.bool_] | None:
    """Return the pixels of a frame that are of no module, or missing; `None` if none are known.

    Args:
        frame: the frame.
        shape: its rows and columns; k images are one below the other.
    """
    found = None
    if frame.modules and frame.array.ndim == 2:
        blocks = _has_greatest(frame)
        found = outside(shape, frame.modules, frame.x, frame.y, frame.downsample, blocks=blocks)
    if frame.missing is None:
        return found
    missing = frame.missing.reshape(shape)
    return missing if found is None else found | missing


def _visible(first: int, length: int, step: int, blocks: bool) -> slice:
    """Return the slice of `length` of every `step`-th pixel, or of blocks of so many, from `first` on."""
    start = first // step if blocks else -(-first // step)
    return slice(max(0, start), max(0, -(-(first + length) // step)))


def _has_greatest(frame: LastFrame) -> bool:
    """Return whether its pixels are the greatest ones of blocks."""
    return frame.downsample > 1 and frame.method == "max_valid"


def is_partial(frame: LastFrame) -> bool:
    """Return whether a part of the frame is missing."""
    return frame.status == PARTIAL


def rule_of(frame: LastFrame) -> PixelRule:
    """Return the rule by which the pixels of a frame count."""
    rule = PixelRule(frame.saturation, frame.underload)
    return rule.of_blocks(frame.array.dtype) if _has_greatest(frame) else rule


def flags_of(
    frame: LastFrame, image: npt.NDArray[Any], no_value: npt.NDArray[np.bool_] | None = None
) -> npt.NDArray[np.uint8]:
    """Return one `Flag` per pixel of a frame, or of a part of it.

    Args:
        frame: the frame.
        image: its pixels, as received.
        no_value: pixels that have no value whatever is stored there, in the shape of the image.
    """
    return rule_of(frame).flags(image, no_value, partial=is_partial(frame))


def flags_of_numbers(
    image: npt.NDArray[Any], no_value: npt.NDArray[np.bool_] | None = None
) -> npt.NDArray[np.uint8]:
    """Return one `Flag` per pixel of what was computed: all finite numbers are good; arguments as for
    `flags_of`."""
    found = np.zeros(image.shape, np.uint8)
    if image.dtype.kind == "f":
        found[~np.isfinite(image)] = Flag.INVALID
    if no_value is not None:
        found[no_value] = Flag.INVALID
    return found


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
