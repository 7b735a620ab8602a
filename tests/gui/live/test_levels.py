"""Between which values colours run."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.gui.live.levels import SAMPLES, autoscale


def test_levels_are_percentiles_of_the_good_pixels_only() -> None:
    image = np.arange(1001, dtype=np.int32).reshape(7, 143)
    image[0, :2] = (2**31 - 1, -5)
    good = np.ones(image.shape, bool)
    good[0, :2] = False

    levels = autoscale(image, good)

    assert levels == (np.floor(np.percentile(image[good], 1)), np.ceil(np.percentile(image[good], 99.5)))


def test_logarithmic_levels_leave_zeros_out() -> None:
    image = np.zeros((10, 10), np.uint16)
    image[5] = 40

    levels = autoscale(image, np.ones(image.shape, bool), logarithmic=True)

    assert levels is not None
    assert (levels.low, levels.high) == (40, 400)


def test_a_flat_image_still_gives_two_different_levels() -> None:
    levels = autoscale(np.zeros((4, 4), np.float32), np.ones((4, 4), bool))

    assert levels is not None
    assert levels.low < levels.high


@pytest.mark.parametrize("logarithmic", [False, True])
def test_an_image_without_a_good_pixel_gives_no_levels(logarithmic: bool) -> None:
    image = np.full((4, 4), -1, np.int32)

    assert autoscale(image, image >= 0, logarithmic=logarithmic) is None


def test_of_a_large_image_a_sample_is_looked_at_and_gives_nearly_the_same() -> None:
    image = np.random.default_rng(1).poisson(100, (2000, 2000)).astype(np.uint32)
    assert image.size > SAMPLES

    levels = autoscale(image, np.ones(image.shape, bool))

    assert levels is not None
    assert levels.low == pytest.approx(np.percentile(image, 1), abs=2)
    assert levels.high == pytest.approx(np.percentile(image, 99.5), abs=2)
