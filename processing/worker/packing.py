"""Results of user code as arrays of the wire: one per name and bunch, checked value by value.

A value is first checked, without effect (`Results.check`), and counted once it is certain that the frame is
done (`Results.take`): a failed frame is in no sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from penstock.processing.accumulate import Accumulated, Events, Total, shown
from penstock.processing.describe import NAME
from penstock.processing.pixels import Pixels, Place
from penstock.processing.wire import Array, of_total

NUMBERS = "biuf"
"""Kinds of NumPy types that results can have: bool, integers, floating-point numbers."""
MOST_DIMENSIONS = 30
"""Most dimensions of a value. HDF5 takes 32 (H5S_MAX_RANK): one is that of frames, one that of the two planes
of `Total`."""
MOST_BYTES = 2**31
"""Most bytes of a value, and of one of `Events`."""

Parts: TypeAlias = "tuple[tuple[Array, ...], list[np.ndarray[Any, Any]]]"
"""Descriptions of arrays, and the arrays, in C order and little endian: the raw parts of a message."""


class ResultError(Exception):
    """A result cannot be taken; the sentence names it, and says what it should be."""


class Form(NamedTuple):
    """What all values of a name have in common."""

    kind: str
    """Kind, as in `wire.Array`."""
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    """Shape of one value; of one event."""

    def __str__(self) -> str:
        what = {"value": "", "events": "events of "}.get(self.kind, f"{self.kind} of ")
        return f"{what}{self.dtype} {list(self.shape)}" if self.shape else f"{what}{self.dtype}"


class Checked(NamedTuple):
    """A value that may be taken. It does not hold the pixels of the frame, if it is a view of them."""

    name: str
    form: Form
    value: np.ndarray[Any, Any] | Place
    without: np.ndarray[Any, Any] | None = None
    """Places of elements of an accumulated value that do not count in this frame."""

    def array(self) -> np.ndarray[Any, Any]:
        """Return the value; to be used before the pixels are recycled."""
        return self.value.view() if isinstance(self.value, Place) else self.value


class Rows:
    """Per-frame results of one bunch of n frames."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._values: dict[str, tuple[np.ndarray[Any, Any], list[int]]] = {}
        self._events: dict[str, tuple[Form, list[np.ndarray[Any, Any]], list[int]]] = {}

    def put(self, place: int, checked: Checked) -> None:
        """Copy the value of the frame at a place of the bunch; places come in ascending order."""
        form, value = checked.form, checked.array()
        if form.kind == "events":
            _, arrays, places = self._events.setdefault(checked.name, (form, [], []))
            arrays.append(value.astype(form.dtype, order="C"))
            places.append(place)
            return
        if (found := self._values.get(checked.name)) is None:
            found = self._values[checked.name] = np.empty((self._n, *form.shape), form.dtype), []
        rows, places = found
        rows[len(places)] = value
        places.append(place)

    def packed(self) -> Parts:
        """Return the arrays for `wire.Done`."""
        described, arrays = [], []
        for name, (rows, places) in self._values.items():
            filled = rows[: len(places)]
            at = None if len(places) == self._n else tuple(places)
            described.append(Array(name=name, dtype=filled.dtype.str, shape=filled.shape, places=at))
            arrays.append(filled)
        for name, (form, lists, places) in self._events.items():
            events = np.concatenate(lists)
            at = None if len(places) == self._n else tuple(places)
            counts = tuple(map(len, lists))
            described.append(
                Array(
                    name=name, dtype=form.dtype.str, shape=events.shape, places=at, kind="events",
                    counts=counts,
                )
            )  # fmt: skip
            arrays.append(events)
        return tuple(described), arrays


