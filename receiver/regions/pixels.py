"""Sum, mean and maximum of the pixels of a rectangle, and how many of them are saturated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from penstock.codecs.packed import CODECS
from penstock.codecs.pixel_type import pixel_type
from penstock.receiver.config.rectangles import Rectangle
from penstock.receiver.validity.pixels import Flag, PixelRule
from penstock.stins.messages import Buffer, Image

VALUES = ("sum", "mean", "max", "saturated")
UNITS = {"sum": "counts", "mean": "counts", "max": "counts", "saturated": "pixel"}
NOTHING = (math.nan, math.nan, math.nan, math.nan)
"""Values of a rectangle without a pixel that counts."""


class Area(NamedTuple):
    """The part of a rectangle inside a frame."""

    rows: slice
    columns: slice
    counted: np.ndarray[Any, Any] | None
    """One bool per pixel, true if it counts; `None` if all do."""


def area(rectangle: Rectangle, shape: tuple[int, int], masked: np.ndarray[Any, Any] | None) -> Area | None:
    """Return the part of a rectangle inside a frame; `None` if all of it lies outside.

    Args:
        rectangle: the rectangle, which may reach beyond the frame's edges.
        shape: rows and columns of a frame.
        masked: array of that shape, true for pixels that do not count; `None` if all count.
    """
    if rectangle.x >= shape[1] or rectangle.y >= shape[0]:
        return None
    rows = slice(rectangle.y, min(rectangle.y + rectangle.height, shape[0]))
    columns = slice(rectangle.x, min(rectangle.x + rectangle.width, shape[1]))
    here = None if masked is None else masked[rows, columns]
    return Area(rows, columns, ~here if here is not None and here.any() else None)


def rows_of(areas: Sequence[Area | None]) -> slice:
    """Return the range of rows that contains all areas; empty if there are none."""
    rows = [where.rows for where in areas if where is not None]
    return slice(min((each.start for each in rows), default=0), max((each.stop for each in rows), default=0))


def values(
    image: np.ndarray[Any, Any], where: Area | None, rule: PixelRule, first_row: int = 0
) -> tuple[float, float, float, float]:
    """Return sum, mean and maximum of the pixels that have a value, and the number of saturated ones among
    them; NaN if none has a value.

    Args:
        image: a frame, (rows, cols), or the needed rows of it; not copied if all pixels of the rectangle
            count.
        where: the rectangle's part of the frame; `None` if it lies outside.
        rule: which pixels count.
        first_row: row of the frame with which `image` begins.
    """
    if where is None:
        return NOTHING
    pixels = image[where.rows.start - first_row : where.rows.stop - first_row, where.columns]
    if where.counted is not None:
        pixels = pixels[where.counted]
    if not pixels.size:
        return NOTHING
    saturated, most = 0, pixels.max()
    if not rule.all_good(pixels, float(most)):
        places, flags = rule.beyond(pixels)
        saturated = int(np.count_nonzero(flags == Flag.SATURATED))
        without = flags == Flag.INVALID
        if without.any():
            return _without(pixels, places[without], saturated)
    total = float(pixels.sum(dtype=sum_type(pixels.dtype)))
    return total, total / pixels.size, float(most), float(saturated)


def _without(
    pixels: np.ndarray[Any, Any], places: np.ndarray[Any, Any], saturated: int
) -> tuple[float, float, float, float]:
    """Return the values without the pixels at these places in one line."""
    count = pixels.size - len(places)
    if not count:
        return NOTHING
    if (kind := sum_type(pixels.dtype)) is np.float64:
        counts = np.ones(pixels.size, bool)
        counts[places] = False
        pixels = pixels.ravel()[counts]
        total = float(pixels.sum(dtype=kind))
    else:  # in place of leaving them out, which takes longer, they become the least value
        least = int(np.iinfo(pixels.dtype).min)
        pixels = pixels.flatten()
        pixels[places] = least
        total = float(int(pixels.sum(dtype=kind)) - least * len(places))
    return total, total / count, float(pixels.max()), float(saturated)


def sum_type(dtype: np.dtype[Any]) -> type[np.generic]:
    """Return the type in which pixels are added: integers exactly, which is faster too, if they fit."""
    return {"u": np.uint64, "i": np.int64}.get(dtype.kind, np.float64) if dtype.itemsize <= 4 else np.float64


def unpack(image: Image, blob: Buffer, rows: slice) -> np.ndarray[Any, Any]:
    """Return some rows of a blob, (rows, cols), uncopied if it is plain; only they are unpacked if it is not.

    Args:
        image: header of the frame.
        blob: blob of one image of the frame.
        rows: range of rows within the frame.

    Raises:
        ValueError: the blob cannot be unpacked.
    """
    height, columns = image.shape[-2:]
    kind = pixel_type(image.type)
    if image.compression == "none":
        return np.frombuffer(blob, kind).reshape(height, columns)[rows]
    if (codec := CODECS.get(image.compression)) is not None:
        part = codec.decompress_part(blob, height * columns, kind, rows.start * columns, rows.stop * columns)
        return part.reshape(rows.stop - rows.start, columns)
    raise ValueError(f"regions of interest need plain, bslz4 or lz4 frames, these are {image.compression}")
