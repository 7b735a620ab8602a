"""LiveImage: what its pixels are."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.devices._base.live_image import as_floats

NAN = np.nan


@pytest.mark.parametrize(
    ("pixels", "shown"),
    [
        (np.array([[0, 65534, 65535]], np.uint16), [[0, 65534, NAN]]),
        (np.array([[7, 65535, 4294967295]], np.uint32), [[7, 65535, NAN]]),
        (np.array([[0, 254, 255]], np.uint8), [[0, 254, NAN]]),
        (np.array([[-2, -1, 0, 2**31 - 1]], np.int32), [[NAN, NAN, 0, 2.0**31]]),
        (np.array([[-0.5, NAN, 1e9]], np.float32), [[-0.5, NAN, 1e9]]),
    ],
)
def test_a_masked_pixel_is_not_a_number(pixels: np.ndarray, shown: list[list[float]]) -> None:
    image = as_floats(pixels)
    assert image.dtype == np.float32
    np.testing.assert_array_equal(image, np.array(shown, np.float32))


def test_the_frame_itself_stays_as_it_is() -> None:
    frame = np.array([[1.0, -1.0]], np.float32)
    as_floats(frame)
    np.testing.assert_array_equal(frame, [[1.0, -1.0]])
