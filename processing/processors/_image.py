"""The image of a frame and its mask, for processors that need rows and columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.processing.processor import CannotProcess, Frame
from penstock.processing.series import Series
from penstock.stins.blobs import has_colours


class NoImageError(CannotProcess):
    """Frames are no image of rows and columns; the sentence says what they are, and the remedy."""


def image_of(frame: Frame, series: Series, who: str) -> np.ndarray[Any, Any] | None:
    """Return the image of a frame, (rows, cols): of several channels that of the first, as in the receiver.

    Args:
        frame: the frame.
        series: its series.
        who: name of the processor, for the sentence.

    Returns:
        The image; `None` if a part of it is missing.

    Raises:
        NoImageError: it is no image.
    """
    pixels, channels = frame.pixels, series.header.channels
    if pixels.ndim == 2:
        return None if frame.partial else pixels
    if pixels.ndim == 1:
        raise NoImageError(f"{who} needs images of [rows, cols], these frames are spectra")
    if not channels and has_colours(pixels.shape, 1):
        raise NoImageError(f"{who} needs images of [rows, cols], these frames are colour images")
    if not channels and len(pixels) > 1:
        raise NoImageError(
            f"{who} needs frames of one image, these are {len(pixels)} separate modules; put "
            "{type: assemble} into the receiver's transforms"
        )
    is_missing = frame.partial if len(pixels) == 1 else 0 in frame.missing
    return None if is_missing else pixels[0]


def native(image: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an image of a type that compiled code takes: of this machine's byte order, no float16 or bool.

    numba takes big-endian pixels for little-endian ones, without a word, where it has seen such before.
    """
    kind = native_type(image.dtype)
    if kind == image.dtype:
        return image
    found = image.astype(kind)
    found.flags.writeable = image.flags.writeable  # or it would be compiled once more
    return found


def native_type(kind: np.dtype[Any] | str) -> np.dtype[Any]:
    """Return the type that `native` makes of another one."""
    kind = np.dtype(kind).newbyteorder("=")
    others: dict[str, np.dtype[Any]] = {"float16": np.dtype(np.float32), "bool": np.dtype(np.uint8)}
    return others.get(kind.name, kind)


def masked_of(series: Series, shape: tuple[int, ...], who: str) -> np.ndarray[Any, Any] | None:
    """Return which pixels of an image do not count, bool, (rows, cols); `None` if all do.

    Args:
        series: the series, whose mask is that of the first channel if it has several.
        shape: rows and columns of its images.
        who: name of the processor, for the sentence.

    Raises:
        NoImageError: the mask is that of another image.
    """
    if series.mask is None:
        return None
    mask = series.mask if series.mask.ndim == 2 else series.mask[0]
    if mask.shape != tuple(shape):
        raise NoImageError(
            f"{who}: the pixel_mask of the series has {list(mask.shape)} pixels, the frame {list(shape)}; "
            "compare it with the frames"
        )
    masked: np.ndarray[Any, Any] = mask != 0
    return masked if masked.any() else None
