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
        without: places of elements that do not count in this frame, in the array as one line, as in a masked
            array: where they are few, this is faster.
    """

    __slots__ = ("value", "without")
    kind: ClassVar[str] = ""

    def __init__(self, value: npt.ArrayLike, without: npt.NDArray[np.integer[Any]] | None = None) -> None:
        self.value = value
        self.without = without


class Sum(Accumulated):
    """The sum over the frames: uint64 or int64 of integers, exact; float64 as soon as one of the values is a
    floating-point number, or 64 bits might not hold the sum."""

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
        without: as for `add`, and so the following.
        masked: `value` is the `value` of another total that is `masked`.
    """

    def __init__(
        self, kind: str, value: np.ndarray[Any, Any], n: int = 1, *,
        without: np.ndarray[Any, Any] | None = None, masked: bool = False,
    ) -> None:  # fmt: skip
        self.kind = kind
        self.n = n
        self.masked = masked
        """True if elements did not count in some frames: then `value` has two planes, (2, …): what was
        accumulated, and in how many of the frames each element did not count."""
        self.value: np.ndarray[Any, Any] = np.array(value, total_type(kind, value.dtype), order="C")
        """The sum, of a mean too; or the greatest or least values."""
        self._bound = _bound(value, n)
        """Bound of a sum of integers: no element is above it, with or without its sign."""
        if without is not None:
            self._have_planes()
            self.value[0].reshape(-1)[without] = _nothing(kind, self.value.dtype)
            self.value[1].reshape(-1)[without] = 1

    def add(
        self, value: np.ndarray[Any, Any], n: int = 1, *, without: np.ndarray[Any, Any] | None = None,
        masked: bool = False,
    ) -> None:  # fmt: skip
        """Take the value of one more frame, or that of n which another worker has accumulated.

        Args:
            value: of the same shape. If the total's type cannot hold it, the total gets one that can: an
                integer and a floating-point number become float64.
            n: number of frames in it.
            without: places of elements that do not count in it, in the value as one line.
            masked: it is the `value` of another total that is `masked`.
        """
        if masked or without is not None:
            self._have_planes()
        dtype = self._wide_enough(merged_type(self.kind, self.value.dtype, value.dtype), value, n)
        if dtype != self.value.dtype:
            self.value = self.value.astype(dtype)
        total = self.value[0] if self.masked else self.value
        # Few elements do not count: it is faster to put them back than to leave them out.
        before = None if without is None else total.reshape(-1)[without]
        operation = {"max": np.fmax, "min": np.fmin}.get(self.kind, np.add)
        total = total[...]  # an array, also of a number
        operation(total, value[0] if masked else value, out=total, casting="unsafe", dtype=dtype)
        if masked:
            self.value[1] += value[1].astype(dtype)
        if without is not None:
            total.reshape(-1)[without] = before
            self.value[1].reshape(-1)[without] += 1
        self.n += n

    def _wide_enough(self, dtype: np.dtype[Any], value: np.ndarray[Any, Any], n: int) -> np.dtype[Any]:
        """Return a type for the sum with another value: float64 where 64 bits might not hold it."""
        if self.kind not in ("sum", "mean") or dtype.kind == "f":
            return dtype
        more, most = _bound(value, n), np.iinfo(dtype).max
        self._bound += more
        if self._bound > most:  # perhaps only since no frame has had values as large as its type allows
            self._bound = _largest(self.value) + more
        return dtype if self._bound <= most else _SUMS["f"]

    def _have_planes(self) -> None:
        if not self.masked:
            planes = np.zeros((2, *self.value.shape), _counting_type(self.value.dtype))
            planes[0] = self.value
            self.value, self.masked = planes, True

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


def _bound(value: np.ndarray[Any, Any], n: int) -> int:
    """Return what no element of a sum of n such values is above, with or without its sign; 0 of
    floating-point numbers."""
    if value.dtype.kind not in "iu":
        return n
    return _largest(value) if value.dtype.itemsize == 8 else n << 8 * value.dtype.itemsize


def _largest(value: np.ndarray[Any, Any]) -> int:
    return max(abs(int(value.max())), abs(int(value.min()))) if value.size else 0


def _nothing(kind: str, dtype: np.dtype[Any]) -> Any:
    """Return the value of an element that has not counted yet: that which changes nothing."""
    if kind in ("sum", "mean"):
        return 0
    limits = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    return limits.min if kind == "max" else limits.max


def _counting_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return a type of at least this one that also counts frames."""
    if dtype.kind == "f":
        return _SUMS["f"]
    return np.result_type(dtype, np.uint32 if dtype.kind in "bu" else np.int32).newbyteorder("<")


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
