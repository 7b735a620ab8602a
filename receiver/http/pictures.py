"""Views of a frame: region, down-sampling, and rendering as a picture. Never on the data path."""

from __future__ import annotations

import io
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import numpy as np

from penstock.codecs.fill_value import fill_value
from penstock.receiver.models import Contrast, View
from penstock.stins.texts import plural

JPEG_QUALITY = 90
LEAST_SPAN = 1e-30
"""Smallest range from black to white, for a frame of equal pixels: its inverse fits single precision."""
CURVE_COLUMNS, CURVE_ROWS = 1024, 256
"""Most columns of a spectrum's curve, and its rows. A short one is drawn with several columns per channel."""
SAMPLE = 2**18
"""Pixels from which percentiles are computed: more cost time and change no shade."""


class ViewError(ValueError):
    """The frame cannot be shown as requested; the sentence says why."""

    kind, http_status = "no_such_view", 409


def cut(
    frame: np.ndarray[Any, Any],
    view: View,
    interpretation: str = "image",
    mask: np.ndarray[Any, Any] | None = None,
) -> np.ndarray[Any, Any]:
    """Return the region of a frame, (rows, cols) or (k, rows, cols), down-sampled.

    Args:
        frame: a frame; (n,) for a spectrum, which is one row, or (rows, cols, 3) for "rgba-image".
        view: the region.
        interpretation: what the frame is.
        mask: which pixels of an image have no count, for "max_valid", in the shape of the frame.

    Raises:
        ViewError: the region lies outside the frame.
    """
    if interpretation == "spectrum":
        return np.asarray(cut(frame[np.newaxis], view)[0])
    if interpretation == "rgba-image":
        if view.method == "max_valid":
            view = replace(view, method="max")  # the greatest value of a colour is a colour
        return np.ascontiguousarray(np.moveaxis(cut(np.moveaxis(frame, -1, 0), view), 0, -1))
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
    elif step > 1 and view.method == "max_valid":
        bad = None if mask is None else mask[..., view.y : bottom, view.x : right]
        region = _greatest_counts(region, step, bad)
    elif step > 1:
        # Sums in double precision: 64 x 64 pixels of 32 bits do not fit into less.
        sums = _blocks(np.add, region.astype(np.float64), step)
        weights = np.outer(*(_lengths(length, step) for length in region.shape[-2:]))
        region = (sums / weights).astype(np.float32)
    return np.ascontiguousarray(region)


def picture(
    frame: np.ndarray[Any, Any],
    contrast: Contrast,
    format: Literal["png", "jpeg"],
    interpretation: str = "image",
) -> tuple[bytes, float, float]:
    """Return a frame as PNG or JPEG, and the values that are black and white in it.

    Modules or thresholds, (k, rows, cols), are stacked vertically. A spectrum, (n,), is drawn as a curve.
    Colours are shown as they are.

    Raises:
        ViewError: the picture cannot be encoded.
    """
    from PIL import Image

    if interpretation == "spectrum":
        flat, low, high = curve(frame, contrast)
        image = Image.fromarray(flat)
    elif interpretation == "rgba-image":
        whole = Contrast(low=contrast.low, high=contrast.high, low_percentile=0, high_percentile=100)
        bytes_already = frame.dtype == np.uint8 and contrast.low is None and contrast.high is None
        low, high = (0.0, 255.0) if bytes_already else _limits(frame, whole)
        flat = _shades(frame, low, high, "lin")
        image = Image.fromarray(flat)
    else:
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
            image.convert("L" if image.mode == "L" else "RGB").save(out, "JPEG", quality=JPEG_QUALITY)
    except (OSError, ValueError) as error:
        raise ViewError(
            f"an image of {flat.shape[1]} x {flat.shape[0]} cannot be saved as {format}: {error}"
        ) from error
    return out.getvalue(), low, high


def curve(spectrum: np.ndarray[Any, Any], contrast: Contrast) -> tuple[np.ndarray[Any, Any], float, float]:
    """Return a spectrum as a curve on black, (rows, cols), and the values at its lower and upper edge.

    It is one column per channel; of long spectra, one per several channels, which shows their range.
    """
    values = spectrum.astype(np.float64)
    known = values[_has_value(spectrum)]
    low = min(0.0, float(known.min())) if known.size else 0.0
    high = float(known.max()) if known.size else 1.0
    low = low if contrast.low is None else contrast.low
    high = high if contrast.high is None else contrast.high
    width = min(len(values), CURVE_COLUMNS)
    edges = np.arange(width) * len(values) // width
    values[~_has_value(spectrum)] = low
    shares = [_share(each.reduceat(values, edges), low, high, contrast.scale) for each in (np.fmin, np.fmax)]
    bottom, top = (np.rint(share * (CURVE_ROWS - 1)).astype(int) for share in shares)
    rises, falls = top[:-1].copy(), bottom[:-1].copy()
    bottom[1:], top[1:] = np.minimum(bottom[1:], rises), np.maximum(top[1:], falls)  # neighbours are joined
    height = np.arange(CURVE_ROWS)[::-1, np.newaxis]
    shown = np.where((height >= bottom) & (height <= top), 255, np.where(height < top, 60, 0))
    return np.repeat(shown.astype(np.uint8), max(1, CURVE_COLUMNS // 2 // width), axis=1), low, high


def _share(values: np.ndarray[Any, Any], low: float, high: float, scale: str) -> np.ndarray[Any, Any]:
    span = max(high - low, LEAST_SPAN)
    part = np.clip(values - low, 0.0, span)
    return np.asarray(np.log1p(part) / np.log1p(span) if scale == "log" else part / span)


@cache
def viridis() -> bytes:
    """Return matplotlib's colour table viridis (CC0): 256 times red, green, blue."""
    return bytes.fromhex(files("penstock.resources").joinpath("viridis.hex").read_text())


def _blocks(operation: np.ufunc, region: np.ndarray[Any, Any], step: int) -> np.ndarray[Any, Any]:
    """Reduce blocks of step x step pixels to one each; blocks at the right and lower edge may be smaller."""
    for axis in (-2, -1):
        region = operation.reduceat(region, np.arange(0, region.shape[axis], step), axis=axis)
    return region


def _greatest_counts(
    region: np.ndarray[Any, Any], step: int, bad: np.ndarray[Any, Any] | None = None
) -> np.ndarray[Any, Any]:
    """Reduce blocks to the greatest of their pixels that have a count (see `_has_value`) and are not `bad`.

    A block without any becomes what says so: the type's greatest value, or NaN. Negative values, which stand
    for it in signed and in floating frames, are above no count anyway.
    """
    if bad is not None and bad.any():
        region = region.copy()
        region[bad] = fill_value(region.dtype.name)
    if region.dtype.kind == "u":
        # One more than the greatest value is 0, below every count; and the other way round at the end.
        one = region.dtype.type(1)
        return np.asarray(_blocks(np.maximum, region + one, step) - one)
    if region.dtype.kind == "f":
        return _blocks(np.fmax, np.where(np.isfinite(region), region, region.dtype.type(np.nan)), step)
    return _blocks(np.maximum, region, step)


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
