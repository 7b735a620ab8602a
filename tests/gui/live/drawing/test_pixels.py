"""Which pixels of a frame have a value, each counted by hand; the rule itself: tests/receiver/validity."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock.gui.live.drawing.pixels import flags_of, flags_of_numbers, not_sent, outside
from penstock.receiver.client import LastFrame
from penstock.receiver.validity.pixels import Flag

GOOD, NO_VALUE, SATURATED = Flag.GOOD, Flag.INVALID, Flag.SATURATED


def frame(pixels: list[Any], dtype: str, **known: Any) -> LastFrame:
    return LastFrame(np.array([pixels], dtype), 0, "s", 1, **{"downsample": 1, **known})


@pytest.mark.parametrize(
    ("pixels", "dtype", "known", "expected"),
    [
        ([-2, -1, 0], "int32", {}, [GOOD, GOOD, GOOD]),
        ([-2, -1, 0], "int32", {"underload": 0.0}, [NO_VALUE, NO_VALUE, GOOD]),
        ([-2, -1, 0], "int32", {"status": "partial"}, [GOOD, NO_VALUE, GOOD]),
        ([-0.5, np.nan, np.inf], "float32", {}, [GOOD, NO_VALUE, NO_VALUE]),
        ([9, 10, 65535], "uint16", {}, [GOOD, GOOD, SATURATED]),
        ([9, 10, 65535], "uint16", {"saturation": 10.0}, [GOOD, SATURATED, NO_VALUE]),
        ([9, 10, 65535], "uint16", {"status": "partial"}, [GOOD, GOOD, NO_VALUE]),
        ([9, 10, 2**32 - 1], "uint32", {}, [GOOD, GOOD, NO_VALUE]),
        # Blocks, of which none of the pixels has a value in the first.
        ([-(2**15), -1, 7], "int16", {"downsample": 2, "method": "max_valid"}, [NO_VALUE, GOOD, GOOD]),
        ([-(2**63), -1, 7], "int64", {"downsample": 2, "method": "max_valid"}, [NO_VALUE, GOOD, GOOD]),
        ([-(2**15), -1, 7], "int16", {}, [GOOD, GOOD, GOOD]),
    ],
)
def test_a_frame_brings_the_rule_of_its_pixels(
    pixels: list[Any], dtype: str, known: dict[str, Any], expected: list[Flag]
) -> None:
    one = frame(pixels, dtype, **known)
    assert flags_of(one, one.array)[0].tolist() == expected


def test_of_what_was_computed_all_finite_numbers_are_good() -> None:
    values = np.array([[-3.0, np.nan, np.inf, 0.0]], np.float32)
    assert flags_of_numbers(values)[0].tolist() == [GOOD, NO_VALUE, NO_VALUE, GOOD]
    assert not flags_of_numbers(np.array([[-1, 255]], np.int16)).any()
    assert not flags_of_numbers(np.array([[0, 255]], np.uint8)).any()


def test_gaps_that_are_known_have_no_value_and_what_a_module_counts_to_its_end_is_saturated() -> None:
    one = LastFrame(np.full((4, 3), 2**16 - 1, np.uint16), 0, "s", 1, 1, modules=((0, 0, 1, 3), (3, 0, 1, 3)))
    one.array[0] = 7

    found = flags_of(one, one.array, not_sent(one, (4, 3)))

    assert found[0].tolist() == [GOOD] * 3
    assert (found[1:3] == NO_VALUE).all()
    assert found[3].tolist() == [SATURATED] * 3


def test_what_a_file_says_is_missing_was_not_sent() -> None:
    missing = np.array([[[False, True]], [[False, False]]])
    one = LastFrame(np.zeros((2, 1, 2), np.uint16), 0, "s", 1, 1, status="partial", missing=missing)
    found = not_sent(one, (2, 2))
    assert found is not None and found.tolist() == [[False, True], [False, False]]


@pytest.mark.parametrize(("x", "y", "step"), [(0, 0, 1), (0, 0, 2), (3, 2, 1), (2, 5, 3), (13, 7, 4)])
def test_what_is_outside_follows_region_and_down_sampling(x: int, y: int, step: int) -> None:
    whole = np.ones((40, 30), np.bool_)
    modules = [(1, 0, 9, 13), (1, 17, 9, 13), (30, 5, 10, 20)]
    for row, column, rows, columns in modules:
        whole[row : row + rows, column : column + columns] = False
    seen = whole[y::step, x::step]

    assert np.array_equal(outside(seen.shape, modules, x, y, step), seen)


def test_a_block_with_one_pixel_of_a_module_is_of_it() -> None:
    found = outside((3, 4), [(3, 5, 4, 6)], step=4, blocks=True)
    # Rows 3 to 6 and columns 5 to 10: of blocks the first two rows, and the second and third column.
    assert found.tolist() == [[True, False, False, True]] * 2 + [[True] * 4]
