"""Views of a frame: region, down-sampling, and rendering as a picture. Never on the data path."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import numpy as np

from penstock.codecs.pixel_type import fill_value
from penstock.receiver.models import Contrast, View
from penstock.receiver.validity.pixels import Flag, PixelRule, greatest_none
from penstock.stins.texts import plural


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


JPEG_QUALITY = 90
LEAST_SPAN = 1e-30
"""Smallest range from black to white, for a frame of equal pixels: its inverse fits single precision."""
CURVE_COLUMNS, CURVE_ROWS = 1024, 256
"""Most columns of a spectrum's curve, and its rows. A short one is drawn with several columns per channel."""
SAMPLE = 2**18
"""Pixels from which percentiles are computed: more cost time and change no shade."""
NO_LIMITS = PixelRule()
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Validity:
    """The pixels of a frame that count."""

    rule: PixelRule = NO_LIMITS
    no_value: Array | None = None
    """Pixels that have no value whatever is stored there, in the shape of the frame; `None`: none."""
    partial: bool = False
    """A part of the frame is missing, and has the fill value of its type."""

    def seen(self, view: View, dtype: np.dtype[Any]) -> Validity:
        """Return the same for what `cut` returns of a frame of this type."""
        step = view.downsample or 1
        if step == 1:
            none, rule = _region(self.no_value, view), self.rule
        elif view.method == "nth":
            none, rule = _region(self.no_value, view), self.rule
            none = None if none is None else none[..., ::step, ::step]
        else:
            none = _region(self.no_value, view)
            none = None if none is None else blocks(np.logical_and, none, step)
            rule = self.rule.of_blocks(dtype) if view.method == "max_valid" else self.rule
        return Validity(rule, none, self.partial)

    def flags(self, pixels: Array, every: int = 1) -> Array:
        """Return one `Flag` for every so many pixels of an array, (n,)."""
        none = None if self.no_value is None else self.no_value.reshape(-1)[::every]
        return self.rule.flags(pixels.reshape(-1)[::every], none, partial=self.partial)


ALL = Validity()


class ViewError(ValueError):
    """The frame cannot be shown as requested; the sentence says why."""

    kind, http_status = "no_such_view", 409


def cut(
    frame: Array,
    view: View,
    interpretation: str = "image",
    validity: Validity | None = ALL,
) -> Array:
    """Return the region of a frame, (rows, cols) or (k, rows, cols), down-sampled.

    Args:
        frame: a frame; (n,) for a spectrum, which is one row, or (rows, cols, 3) for "rgba-image".
        view: the region.
        interpretation: what the frame is.
        validity: which of its pixels have a value, for "max_valid" and "mean"; `None`: all have.

    Raises:
        ViewError: the region lies outside the frame.
    """
    if interpretation == "spectrum":
        return np.asarray(cut(frame[np.newaxis], view, validity=validity)[0])
    if interpretation == "rgba-image":
        if view.method == "max_valid":
            view = replace(view, method="max")  # the greatest value of a colour is a colour
        return np.ascontiguousarray(np.moveaxis(cut(np.moveaxis(frame, -1, 0), view, validity=None), 0, -1))
    rows, cols = frame.shape[-2:]
    if view.x >= cols or view.y >= rows:
        raise ViewError(
            f"region from x={view.x}, y={view.y}: the frame has {plural(cols, 'column')} and "
            f"{plural(rows, 'row')}"
        )
    region, step = _region(frame, view), view.downsample or 1
    if step > 1 and view.method == "nth":
        region = region[..., ::step, ::step]
    elif step > 1 and view.method == "max":
        region = blocks(np.maximum, region, step)
    elif step > 1 and view.method == "max_valid" and validity is not None:
        region = _greatest_values(region, step, replace(validity, no_value=_region(validity.no_value, view)))
    elif step > 1:
        none = None
        if validity is not None:
            seen = replace(validity, no_value=_region(validity.no_value, view))
            none = seen.flags(region).reshape(region.shape) == Flag.INVALID
        region = means(region, step, none)
    return np.ascontiguousarray(region)


def picture(
    frame: Array,
    contrast: Contrast,
    format: Literal["png", "jpeg"],
    interpretation: str = "image",
    validity: Validity = ALL,
) -> tuple[bytes, float, float]:
    """Return a frame as PNG or JPEG, and the values that are black and white in it.

    Modules or thresholds, (k, rows, cols), are stacked vertically. A spectrum, (n,), is drawn as a curve.
    Colours are shown as they are.

    Args:
        frame: the frame.
        contrast: what becomes black and white.
        format: format of the file.
        interpretation: what the frame is.
        validity: which of its pixels are good: of those are the percentiles, and the range of a spectrum.

    Raises:
        ViewError: the picture cannot be encoded.
    """
    from PIL import Image

    if interpretation == "spectrum":
        flat, low, high = curve(frame, contrast, validity)
        image = Image.fromarray(flat)
    elif interpretation == "rgba-image":
        whole = Contrast(low=contrast.low, high=contrast.high, low_percentile=0, high_percentile=100)
        bytes_already = frame.dtype == np.uint8 and contrast.low is None and contrast.high is None
        low, high = (0.0, 255.0) if bytes_already else _limits(frame, whole, ALL)
        flat = _shades(frame, low, high, "lin")
        image = Image.fromarray(flat)
    else:
        flat = frame.reshape(-1, frame.shape[-1])
        low, high = _limits(flat, contrast, validity)
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


