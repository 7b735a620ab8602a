"""LiveImage: what its pixels are."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.devices._detector.live_image import LiveImage, as_doubles
from penstock.receiver.client import LastFrame
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
        (np.array([[-2, -1, 0, 2**31 - 1]], np.int32), PixelRule(), False, [[-2, -1, 0, 2.0**31 - 1]]),
        (np.array([[-2, -1, 0, 9]], np.int32), PixelRule(underload=0), False, [[NAN, NAN, 0, 9]]),
        (np.array([[-2, -1, 0, 9]], np.int32), PixelRule(), True, [[-2, NAN, 0, 9]]),
        (np.array([[-0.5, NAN, 1e9]], np.float32), PixelRule(), False, [[-0.5, NAN, 1e9]]),
    ],
)
def test_a_pixel_without_a_value_is_not_a_number(
    pixels: np.ndarray, rule: PixelRule, partial: bool, shown: list[list[float]]
) -> None:
    image = as_doubles(pixels, rule, partial=partial)
    assert image.dtype == np.float64
    np.testing.assert_array_equal(image, shown)


@pytest.mark.parametrize(
    ("side", "rate", "period"),
    # 8 bytes per pixel: 4 images of 10 MB per second, or 5 small ones
    [(1000, 5.0, 0.2), (1118, 5.0, 0.25), (4096, 100.0, 3.355), (8, 100.0, 0.01)],
)
def test_a_subscriber_gets_forty_megabytes_per_second_at_most(side: int, rate: float, period: float) -> None:
    class Receiver:
        def last_frame(self, seen: int | None) -> LastFrame:
            pixels = np.zeros((side, side), np.uint16)
            return LastFrame(array=pixels, frame=0, series="a", version=1, downsample=1)

    live = LiveImage(None, Receiver(), rate=rate, edge=4096, version=lambda: 0)  # type: ignore[arg-type]
    assert live.read().shape == (side, side)
    assert live.period == pytest.approx(period, rel=1e-3)


def test_the_frame_itself_stays_as_it_is() -> None:
    frame = np.array([[1.0, -1.0]], np.float32)
    as_doubles(frame, PixelRule(underload=0))
    np.testing.assert_array_equal(frame, [[1.0, -1.0]])
