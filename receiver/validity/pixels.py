"""Which pixels count: a pure function of the value, the type, and what the detector says of its counts.

A pixel has *no value* where it is masked, in a gap, missing, NaN or infinite, or below the detector's
`underload_value`: it counts nowhere. It is *saturated* at or above `saturation_value`: it counts in sums and
maxima of regions, which say how many there are, and in no curve or image (NeXus: NXdetector).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from penstock.codecs.fill_value import fill_value

_FINITE = float(np.finfo(np.float64).max)


class Flag(IntEnum):
    """What is wrong with a pixel."""

    GOOD = 0
    INVALID = 1
    """It has no value: a gap, a masked, dead or missing pixel."""
    SATURATED = 2
    """At or above what the detector can count."""


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
        # Most frames have no pixel beyond the limits, which their least and greatest value tell faster.
        if no_value is None and image.size and not partial and self._all_good(image):
            return None
        return np.asarray(self.flags(image, no_value, partial=partial) == Flag.GOOD)

    def of_blocks(self, dtype: np.dtype[Any]) -> PixelRule:
        """Return the rule for blocks of pixels that became their greatest value (see `greatest_none`).

        Args:
            dtype: type of the pixels, and of the blocks.
        """
        if dtype.kind != "i":
            return self
        least = math.nextafter(float(np.iinfo(dtype).min), 0.0)
        return replace(self, underload=least if self.underload is None else max(least, self.underload))

    def _all_good(self, image: npt.NDArray[Any]) -> bool:
        if image.dtype.kind == "b":
            return self.saturation is None and self.underload is None
        low, high, _ = self.limits(image.dtype)
        if image.dtype.kind != "f" and self.underload is None:
            return math.isinf(high) or float(image.max()) < high
        return low <= float(image.min()) and float(image.max()) < high  # of NaN, neither is true


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
