"""Accumulated values of several workers."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.processing.distributor.series.store import Totals, Unlike
from penstock.processing.wire import Array


def array(name: str, kind: str, value: np.ndarray, n: int) -> Array:
    return Array(name=name, kind=kind, dtype=value.dtype.str, shape=value.shape, n=n)  # type: ignore[arg-type]


def test_values_are_added_and_compared() -> None:
    totals = Totals()
    for first in (1, 10):
        value = np.array([first, 2 * first], "<u8")
        kinds = ("sum", "mean", "max", "min")
        totals.add([array(kind, kind, value, 3) for kind in kinds], dict.fromkeys(kinds, value))
    found = dict(zip((each.name for each in totals.arrays), totals.values, strict=True))
    assert {name: value.tolist() for name, value in found.items()} == {
        "sum": [11, 22], "mean": [11, 22], "max": [10, 20], "min": [1, 2],
    }  # fmt: skip
    assert [each.n for each in totals.arrays] == [6] * 4


@pytest.mark.parametrize(
    ("kind", "first", "second", "dtype", "found"),
    [
        ("sum", np.int64(0), np.float64(0.5), "<f8", 0.5),
        ("sum", np.float64(0.5), np.int64(1), "<f8", 1.5),
        ("mean", np.uint64(2), np.float64(0.5), "<f8", 2.5),
        ("sum", np.uint64(3), np.int64(-5), "<i8", -2),
        ("max", np.int64(3), np.float64(2.5), "<f8", 3.0),
        ("min", np.float64(2.5), np.int64(3), "<f8", 2.5),
        ("max", np.uint8(3), np.uint16(700), "<u2", 700),
    ],
)
def test_values_of_unlike_types_get_one_that_holds_both(
    kind: str, first: np.generic, second: np.generic, dtype: str, found: float
) -> None:
    totals = Totals()
    for value in map(np.asarray, (first, second)):
        totals.add([array("a", kind, value, 1)], {"a": value})
    (described,), (value,) = totals.arrays, totals.values
    assert (described.dtype, described.n) == (dtype, 2) and value.dtype == dtype
    assert value == found


def test_what_is_unlike_is_refused_as_a_whole() -> None:
    totals = Totals()
    one = np.ones(3, "<f8")
    totals.add([array("a", "sum", one, 1), array("b", "sum", one, 1)], {"a": one, "b": one})
    two = np.ones(2, "<f8")
    with pytest.raises(Unlike, match=r"result b is sum of float64 \[2\].*\[3\]"):
        totals.add([array("a", "sum", one, 1), array("b", "sum", two, 1)], {"a": one, "b": two})
    assert totals.values[0].tolist() == [1, 1, 1]
