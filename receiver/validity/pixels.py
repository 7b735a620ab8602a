"""The rule of pixels that count: a pure function of the value, the type, and what the detector says of its
counts.

A pixel has *no value* where it is masked, in a gap, missing, NaN or infinite, or below the detector's
`underload_value`: it counts nowhere. It is *saturated* at or above `saturation_value`: it counts in sums and
maxima of regions, which say how many there are, and in no curve or image (NeXus: NXdetector).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from penstock.codecs.pixel_type import fill_value

_FINITE = float(np.finfo(np.float64).max)


class Flag(IntEnum):
    """What is wrong with a pixel."""

    GOOD = 0
    INVALID = 1
    """It has no value: a gap, a masked, dead or missing pixel."""
    SATURATED = 2
    """It is at or above what the detector can count."""


class Limits(NamedTuple):
    """A pixel is good if `low` <= value < `high`, and value is not `mark`. NaN and infinity never are."""

    low: float
    high: float
    mark: float
    """NaN, which no pixel equals, if there is none."""


@dataclass(frozen=True)
class PixelRule:
    """The rule of one series, or of one file.

    Args:
        saturation: value from which a pixel is saturated; `None` if the detector does not say.
        underload: value below which a pixel has no value; `None` if there is none. It is 0 for PILATUS,
            which writes -1 into gaps and -2 into bad pixels.
    """

    saturation: float | None = None
    underload: float | None = None

    def greatest_flag(self, dtype: np.dtype[Any]) -> Flag:
        """Return what the greatest value of an unsigned type says of its pixel; GOOD for other types.

        Detectors write it into gaps and dead pixels. With 32 bits or more no exposure reaches it; with 8 and
        16 bits it is also the end of counting, unless the detector says that its counting ends before.
        """
        if dtype.kind != "u":
            return Flag.GOOD
        ends_before = self.saturation is not None and self.saturation < np.iinfo(dtype).max
        return Flag.INVALID if dtype.itemsize > 2 or ends_before else Flag.SATURATED

    def values(self, dtype: np.dtype[Any]) -> tuple[float, float]:
        """Return the least and the greatest value of a type that is one, saturated or not.

        Args:
            dtype: type of the pixels, integer or floating.
        """
        if dtype.kind not in "iu":
            most = float(np.finfo(dtype).max) if dtype.kind == "f" else 1.0
            return max(-most, self.underload if self.underload is not None else -most), most
        info = np.iinfo(dtype)
        least = info.min if self.underload is None else max(info.min, math.ceil(self.underload))
        return least, info.max - (self.greatest_flag(dtype) is Flag.INVALID)

    def flags(
        self, image: npt.NDArray[Any], no_value: npt.NDArray[np.bool_] | None = None, *, partial: bool = False
    ) -> npt.NDArray[np.uint8]:
        """Return one `Flag` per pixel, in the shape of the image.

        Args:
            image: pixels of any integer, floating or boolean type.
            no_value: pixels that have no value whatever is stored there, such as masked ones.
            partial: a part of the frame is missing, and has the fill value of its type.
        """
        found = np.zeros(image.shape, np.uint8)
        kind = image.dtype.kind
        with np.errstate(invalid="ignore", over="ignore"):  # limits may be beyond the type
            if self.saturation is not None:
                found[image >= self.saturation] = Flag.SATURATED
            if kind == "u":
                found[image == np.iinfo(image.dtype).max] = self.greatest_flag(image.dtype)
            elif kind == "f":
                found[~np.isfinite(image)] = Flag.INVALID
            if self.underload is not None:
                found[image < self.underload] = Flag.INVALID
        if partial and kind in "iu":
            found[image == fill_value(image.dtype.name)] = Flag.INVALID
        if no_value is not None:
            found[no_value] = Flag.INVALID
        return found

    def limits(self, dtype: np.dtype[Any], *, partial: bool = False) -> Limits:
        """Return the limits between which pixels are good, for compiled code; masks come in addition.

        Args:
            dtype: type of the pixels.
            partial: as for `flags`.
        """
        low = -_FINITE if self.underload is None else self.underload
        high = math.inf if self.saturation is None else self.saturation
        if dtype.kind == "u":
            high = min(high, float(np.iinfo(dtype).max))
        mark = float(fill_value(dtype.name)) if partial and dtype.kind in "iu" else math.nan
        return Limits(low, high, mark)

    def good(
        self, image: npt.NDArray[Any], no_value: npt.NDArray[np.bool_] | None = None, *, partial: bool = False
    ) -> npt.NDArray[np.bool_] | None:
        """Return which pixels are good, neither without value nor saturated; `None` if all are.

        Args: as for `flags`.
        """
        places = self.not_good(image, partial=partial)
        if no_value is None and not len(places):
            return None
        found = np.ones(image.shape, bool) if no_value is None else ~np.broadcast_to(no_value, image.shape)
        found.reshape(-1)[places] = False
        return found

    def not_good(self, image: npt.NDArray[Any], *, partial: bool = False) -> npt.NDArray[np.int64]:
        """Return the places of the pixels that are not good by their value, in the image as one line.

        Args: as for `flags`.
        """
        # Most frames have no pixel beyond the limits, which their least and greatest value tell faster.
        if not image.size or (not partial and self.all_good(image, float(image.max()))):
            return np.zeros(0, np.int64)
        places, flags = self.beyond(image, partial=partial)
        return np.asarray(places[flags != Flag.GOOD])

    def all_good(self, pixels: npt.NDArray[Any], most: float) -> bool:
        """Return whether all pixels are good, by their greatest value, and by the least where one can be too
        small: this is all that most frames cost.

        Args:
            pixels: at least one.
            most: the greatest of them.
        """
        low, high = _bounds(self, pixels.dtype)  # of NaN, neither comparison is true
        return most < high and (low is None or low <= float(pixels.min()))

    def beyond(
        self, pixels: npt.NDArray[Any], masked: npt.NDArray[Any] | None = None, *, partial: bool = False
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
        """Return the places of the pixels that may not be good, in the pixels as one line, and their flags:
        they are few, so that this is faster than flags of all pixels.

        Args:
            pixels: of any shape.
            masked: places that are left out.
            partial: as for `flags`.
        """
        pixels = pixels.reshape(-1)
        low, high = _bounds(self, pixels.dtype)
        if pixels.dtype.kind == "f":
            found = ~np.isfinite(pixels)
            with np.errstate(invalid="ignore", over="ignore"):
                if self.underload is not None:
                    found |= pixels < low
                if self.saturation is not None:
                    found |= pixels >= high
        else:  # with whole numbers, nothing is converted to floating point
            found = np.zeros(pixels.shape, bool)
            if not math.isinf(high):
                most = np.iinfo(pixels.dtype).max if pixels.dtype.kind == "u" else math.inf
                np.greater_equal(pixels, min(math.ceil(high), most), out=found)
            if low is not None:
                found |= pixels < math.ceil(low)
            if partial and pixels.dtype.kind in "iu":
                found |= pixels == fill_value(pixels.dtype.name)
        if masked is not None:
            found[masked] = False
        places = np.flatnonzero(found)
        return places, self.flags(pixels[places], partial=partial)

    def of_blocks(self, dtype: np.dtype[Any]) -> PixelRule:
        """Return the rule for blocks of pixels that became their greatest value (see `greatest_none`).

        Args:
            dtype: type of the pixels, and of the blocks.
        """
        if dtype.kind != "i":
            return self
        least = math.nextafter(float(np.iinfo(dtype).min), 0.0)
        return replace(self, underload=least if self.underload is None else max(least, self.underload))


@lru_cache(64)
def _bounds(rule: PixelRule, dtype: np.dtype[Any]) -> tuple[float | None, float]:
    """Return the limits of good pixels, low <= value < high; the lower is `None` if no value is below it."""
    low, high, _ = rule.limits(dtype)
    can_be_below = dtype.kind == "f" or (rule.underload is not None and (dtype.kind == "i" or low > 0))
    return low if can_be_below else None, high


def greatest_none(dtype: np.dtype[Any]) -> Any:
    """Return what a block of pixels becomes as their greatest value where none of them has one: the least
    value of a signed type, of which -1 may be a value, else the fill value."""
    return np.iinfo(dtype).min if dtype.kind == "i" else fill_value(dtype.name)


def rule_of(metadata: Mapping[str, Any]) -> PixelRule:
    """Return the rule of a series by the metadata of its start message.

    Args:
        metadata: `saturation_value` counts if it is a number above 0, `underload_value` if it is a number.
    """
    saturation, underload = (_number(metadata.get(f"{name}_value")) for name in ("saturation", "underload"))
    return PixelRule(None if saturation is None or saturation <= 0 else saturation, underload)


def _number(found: Any) -> float | None:
    """Return a finite number."""
    if isinstance(found, bool) or not isinstance(found, (int, float, np.integer, np.floating)):
        return None
    # An int may be greater than any float.
    return float(found) if bool(-1e300 < found < 1e300) else None
