"""LiveImage: what its pixels are."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.devices._base.live_image import as_floats
from penstock.receiver.validity.pixels import PixelRule

NAN = np.nan


@pytest.mark.parametrize(
    ("pixels", "rule", "partial", "shown"),
    [
        (np.array([[0, 65534, 65535]], np.uint16), PixelRule(60_000), False, [[0, 65534, NAN]]),
        (np.array([[0, 65534, 65535]], np.uint16), PixelRule(), True, [[0, 65534, NAN]]),
        (np.array([[7, 65535, 4294967295]], np.uint32), PixelRule(), False, [[7, 65535, NAN]]),
        # A camera that has counted to its end is no gap.
        (np.array([[0, 254, 255]], np.uint8), PixelRule(), False, [[0, 254, 255]]),
        (np.array([[-2, -1, 0, 2**31 - 1]], np.int32), PixelRule(), False, [[-2, -1, 0, 2.0**31]]),
        (np.array([[-2, -1, 0, 9]], np.int32), PixelRule(underload=0), False, [[NAN, NAN, 0, 9]]),
        (np.array([[-2, -1, 0, 9]], np.int32), PixelRule(), True, [[-2, NAN, 0, 9]]),
        (np.array([[-0.5, NAN, 1e9]], np.float32), PixelRule(), False, [[-0.5, NAN, 1e9]]),
    ],
)
def test_a_pixel_without_a_value_is_not_a_number(
    pixels: np.ndarray, rule: PixelRule, partial: bool, shown: list[list[float]]
) -> None:
    image = as_floats(pixels, rule, partial=partial)
    assert image.dtype == np.float32
    np.testing.assert_array_equal(image, np.array(shown, np.float32))


def test_the_frame_itself_stays_as_it_is() -> None:
    frame = np.array([[1.0, -1.0]], np.float32)
    as_floats(frame, PixelRule(underload=0))
    np.testing.assert_array_equal(frame, [[1.0, -1.0]])
