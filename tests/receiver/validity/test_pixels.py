"""Which pixels count, each counted by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock.receiver.validity.pixels import Flag, PixelRule, rule_of

GOOD, NO_VALUE, SATURATED = Flag.GOOD, Flag.INVALID, Flag.SATURATED
NAN, INF = np.nan, np.inf
CASES: list[tuple[str, list[Any], dict[str, float], bool, list[Flag]]] = [
    # type, pixels, what the detector says, whether the frame is partial, what each pixel is
    ("u1", [0, 254, 255], {}, False, [GOOD, GOOD, SATURATED]),
    ("u1", [0, 254, 255], {}, True, [GOOD, GOOD, NO_VALUE]),
    ("u2", [0, 65534, 65535], {}, False, [GOOD, GOOD, SATURATED]),
    ("u2", [0, 65534, 65535], {"saturation_value": 65535}, False, [GOOD, GOOD, SATURATED]),
    ("u2", [99, 100, 65535], {"saturation_value": 100}, False, [GOOD, SATURATED, NO_VALUE]),
    ("u4", [0, 2**32 - 2, 2**32 - 1], {}, False, [GOOD, GOOD, NO_VALUE]),
    ("u4", [9, 10, 2**32 - 1], {"saturation_value": 10}, False, [GOOD, SATURATED, NO_VALUE]),
    ("u8", [0, 2**63, 2**64 - 1], {}, False, [GOOD, GOOD, NO_VALUE]),
    (">u4", [0, 1, 2**32 - 1], {}, False, [GOOD, GOOD, NO_VALUE]),
    ("u2", [4, 5, 65535], {"underload_value": 5}, False, [NO_VALUE, GOOD, SATURATED]),
    ("i4", [-2, -1, 0], {}, False, [GOOD, GOOD, GOOD]),
    ("i4", [-2, -1, 0], {}, True, [GOOD, NO_VALUE, GOOD]),
    ("i4", [-2, -1, 0], {"underload_value": 0}, False, [NO_VALUE, NO_VALUE, GOOD]),
    ("i4", [-7, -5, 10], {"underload_value": -5, "saturation_value": 10}, False, [NO_VALUE, GOOD, SATURATED]),
    ("f4", [-3.5, NAN, INF], {}, False, [GOOD, NO_VALUE, NO_VALUE]),
    ("f4", [-INF, 9.5, 10], {"saturation_value": 10}, False, [NO_VALUE, GOOD, SATURATED]),
    ("f8", [-0.5, 0.0, NAN], {"underload_value": 0}, True, [NO_VALUE, GOOD, NO_VALUE]),
    ("f2", [1, NAN, 2], {}, False, [GOOD, NO_VALUE, GOOD]),
    ("f2", [1, 60000, 2], {"saturation_value": 1e6, "underload_value": -1e6}, False, [GOOD] * 3),
    ("f4", [1, -1, 2], {"saturation_value": 1e200, "underload_value": -1e200}, False, [GOOD] * 3),
    ("?", [False, True, True], {}, True, [GOOD, GOOD, GOOD]),
]


@pytest.mark.parametrize(("dtype", "pixels", "said", "partial", "expected"), CASES)
def test_each_pixel_counts_has_no_value_or_is_saturated(
    dtype: str, pixels: list[Any], said: dict[str, float], partial: bool, expected: list[Flag]
) -> None:
    image, rule = np.array([pixels], dtype), rule_of(said)

    assert rule.flags(image, partial=partial)[0].tolist() == expected
    good = rule.good(image, partial=partial)
    assert (np.ones(3, bool) if good is None else good[0]).tolist() == [each is GOOD for each in expected]
    low, high, mark = rule.limits(image.dtype, partial=partial)
    # As compiled code compares: in double precision.
    inside = [low <= each < high and each != mark for each in image[0].astype(np.float64)]
    assert inside == [each is GOOD for each in expected]


def test_a_masked_pixel_has_no_value_also_where_it_is_saturated() -> None:
    image = np.array([[5, 100, 5]], np.uint16)

    found = PixelRule(saturation=100).flags(image, np.array([[False, True, True]]))

    assert found.tolist() == [[GOOD, NO_VALUE, NO_VALUE]]


def test_a_frame_without_odd_pixels_needs_no_mask() -> None:
    assert PixelRule(saturation=100).good(np.array([[5, 99]], np.uint16)) is None
    assert PixelRule().good(np.array([[-5, 99]], np.int32)) is None


@pytest.mark.parametrize("said", [0, -1, NAN, INF, 1e301, 10**400, "many", None, True, [5]])
def test_a_saturation_value_that_is_no_count_is_none(said: Any) -> None:
    assert rule_of({"saturation_value": said}) == PixelRule()


@pytest.mark.parametrize("said", [NAN, INF, "low", None, False])
def test_an_underload_value_that_is_no_number_is_none(said: Any) -> None:
    assert rule_of({"underload_value": said}) == PixelRule()