def curve(spectrum: Array, contrast: Contrast, validity: Validity = ALL) -> tuple[Array, float, float]:
    """Return a spectrum as a curve on black, (rows, cols), and the values at its lower and upper edge.

    It is one column per channel; of long spectra, one per several channels, which shows their range.

    Args:
        spectrum: the counts, (n,).
        contrast: the lower and upper edge, and whether the scale is logarithmic.
        validity: which channels have a value; the others are drawn at the lower edge.
    """
    values = spectrum.astype(np.float64)
    has_value = validity.flags(spectrum) != Flag.INVALID
    known = values[has_value]
    low = min(0.0, float(known.min())) if known.size else 0.0
    high = float(known.max()) if known.size else 1.0
    low = low if contrast.low is None else contrast.low
    high = high if contrast.high is None else contrast.high
    width = min(len(values), CURVE_COLUMNS)
    edges = np.arange(width) * len(values) // width
    values[~has_value] = low
    shares = [_share(each.reduceat(values, edges), low, high, contrast.scale) for each in (np.fmin, np.fmax)]
    bottom, top = (np.rint(share * (CURVE_ROWS - 1)).astype(int) for share in shares)
    rises, falls = top[:-1].copy(), bottom[:-1].copy()
    bottom[1:], top[1:] = np.minimum(bottom[1:], rises), np.maximum(top[1:], falls)  # neighbours are joined
    height = np.arange(CURVE_ROWS)[::-1, np.newaxis]
    shown = np.where((height >= bottom) & (height <= top), 255, np.where(height < top, 60, 0))
    return np.repeat(shown.astype(np.uint8), max(1, CURVE_COLUMNS // 2 // width), axis=1), low, high


def _share(values: Array, low: float, high: float, scale: str) -> Array:
    span = max(high - low, LEAST_SPAN)
    part = np.clip(values - low, 0.0, span)
    return np.asarray(np.log1p(part) / np.log1p(span) if scale == "log" else part / span)


@cache
def viridis() -> bytes:
    """Return matplotlib's colour table viridis (CC0): 256 times red, green, blue."""
    return bytes.fromhex(files("penstock.resources").joinpath("viridis.hex").read_text())


def _region(image: Array | None, view: View) -> Any:
    """Return the pixels that a view has of an image; `None` of none."""
    if image is None:
        return None
    bottom = None if view.height is None else view.y + view.height
    right = None if view.width is None else view.x + view.width
    return image[..., view.y : bottom, view.x : right]


def _greatest_values(region: Array, step: int, validity: Validity) -> Array:
    """Reduce blocks to the greatest of their pixels that have a value; a block without any becomes
    `greatest_none`.

    Pixels below the underload value take no part in any case: the others are greater.

    Args:
        region: pixels.
        step: rows and columns of a block.
        validity: which of them have a value.
    """
    kind, none, partial = region.dtype.kind, validity.no_value, validity.partial
    none = none if none is not None and none.any() else None
    if partial and kind == "i":
        missing = region == fill_value(region.dtype.name)
        none = missing if none is None else none | missing
    if kind == "u" and (partial or validity.rule.greatest_flag(region.dtype) is Flag.INVALID):
        region = without(region, none)
        # One more than the greatest value is 0, below every count; and the other way round at the end.
        one = region.dtype.type(1)
        return np.asarray(blocks(np.maximum, region + one, step) - one)
    if kind == "f":
        region = without(region, none)
        return blocks(np.fmax, np.where(np.isfinite(region), region, region.dtype.type(np.nan)), step)
    if none is None or kind == "i":
        return blocks(np.maximum, without(region, none), step)
    found = blocks(np.maximum, np.where(none, region.dtype.type(0), region), step)
    found[blocks(np.logical_and, none, step)] = greatest_none(region.dtype)
    return found


def _limits(pixels: Array, contrast: Contrast, validity: Validity) -> tuple[float, float]:
    low, high = contrast.low, contrast.high
    if low is None or high is None:
        every = 1 + pixels.size // SAMPLE
        good = validity.flags(pixels, every) == Flag.GOOD
        values = pixels.reshape(-1)[::every][good].astype(np.float64)
        found = (
            np.percentile(values, (contrast.low_percentile, contrast.high_percentile))
            if values.size
            else (0.0, 1.0)
        )
        low = float(found[0]) if low is None else low
        high = float(found[1]) if high is None else high
    return low, high


def _shades(pixels: Array, low: float, high: float, scale: str) -> Array:
    span = max(high - low, LEAST_SPAN)
    # Single precision is enough for 256 shades of 16 bits, and half the time.
    kind: type[np.floating[Any]] = np.float32 if pixels.dtype.itemsize <= 2 else np.float64
    part: Array = pixels.astype(kind)
    part -= low
    np.nan_to_num(part, copy=False, nan=0.0)
    np.clip(part, 0.0, span, out=part)
    if scale == "log":
        np.log1p(part, out=part)
        span = float(np.log1p(span))
    part *= 255.0 / span
    part += 0.5
    return part.astype(np.uint8)
