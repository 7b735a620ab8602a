"""Which pixels carry no count."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.gui.live.pixels import Flag, flags, outside


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_negative_pixels_of_signed_images_are_invalid(dtype: str) -> None:
    image = np.array([[-2, -1, 0, 1, 100]], dtype)

    assert flags(image).tolist() == [[Flag.INVALID, Flag.INVALID, Flag.GOOD, Flag.GOOD, Flag.GOOD]]


def test_nan_and_negative_pixels_of_floating_images_are_invalid() -> None:
    image = np.array([[np.nan, -0.5, np.inf, 0.0, 2.5]], np.float32)

    assert flags(image).tolist() == [[Flag.INVALID] * 3 + [Flag.GOOD] * 2]


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("uint8", Flag.SATURATED),
        ("uint16", Flag.SATURATED),
        ("uint32", Flag.INVALID),
        ("uint64", Flag.INVALID),
    ],
)
def test_greatest_value_of_unsigned_images_is_flagged(dtype: str, expected: Flag) -> None:
    image = np.array([[0, 1, np.iinfo(dtype).max]], dtype)

    assert flags(image).tolist() == [[Flag.GOOD, Flag.GOOD, expected]]


def test_pixels_from_the_saturation_value_on_are_saturated_and_masked_ones_stay_invalid() -> None:
    image = np.array([[99, 100, 101, 2**32 - 1]], np.uint32)

    assert flags(image, saturation=100).tolist() == [
        [Flag.GOOD, Flag.SATURATED, Flag.SATURATED, Flag.INVALID]
    ]


@pytest.mark.parametrize(("saturation", "expected"), [(60_000, Flag.INVALID), (65_535, Flag.SATURATED)])
def test_where_counting_ends_before_the_greatest_value_that_value_is_no_count(
    saturation: float, expected: Flag
) -> None:
    image = np.array([[1, 60_001, 2**16 - 1]], np.uint16)

    assert flags(image, saturation)[0, 2] == expected


def test_gaps_that_are_known_are_invalid_and_what_a_module_counts_to_its_end_is_saturated() -> None:
    image = np.full((4, 3), 2**16 - 1, np.uint16)
    image[0] = 7

    found = flags(image, gaps=outside((4, 3), [(0, 0, 1, 3), (3, 0, 1, 3)]))

    assert found[0].tolist() == [Flag.GOOD] * 3
    assert (found[1:3] == Flag.INVALID).all()
    assert found[3].tolist() == [Flag.SATURATED] * 3


@pytest.mark.parametrize(("x", "y", "step"), [(0, 0, 1), (0, 0, 2), (3, 2, 1), (2, 5, 3), (13, 7, 4)])
def test_what_is_outside_follows_region_and_down_sampling(x: int, y: int, step: int) -> None:
    whole = np.ones((40, 30), np.bool_)
    modules = [(1, 0, 9, 13), (1, 17, 9, 13), (30, 5, 10, 20)]
    for row, column, rows, columns in modules:
        whole[row : row + rows, column : column + columns] = False
    seen = whole[y::step, x::step]

    assert np.array_equal(outside(seen.shape, modules, x, y, step), seen)


def test_boolean_images_have_nothing_to_flag() -> None:
    assert not flags(np.array([[True, False]])).any()
