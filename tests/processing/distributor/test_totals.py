"""Accumulated values of several workers."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.processing.distributor.totals import Totals, Unlike
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


def test_what_is_unlike_is_refused_as_a_whole() -> None:
    totals = Totals()
    one = np.ones(3, "<f8")
    totals.add([array("a", "sum", one, 1), array("b", "sum", one, 1)], {"a": one, "b": one})
    two = np.ones(2, "<f8")
    with pytest.raises(Unlike, match=r"result b is sum of float64 \[2\].*\[3\]"):
        totals.add([array("a", "sum", one, 1), array("b", "sum", two, 1)], {"a": one, "b": two})
    assert totals.values[0].tolist() == [1, 1, 1]