class Results:
    """What the results of a series have in common, and its accumulated values that are still here."""

    def __init__(self) -> None:
        self._forms: dict[str, Form] = {}
        self._totals: dict[str, Total] = {}

    def check(self, result: Any, pixels: Pixels | None, into: list[Checked], whose: str) -> None:
        """Check what user code has returned for a frame, and add its values to a list.

        Args:
            result: a mapping, or `None`.
            pixels: the frame's, of which values may be views; `None` if they were not used.
            into: the values of the frame's earlier steps.
            whose: class and method, for sentences.

        Raises:
            ResultError: it is something else, or one of its values cannot be taken.
        """
        if result is None:
            return
        if not isinstance(result, Mapping):
            raise ResultError(
                f"{whose} has returned {type(result).__name__}; return a dict of values by name, or None"
            )
        earlier = {other.name for other in into}
        for name, given in result.items():
            if given is None:
                continue
            if name in earlier:
                raise ResultError(
                    f"result {name} is returned by two steps; rename one, or give a step a name (name: in "
                    "the pipeline's file), with which the names of its results begin"
                )
            into.append(self._checked(name, given, pixels))

    def _checked(self, name: Any, given: Any, pixels: Pixels | None) -> Checked:
        known = self._forms.get(name) if type(name) is str else None
        if known is None and (not isinstance(name, str) or not NAME.fullmatch(name)):
            raise ResultError(
                f"result {name!r:.60} needs another name: at most 63 letters, digits, _ and ., the first of "
                "them a letter or _"
            )
        kind, value, without = "value", given, None
        if isinstance(given, Accumulated):
            kind, value, without = given.kind, given.value, given.without
        elif isinstance(given, Events):
            kind, value = "events", given.value
        array = value if isinstance(value, np.ndarray) else _array(name, value)
        if not array.size:
            array = array.copy()  # NumPy does not see that it is a view of the pixels, which it holds
        if array.dtype.kind not in NUMBERS:
            raise ResultError(f"result {name} is {_what(array)}; results are numbers or arrays of numbers")
        if kind == "events" and not array.ndim:
            raise ResultError(f"result {name}: Events takes an array, of shape (n,) or (n, …), not a number")
        array, masked = _unmasked(name, kind, array)
        form = Form(kind, array.dtype.newbyteorder("<"), array.shape[1:] if kind == "events" else array.shape)
        if known is None:
            _check_storable(name, form)
            known = form
        elif form != known and not _fits(form, known, array):
            raise _unlike(name, form, known)
        place = None if pixels is None or not isinstance(value, np.ndarray) else pixels.place(array)
        return Checked(name, known, array if place is None else place, without if masked is None else masked)

    def take(self, values: list[Checked], rows: Rows, place: int) -> bool:
        """Take the values of one frame; return whether one of them was accumulated.

        Args:
            values: what `check` has made of its results.
            rows: of its bunch.
            place: its place in the bunch.

        Raises:
            ResultError: a value is unlike that of another frame of the same batch, and nothing was taken.
        """
        for checked in values:
            known = self._forms.get(checked.name, checked.form)
            if known is not checked.form and known != checked.form:
                raise _unlike(checked.name, checked.form, known)
        has_accumulated = False
        for checked in values:
            self._forms.setdefault(checked.name, checked.form)
            if (kind := checked.form.kind) in ("value", "events"):
                rows.put(place, checked)
                continue
            has_accumulated = True
            if (total := self._totals.get(checked.name)) is None:
                self._totals[checked.name] = Total(kind, checked.array(), without=checked.without)
            else:
                total.add(checked.array(), without=checked.without)
        return has_accumulated

    def hand_over(self) -> Parts:
        """Return the accumulated values for `wire.HandedOver`; the next ones begin anew."""
        totals, self._totals = self._totals, {}
        described = tuple(of_total(name, total) for name, total in totals.items())
        return described, [total.value for total in totals.values()]


def whole(results: Iterable[tuple[str, Any]]) -> Parts:
    """Return what the steps have made of a series as a whole for `wire.Finished`.

    Args:
        results: of each step, with the name of its class.

    Raises:
        ResultError: they cannot be taken.
    """
    found: list[Checked] = []
    for name, result in results:
        Results().check(result, None, found, f"{name}.finish")
    for checked in found:
        if checked.form.kind != "value":
            raise ResultError(f"result {checked.name} of finish is {checked.form}; return numbers and arrays")
    arrays = [np.ascontiguousarray(each.array(), each.form.dtype).reshape(each.form.shape) for each in found]
    described = tuple(
        Array(name=each.name, dtype=each.form.dtype.str, shape=each.form.shape) for each in found
    )
    return described, arrays


