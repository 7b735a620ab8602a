"""Values that a processor returns by kind: accumulated over frames and workers, or events.

Everything else that a processor returns is a value per frame.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt


class Accumulated:
    """A value that is accumulated over all frames of a series, in all workers.

    A frame that has no value under this name does not count; a failed frame neither.

    Args:
        value: number or array of numbers, of the same shape in every frame. It may be `frame.pixels`, or a
            view of them.
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
        value: the value of the first frame; it is copied.
        n: number of frames in it.
    """

    def __init__(self, kind: str, value: np.ndarray[Any, Any], n: int = 1) -> None:
        self.kind = kind
        self.n = n
        self.value: np.ndarray[Any, Any] = np.array(value, total_type(kind, value.dtype), order="C")
        """The sum, of a mean too; or the greatest or least values."""

    def add(self, value: np.ndarray[Any, Any], n: int = 1) -> None:
        """Take the value of one more frame, or that of n which another worker has accumulated.

        Args:
            value: of the same shape. If the total's type cannot hold it, the total gets one that can: an
                integer and a floating-point number become float64.
        """
        dtype = merged_type(self.kind, self.value.dtype, value.dtype)
        if dtype != self.value.dtype:
            self.value = self.value.astype(dtype)
        if self.kind in ("sum", "mean"):
            np.add(self.value, value, out=self.value, casting="unsafe", dtype=self.value.dtype)
        else:
            greater = np.fmax if self.kind == "max" else np.fmin
            greater(self.value, value, out=self.value, casting="unsafe", dtype=self.value.dtype)
        self.n += n

    @property
    def result(self) -> np.ndarray[Any, Any]:
        """What it is for the user: a mean is float64."""
        return np.asarray(self.value / self.n) if self.kind == "mean" else self.value


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
