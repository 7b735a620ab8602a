"""Results of user code as arrays of the wire: which are taken, how they are accumulated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock.processing import Events, Max, Mean, Min, Sum, wire
from penstock.processing.accumulate import Total
from penstock.processing.worker.packing import ResultError, Results, Rows, totals, whole


def take(results: Results, rows: Rows, place: int, result: Any) -> bool:
    checked: list[Any] = []
    results.check(result, None, checked, "Spots.process")
    return results.take(checked, rows, place)


def alike(*results: Any) -> list[tuple[str, Any]]:
    """Return results of classes that have one name."""
    return [("Spots", result) for result in results]


def packed(*given: Any) -> dict[str, tuple[wire.Array, np.ndarray]]:
    """Return the arrays of a bunch of frames with these results."""
    results, rows = Results(), Rows(len(given))
    for place, result in enumerate(given):
        take(results, rows, place, result)
    described, arrays = rows.packed()
    values = wire.arrays(described, [array.tobytes() for array in arrays])
    return {each.name: (each, values[each.name]) for each in described}


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ((1, 2), "<i8"), ((1.5, 2), "<f8"), ((True, False), "|b1"), ((np.float32(1), np.float32(2)), "<f4"),
        ((np.uint8(3), np.uint8(4)), "|u1"), ((np.arange(3), np.arange(3)), "<i8"),
        ((np.zeros(2, ">u2"), np.ones(2, ">u2")), "<u2"), (([1.0, 2.0], [3.0, 4.0]), "<f8"),
        ((np.zeros((2, 3), np.float16), np.ones((2, 3), np.float16)), "<f2"), ((np.uint64(1), 2), "<u8"),
    ],
)  # fmt: skip
def test_values_of_several_frames_are_one_array(values: tuple[Any, ...], dtype: str) -> None:
    described, array = packed(*({"a": value} for value in values))["a"]
    assert described.dtype == dtype and described.places is None and described.kind == "value"
    assert np.array_equal(array, np.stack([np.asarray(value) for value in values]))


@pytest.mark.parametrize("kind", [lambda value: value, Events, Sum, Mean, Max])
@pytest.mark.parametrize(
    ("value", "says"),
    [
        (np.ones(3, np.longdouble), r"longdouble|float128|.*\.astype\(float\)"),
        (np.ones((1,) * 32), "has 3[12] dimensions; results have at most 30"),
        (np.ones((1,) * 64), "has 6[34] dimensions; results have at most 30"),
        (np.ones((0, 2**40)), "8,796,093,022,208 bytes; a result has at most"),
    ],
)
def test_what_no_file_can_store_is_refused(kind: Any, value: np.ndarray, says: str) -> None:
    if value.shape[0] == 0 and kind is not Events:
        assert packed({"a": value})["a"][1].shape == (1, 0, 2**40)  # it takes no bytes
        return
    with pytest.raises(ResultError, match=says):
        packed({"a": kind(value)})


def test_frames_without_a_value_are_left_out_by_their_places() -> None:
    found = packed(None, {"a": 1}, {"a": None, "b": 5}, {"a": 3})
    assert found["a"][0].places == (1, 3) and found["a"][1].tolist() == [1, 3]
    assert found["b"][0].places == (2,)


def test_events_of_unlike_length_lie_one_after_the_other() -> None:
    lists = [np.arange(4).reshape(2, 2), np.empty((0, 2), int), np.ones((1, 2), int)]
    described, array = packed(*({"e": Events(each)} for each in lists))["e"]
    assert (described.kind, described.counts, described.places) == ("events", (2, 0, 1), None)
    assert array.tolist() == [[0, 1], [2, 3], [1, 1]]


def test_a_value_is_copied_when_it_is_taken() -> None:
    results, rows, mine = Results(), Rows(2), np.zeros(3)
    for place in range(2):
        mine += 1
        take(results, rows, place, {"a": mine, "sum": Sum(mine), "e": Events(mine)})
    (_, events), arrays = rows.packed()
    assert arrays[0].tolist() == [[1, 1, 1], [2, 2, 2]] and events.counts == (3, 3)
    assert arrays[1].tolist() == [1, 1, 1, 2, 2, 2]
    assert results.hand_over()[1][0].tolist() == [3, 3, 3]


@pytest.mark.parametrize("kind", [Sum, Mean, Max, Min])
def test_accumulated_values_of_unlike_types_get_a_type_that_holds_both(kind: Any) -> None:
    results, rows = Results(), Rows(3)
    for place, value in enumerate((0, 0.5, np.uint8(2))):
        take(results, rows, place, {"a": kind(value)})
    (described,), (value,) = results.hand_over()
    assert (described.dtype, described.n) == ("<f8", 3)
    assert value == {Sum: 2.5, Mean: 2.5, Max: 2, Min: 0}[kind]


@pytest.mark.parametrize(
    ("first", "second", "sentence"),
    [
        (1, 1.5, r"result a is float64; its first value was int64, and all have to be alike"),
        (np.zeros(3), np.zeros(4), r"result a is float64 \[4\]; its first value was float64 \[3\]"),
        (
            np.zeros((0, 2)),
            np.zeros((3, 2)),
            r"result a is float64 \[3, 2\].*alike; arrays whose length varies are Events",
        ),
        (Sum(1), Mean(1), r"result a is mean of int64; its first value was sum of int64"),
        (Sum(1), 1, r"result a is int64; its first value was sum of int64"),
        (Sum(1), Sum([1, 2]), r"result a is sum of int64 \[2\]; its first value was sum of int64"),
        (
            Events([1]),
            Events([[1]]),
            r"result a is events of int64 \[1\]; its first value was events",
        ),
        (np.uint8(1), 256, "result a is int64; its first value was uint8"),
        (np.uint8(1), -1, "result a is int64; its first value was uint8"),
        (1, "text", "result a is text; results are numbers or arrays of numbers"),
        (1, [[1], [1, 2]], "result a is no array of numbers .* values of unlike length are Events"),
        (1, 1j, "result a is of complex128; results are numbers"),
        (1, Events(1), r"result a: Events takes an array, of shape \(n,\) or \(n, …\), not a number"),
        (1, b"text", "result a is bytes; results are numbers"),
        (1, {"b": 1}, "result a is a dict; results are numbers"),
    ],
)
def test_a_value_that_is_unlike_the_first_is_refused_in_a_sentence(
    first: Any, second: Any, sentence: str
) -> None:
    with pytest.raises(ResultError, match=f"^{sentence}"):
        packed({"a": first}, {"a": second})


@pytest.mark.parametrize("name", ["", "a/b", "a b", "1a", ".a", "ä", "a" * 64, 3, ("a",)])
def test_a_name_that_no_file_can_have_is_refused(name: Any) -> None:
    with pytest.raises(ResultError, match="needs another name: at most 63 letters, digits, _ and ."):
        packed({name: 1})


def test_what_is_no_dict_is_refused() -> None:
    with pytest.raises(
        ResultError, match="Spots.process has returned float64; return a dict of values by name"
    ):
        packed(np.float64(3))


def test_a_name_of_two_steps_is_refused() -> None:
    results, checked = Results(), list[Any]()
    results.check({"a": 1}, None, checked, "Spots.process")
    with pytest.raises(ResultError, match="result a is returned by two steps; rename one"):
        results.check({"a": 2}, None, checked, "Spots.process")


def test_a_frame_whose_value_is_refused_adds_nothing_to_others() -> None:
    results, rows = Results(), Rows(2)
    take(results, rows, 0, {"sum": Sum(1), "a": 1})
    with pytest.raises(ResultError):
        take(results, rows, 1, {"sum": Sum(100), "a": "text"})
    assert results.hand_over()[1][0] == 1


@pytest.mark.parametrize(
    ("kind", "values", "dtype", "expected"),
    [
        (Sum, [np.uint16(65535)] * 3, "<u8", 3 * 65535), (Sum, [np.int8(-5)] * 3, "<i8", -15),
        (Sum, [True, True, False], "<u8", 2), (Sum, [0.5, 1, 2], "<f8", 3.5),
        (Mean, [1, 2, 6], "<i8", 9), (Mean, [np.float32(0.5)] * 3, "<f8", 1.5),
        (Max, [np.uint16(3), np.uint16(9), np.uint16(5)], "<u2", 9), (Min, [3, -9, 5], "<i8", -9),
        (Max, [np.nan, 2.0, np.nan], "<f8", 2.0), (Min, [1.0, np.nan, 0.5], "<f8", 0.5),
        (Max, [False, True, False], "|b1", True),
    ],
)  # fmt: skip
def test_values_are_accumulated_over_frames_and_workers(
    kind: Any, values: list[Any], dtype: str, expected: Any
) -> None:
    results, rows = Results(), Rows(3)
    assert all(take(results, rows, place, {"a": kind(value)}) for place, value in enumerate(values))
    (described,), (array,) = results.hand_over()
    assert (described.kind, described.n, described.dtype) == (kind.kind, 3, dtype)
    assert array == expected
    # Another worker's total is added as its frames would have been.
    total = Total(described.kind, array, 3)
    total.add(array, 3)
    assert total.n == 6
    assert total.value == (2 * expected if kind in (Sum, Mean) else expected)
    assert results.hand_over() == ((), [])


def test_a_mean_is_the_sum_by_the_number_of_frames() -> None:
    total = Total("mean", np.array([1, 2], np.uint8))
    total.add(np.array([2, 4], np.uint8))
    assert total.result.tolist() == [1.5, 3.0]
    described = wire.Array(name="m", dtype="<u8", shape=(2,), kind="mean", n=2)
    assert totals({"m": total.value}, (described,))["m"].tolist() == [1.5, 3.0]


def masked(values: list[Any], mask: list[int], dtype: str = "i4") -> Any:
    return np.ma.MaskedArray(np.array(values, dtype), np.array(mask, bool))


def test_masked_elements_of_a_value_are_nan() -> None:
    results, rows = Results(), Rows(2)
    for place, mask in enumerate(([0, 1], [0, 0])):
        take(results, rows, place, {"whole": masked([1, 2], mask), "float": masked([1, 2], mask, "f4")})
    found = dict(zip((each.name for each in rows.packed()[0]), rows.packed()[1], strict=True))
    np.testing.assert_array_equal(found["whole"], [[1, np.nan], [1, 2]])
    np.testing.assert_array_equal(found["float"], [[1, np.nan], [1, 2]])
    assert (found["whole"].dtype, found["float"].dtype) == (np.float64, np.float32)
    with pytest.raises(ResultError, match="result e is a masked array of Events; give those that count"):
        take(results, rows, 0, {"e": Events(masked([1], [1]))})


@pytest.mark.parametrize("dtype", ["i4", "u2", "f4"])
def test_masked_elements_count_in_the_frames_in_which_they_are_not_masked(dtype: str) -> None:
    plain, second = np.array([2, 4, 6], dtype), masked([8, 100, 100], [0, 1, 1], dtype)
    third = masked([5, 100, 100], [0, 1, 0], dtype)
    results, rows = Results(), Rows(3)
    for place, value in enumerate((plain, second, third)):
        take(results, rows, place, {"sum": Sum(value), "mean": Mean(value), "max": Max(value)})
    described, arrays = results.hand_over()
    by_name = dict(zip((each.name for each in described), arrays, strict=True))
    found = totals(by_name, described)
    # Of the three elements 3, 1 and 2 frames count.
    assert found["sum"].tolist() == [15, 4, 106]
    assert found["mean"].tolist() == [5, 4, 53]
    assert found["max"].tolist() == [8, 4, 100]


@pytest.mark.parametrize("first_is_masked", [True, False])
def test_what_workers_have_masked_and_not_masked_is_merged(first_is_masked: bool) -> None:
    workers = [Total("mean", np.array([1, 50]), without=np.array([1])), Total("mean", np.array([3, 7]))]
    one, other = workers if first_is_masked else workers[::-1]

    one.add(other.value, other.n, masked=other.masked)

    assert (one.n, one.result.tolist()) == (2, [2, 7])


def test_an_element_that_is_masked_in_all_frames_is_nan() -> None:
    for kind in ("sum", "mean", "max", "min"):
        total = Total(kind, np.array([1, 50], np.uint8), without=np.array([1]))
        np.testing.assert_array_equal(total.result, [1, np.nan])


@pytest.mark.parametrize(("kind", "expected"), [("max", 200), ("min", 7)])
def test_very_many_frames_in_which_an_element_is_masked_are_counted(kind: str, expected: int) -> None:
    total = Total(kind, np.array([5, 200], np.uint8), without=np.array([1]))
    for _ in range(300):  # more than the type of the pixels holds
        total.add(np.array([5, 200], np.uint8), without=np.array([1, 1]))
    total.add(np.array([5, expected], np.uint8))
    assert (total.n, total.result.tolist()) == (302, [5, expected])


def test_results_of_a_whole_series_are_numbers_and_arrays() -> None:
    described, arrays = whole(alike({"a": 1.5, "none": None}, None, {"image": np.arange(6).reshape(2, 3).T}))
    assert [(each.name, each.shape) for each in described] == [("a", ()), ("image", (3, 2))]
    values = wire.arrays(described, [array.tobytes() for array in arrays])
    assert values["a"] == 1.5 and values["image"].tolist() == [[0, 3], [1, 4], [2, 5]]
    with pytest.raises(ResultError, match="result a is returned by two steps"):
        whole(alike({"a": 1}, {"a": 2}))
    with pytest.raises(ResultError, match="result a of finish is sum of int64; return numbers and arrays"):
        whole(alike({"a": Sum(1)}))
    with pytest.raises(ResultError, match="Spots.finish has returned int; return a dict of values by name"):
        whole(alike(1))


@pytest.mark.parametrize(
    ("values", "dtype", "total"),
    [
        ([np.uint64(2**63), np.uint64(2**63 - 1)], "<u8", 2**64 - 1),
        ([np.uint64(2**63), np.uint64(2**63)], "<f8", 2.0**64),
        ([np.int64(2**62)] * 2, "<f8", 2.0**63),
        ([np.int64(-(2**62))] * 3, "<f8", -3 * 2.0**62),
        ([np.int64(2**61), np.int64(-(2**61)), np.int64(5)], "<i8", 5),
        ([np.uint64(2**63), np.int64(-1)], "<f8", 2.0**63 - 1),
        ([np.uint8(255)] * 3, "<u8", 765),
    ],
)
def test_a_sum_that_64_bits_do_not_hold_is_a_floating_point_number(
    values: list[Any], dtype: str, total: float
) -> None:
    made = Total("sum", np.asarray(values[0]))
    for value in values[1:]:
        made.add(np.asarray(value))
    assert (made.value.dtype.str, made.value.item()) == (dtype, total)
    merged = Total("sum", np.asarray(values[0]))  # what another worker has accumulated
    for value in values[1:]:
        other = Total("sum", np.asarray(value))
        merged.add(other.value, other.n)
    assert (merged.value.dtype.str, merged.value.item()) == (dtype, total)