def totals(values: Mapping[str, np.ndarray[Any, Any]], described: tuple[Array, ...]) -> dict[str, Any]:
    """Return the totals of `wire.Finish` for the user's `finish`: of a mean, the mean.

    Args:
        values: the arrays of the message by name.
        described: their descriptions.
    """
    return {
        array.name: shown(array.kind, values[array.name], array.n, masked=array.masked) for array in described
    }


def _check_storable(name: str, form: Form) -> None:
    """Check that a result file can have values of this form.

    Raises:
        ResultError: it cannot.
    """
    if form.dtype.itemsize > 8:
        raise ResultError(f"result {name} is {form}; the largest type of results is float64: .astype(float)")
    if len(form.shape) > MOST_DIMENSIONS:
        raise ResultError(
            f"result {name} has {len(form.shape)} dimensions; results have at most {MOST_DIMENSIONS}: "
            ".reshape(…)"
        )
    if (nbytes := prod(form.shape) * form.dtype.itemsize) > MOST_BYTES:
        raise ResultError(f"result {name} is {form}, {nbytes:,} bytes; a result has at most {MOST_BYTES:,}")


def _array(name: str, value: Any) -> np.ndarray[Any, Any]:
    """Return numbers as an array; a list of lists of unlike length is refused."""
    try:
        return np.asarray(value)
    except (ValueError, TypeError, OverflowError) as error:
        raise ResultError(
            f"result {name} is no array of numbers ({error}); values of unlike length are Events"
        ) from error


def _unmasked(
    name: str, kind: str, array: np.ndarray[Any, Any]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any] | None]:
    """Return an array without its mask, and the places of masked elements if it is accumulated; in values
    NaN says the same.

    Raises:
        ResultError: events are masked.
    """
    if not isinstance(array, np.ma.MaskedArray):
        return array, None
    if kind == "events":
        raise ResultError(f"result {name} is a masked array of Events; give those that count: .compressed()")
    if kind != "value":
        return array.data, np.flatnonzero(np.ma.getmaskarray(array))
    # Also where nothing is masked in this frame, so that all values of a name are alike.
    return np.asarray(np.ma.filled(array.astype(_floating(array.dtype)), np.nan)), None


def _floating(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return dtype if dtype.kind == "f" else np.dtype(np.float64)


def _what(array: np.ndarray[Any, Any]) -> str:
    """Return what an array has that are no numbers, in words."""
    if array.dtype.kind == "O" and not array.ndim:
        return f"a {type(array.item()).__name__}"
    return {"U": "text", "S": "bytes"}.get(array.dtype.kind, f"of {array.dtype}")


def _unlike(name: str, form: Form, known: Form) -> ResultError:
    varies = form.kind == known.kind == "value" and form.shape[1:] == known.shape[1:]
    how = "; arrays whose length varies are Events" if varies and form.shape and known.shape else ""
    return ResultError(f"result {name} is {form}; its first value was {known}, and all have to be alike{how}")


def _fits(form: Form, known: Form, array: np.ndarray[Any, Any]) -> bool:
    """Return whether a value can stand among others: a smaller type of the same kind, as Python's 0 among
    floating-point numbers."""
    if form.kind != known.kind or form.shape != known.shape:
        return False
    if known.kind in ("sum", "mean", "max", "min"):
        return True  # the total gets a type that holds both
    if np.can_cast(form.dtype, known.dtype, "safe"):
        return True
    # Python's int is int64: among uint64, say, it fits if it is no negative one.
    is_small = array.ndim == 0 and form.dtype.kind in "iu" and known.dtype.kind in "iuf"
    return bool(is_small and array.astype(known.dtype) == array)
