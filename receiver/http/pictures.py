"""Views of a frame: region, down-sampling, and rendering as a picture. Never on the data path."""

from __future__ import annotations

import io
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import numpy as np

from penstock.receiver.models import Contrast, View
from penstock.stins.texts import plural

JPEG_QUALITY = 90
LEAST_SPAN = 1e-30
"""Smallest range from black to white, for a frame of equal pixels: its inverse fits single precision."""
SAMPLE = 2**18
"""Pixels from which percentiles are computed: more cost time and change no shade."""


class ViewError(ValueError):
    """The frame cannot be shown as requested; the sentence says why."""

    kind, http_status = "no_such_view", 409


def cut(frame: np.ndarray[Any, Any], view: View) -> np.ndarray[Any, Any]:
    """Return the region of a frame, (rows, cols) or (k, rows, cols), down-sampled.

    Raises:
        ViewError: the region lies outside the frame.
    """
    rows, cols = frame.shape[-2:]
    if view.x >= cols or view.y >= rows:
        raise ViewError(
            f"region from x={view.x}, y={view.y}: the frame has {plural(cols, 'column')} and "
            f"{plural(rows, 'row')}"
        )
    bottom = rows if view.height is None else view.y + view.height
    right = cols if view.width is None else view.x + view.width
    region, step = frame[..., view.y : bottom, view.x : right], view.downsample or 1
    if step > 1 and view.method == "nth":
        region = region[..., ::step, ::step]
    elif step > 1 and view.method == "max":
        region = _blocks(np.maximum, region, step)
    elif step > 1:
        # Sums in double precision: 64 x 64 pixels of 32 bits do not fit into less.
        sums = _blocks(np.add, region.astype(np.float64), step)
        weights = np.outer(*(_lengths(length, step) for length in region.shape[-2:]))
        region = (sums / weights).astype(np.float32)
    return np.ascontiguousarray(region)


def picture(
    frame: np.ndarray[Any, Any], contrast: Contrast, format: Literal["png", "jpeg"]
) -> tuple[bytes, float, float]:
    """Return a frame as PNG or JPEG, and the values that are black and white in it.

    Modules or thresholds, (k, rows, cols), are stacked vertically.

    Raises:
        ViewError: the picture cannot be encoded.
    """
    from PIL import Image

    flat = frame.reshape(-1, frame.shape[-1])
    low, high = _limits(flat, contrast)
    image = Image.fromarray(_shades(flat, low, high, contrast.scale))
    if contrast.colormap == "viridis":
        image.putpalette(viridis())
    out = io.BytesIO()
    try:
        if format == "png":
            image.save(out, "PNG", compress_level=1)  # higher levels cost time and gain little on noise
        else:
            image.convert("RGB" if image.mode == "P" else "L").save(out, "JPEG", quality=JPEG_QUALITY)
    except (OSError, ValueError) as error:
        raise ViewError(
            f"an image of {flat.shape[1]} x {flat.shape[0]} cannot be saved as {format}: {error}"
        ) from error
    return out.getvalue(), low, high


@cache
def viridis() -> bytes:
    """Return matplotlib's colour table viridis (CC0): 256 times red, green, blue."""
    return bytes.fromhex(files("penstock.resources").joinpath("viridis.hex").read_text())


def _blocks(operation: np.ufunc, region: np.ndarray[Any, Any], step: int) -> np.ndarray[Any, Any]:
    """Reduce blocks of step x step pixels to one each; blocks at the right and lower edge may be smaller."""
    for axis in (-2, -1):
        region = operation.reduceat(region, np.arange(0, region.shape[axis], step), axis=axis)
    return region


def _lengths(length: int, step: int) -> np.ndarray[Any, Any]:
    return np.minimum(step, length - np.arange(0, length, step))


def _limits(pixels: np.ndarray[Any, Any], contrast: Contrast) -> tuple[float, float]:
    low, high = contrast.low, contrast.high
    if low is None or high is None:
        sample = pixels.reshape(-1)[:: 1 + pixels.size // SAMPLE]
        known = sample[_has_value(sample)].astype(np.float64)
        found = (
            np.percentile(known, (contrast.low_percentile, contrast.high_percentile))
            if known.size
            else (0.0, 1.0)
        )
        low = float(found[0]) if low is None else low
        high = float(found[1]) if high is None else high
    return low, high


def _has_value(pixels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return which pixels count for the contrast: gaps and masked pixels do not."""
    if pixels.dtype.kind == "u":
        return np.asarray(pixels != np.iinfo(pixels.dtype).max)
    return np.asarray(np.isfinite(pixels))


def _shades(pixels: np.ndarray[Any, Any], low: float, high: float, scale: str) -> np.ndarray[Any, Any]:
    span = max(high - low, LEAST_SPAN)
    # Single precision is enough for 256 shades of 16 bits, and half the time.
    kind: type[np.floating[Any]] = np.float32 if pixels.dtype.itemsize <= 2 else np.float64
    part: np.ndarray[Any, Any] = pixels.astype(kind)
    part -= low
    np.nan_to_num(part, copy=False, nan=0.0)
    np.clip(part, 0.0, span, out=part)
    if scale == "log":
        np.log1p(part, out=part)
        span = float(np.log1p(span))
    part *= 255.0 / span
    part += 0.5
    return part.astype(np.uint8)
