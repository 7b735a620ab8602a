"""Which pixels carry no count."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.gui.pixels import Flag, flags


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_negative_pixels_of_signed_images_are_invalid(dtype: str) -> None:
    image = np.array([[-2, -1, 0, 1, 100]], dtype)

    assert flags(image).tolist() == [[Flag.INVALID, Flag.INVALID, Flag.GOOD, Flag.GOOD, Flag.GOOD]]


def test_nan_and_negative_pixels_of_floating_images_are_invalid() -> None:
    image = np.array([[np.nan, -0.5, 0.0, 2.5]], np.float32)

    assert flags(image).tolist() == [[Flag.INVALID, Flag.INVALID, Flag.GOOD, Flag.GOOD]]


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


def test_boolean_images_have_nothing_to_flag() -> None:
    assert not flags(np.array([[True, False]])).any()
