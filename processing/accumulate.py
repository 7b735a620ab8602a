"""Values that a processor returns by kind: accumulated over frames and workers, or events.

Everything else that a processor returns is a value per frame.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt


class Accumulated:
    """A value that is accumulated over all frames of a series, in all workers.

    A frame that has no value under this name does not count; a failed frame neither. Of a masked array
    (`np.ma.MaskedArray`) each element counts in the frames in which it is not masked; one that never counts
    is NaN, and the result is float64.

    Args:
        value: number or array of numbers, of the same shape in every frame. It may be `frame.pixels`, or a
            view of them, and a masked array of these.
    """

    __slots__ = ("value",)
    kind: ClassVar[str] = ""

    def __init__(self, value: npt.ArrayLike) -> None:
        self.value = value


class Sum(Accumulated):
    """The sum over the frames: uint64 or int64 of integers, exact; float64 as soon as one of the values is a
    floating-point number."""

    __slots__ = ()
    kind = "sum"


class Mean(Accumulated):
    """The mean over the frames that have a value, float64; made from their sum, see `Sum`."""

    __slots__ = ()
    kind = "mean"


class Max(Accumulated):
    """The greatest value over the frames, element by element, of the value's type; NaN does not count."""

    __slots__ = ()
    kind = "max"


class Min(Accumulated):
    """The least value over the frames, element by element, of the value's type; NaN does not count."""

    __slots__ = ()
    kind = "min"


class Events:
    """Events of one frame: any number of them, none too.

    Args:
        events: array of shape (n,) or (n, …), n the number of events; all but n is the same in every frame.
    """

    __slots__ = ("value",)

    def __init__(self, events: npt.ArrayLike) -> None:
        self.value = events


_SUMS = {"b": np.dtype("<u8"), "u": np.dtype("<u8"), "i": np.dtype("<i8"), "f": np.dtype("<f8")}
"""Type of a sum by the kind of the type of what is added."""


class Total:
    """A value that is being accumulated.

    Args:
        kind: "sum", "mean", "max" or "min".
        value: the value of the first frame; it is copied. It may be a masked array of a sum or mean.
        n: number of frames in it.
        masked: `value` is the `value` of another total that is `masked`.
    """

    def __init__(self, kind: str, value: np.ndarray[Any, Any], n: int = 1, *, masked: bool = False) -> None:
        self.kind = kind
        self.n = n
        self.masked = masked
        """Whether elements were masked in some frames: then `value` has two planes, (2, …): the sum, and in
        how many of the frames each element was masked."""
        is_masked = isinstance(value, np.ma.MaskedArray)
        first = np.zeros(value.shape, value.dtype) if is_masked else value
        self.value: np.ndarray[Any, Any] = np.array(first, total_type(kind, value.dtype), order="C")
        """The sum, of a mean too; or the greatest or least values."""
        if isinstance(value, np.ma.MaskedArray):
            self.n = 0
            self.add(value, n)

    def add(self, value: np.ndarray[Any, Any], n: int = 1, *, masked: bool = False) -> None:
        """Take the value of one more frame, or that of n which another worker has accumulated.

        Args:
            value: of the same shape. If the total's type cannot hold it, the total gets one that can: an
                integer and a floating-point number become float64. It may be a masked array of a sum or mean.
            n: number of frames in it.
            masked: it is the `value` of another total that is `masked`.
        """
        dtype = merged_type(self.kind, self.value.dtype, value.dtype)
        if dtype != self.value.dtype:
            self.value = self.value.astype(dtype)
        if isinstance(value, np.ma.MaskedArray):
            self._add_masked(value.data, np.ma.getmaskarray(value))
        elif self.kind in ("sum", "mean"):
            if masked:
                self._have_planes()
            sums = self.value[0, ...] if self.masked and not masked else self.value
            np.add(sums, value, out=sums, casting="unsafe", dtype=self.value.dtype)
        else:
            greater = np.fmax if self.kind == "max" else np.fmin
            greater(self.value, value, out=self.value, casting="unsafe", dtype=self.value.dtype)
        self.n += n

    def _have_planes(self) -> None:
        if not self.masked:
            self.value, self.masked = np.stack([self.value, np.zeros_like(self.value)]), True

    def _add_masked(self, data: np.ndarray[Any, Any], mask: np.ndarray[Any, Any]) -> None:
        self._have_planes()
        sums, lacking = self.value[0, ...], self.value[1, ...]
        # Few elements are masked: it is faster to take them off integers than to leave them out.
        if data.dtype.kind == "f" or self.value.dtype.kind == "f":
            data = np.where(mask, data.dtype.type(0), data)
        np.add(sums, data, out=sums, casting="unsafe", dtype=self.value.dtype)
        places = np.flatnonzero(mask)
        if data.dtype.kind != "f" and self.value.dtype.kind != "f":
            sums.reshape(-1)[places] -= data.reshape(-1)[places].astype(self.value.dtype)
        lacking.reshape(-1)[places] += 1

    @property
    def result(self) -> np.ndarray[Any, Any]:
        """What it is for the user, see `shown`."""
        return shown(self.kind, self.value, self.n, masked=self.masked)


def shown(kind: str, value: np.ndarray[Any, Any], n: int, *, masked: bool) -> np.ndarray[Any, Any]:
    """Return what the value of a total is for the user: a mean and what was masked are float64.

    Args:
        kind: of the total, and so the following.
        value: a mean's sum; of a masked total with its second plane.
        n: number of frames.
        masked: whether it has one.

    Returns:
        The value; NaN where an element was masked in all frames.
    """
    if not masked:
        if kind != "mean":
            return value
        return np.asarray(value / n if n else np.full(value.shape, np.nan), "<f8")
    counted = n - value[1].astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        if kind == "mean":
            return np.asarray(value[0] / counted, "<f8")  # 0 / 0 is NaN
        return np.where(counted > 0, value[0], np.nan).astype("<f8")


def shown_form(
    kind: str, dtype: str, shape: tuple[int, ...], *, masked: bool
) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Return type and shape of what `shown` returns for a value of such a type and shape."""
    return np.dtype("<f8" if masked or kind == "mean" else dtype), shape[1:] if masked else shape


def merged_type(kind: str, total: np.dtype[Any], value: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type of a total that takes a value of another type."""
    if total == value:
        return total
    if kind not in ("sum", "mean"):
        return np.result_type(total, value).newbyteorder("<")
    other = _SUMS[value.kind]
    if other == total:
        return total
    return _SUMS["f" if "f" in (total.kind, other.kind) else "i"]


def total_type(kind: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type in which values of a type are accumulated, little endian."""
    if kind in ("sum", "mean"):
        return _SUMS[dtype.kind]
    return dtype.newbyteorder("<")
