"""Between which values colours run."""

from __future__ import annotations

import numpy as np
import pytest
from silx.math.colormap import cmap

from penstock.gui.live.drawing.levels import (
    BINS,
    MOST_BEYOND,
    SAMPLES,
    Levels,
    Percentiles,
    Scale,
    autoscale,
    histogram,
    possible,
    stride,
    with_ends,
)

TABLE = np.zeros((256, 4), np.uint8)


def test_levels_are_percentiles_of_the_good_pixels_only() -> None:
    image = np.arange(1001, dtype=np.int32).reshape(7, 143)
    image[0, :2] = (2**31 - 1, -5)
    good = np.ones(image.shape, bool)
    good[0, :2] = False

    levels = autoscale(image[good], percentiles=Percentiles(1, 99.5), whole=True)

    # 999 different counts from 2 to 1000: 9 are below 11, and 995 below 997.
    assert levels == (11, 997)


@pytest.mark.parametrize(
    ("counts", "percentiles", "expected"),
    [
        # (count, how many); percentiles; levels. Of 1000 blocks, 995 are to be below the last colour.
        ([(5, 990), (8, 7), (9, 3)], (1, 99.5), (5, 9)),
        ([(5, 990), (8, 4), (9, 6)], (1, 99.5), (5, 9)),  # 994 below 9, and nothing above it
        ([(0, 600), (1, 395), (3, 5)], (1, 99.5), (0, 2)),
        ([(0, 5), (2, 15), (7, 980)], (1, 99.5), (2, 7)),
        ([(0, 600), (70_000, 395), (80_000, 5)], (1, 99.5), (0, 70_001)),  # too great to be counted
        ([(-3, 600), (4, 395), (6, 5)], (1, 99.5), (-3, 5)),
        ([(5, 990), (8, 10)], (0, 100), (0, 900)),
        ([(5, 990), (8, 10)], (0, 99), (0, 6)),
    ],
)
def test_no_more_than_the_share_of_whole_numbers_has_the_last_colour(
    counts: list[tuple[int, int]], percentiles: tuple[float, float], expected: tuple[float, float]
) -> None:
    values = np.repeat(*np.transpose(counts)).astype(np.float32)
    ends = (0, 900) if 0 in percentiles else (int(values.min()), int(values.max()))
    assert autoscale(values, percentiles=Percentiles(*percentiles), whole=True, ends=ends) == expected


def test_a_least_and_a_greatest_count_that_the_sample_lacks_are_in_the_histogram() -> None:
    found = histogram(with_ends(np.full(50, 7, np.uint16), (2, 9)), Levels(2, 9))
    assert found is not None
    assert (found.low, found.high, found.ends) == (2, 9, (2, 9))
    assert found.counts.tolist() == [1, 0, 0, 0, 0, 50, 0, 1]


def test_below_zero_there_is_no_root_but_a_count() -> None:
    found = histogram(np.array([-4, -4, 0, 1, 4, 900], np.int32), Levels(0, 4), Scale.SQRT)
    assert found is not None
    assert found.ends == (-4, 900)
    assert found.high == pytest.approx(16), "one width of the levels beyond them, in roots"
    assert {place: count for place, count in enumerate(found.counts.tolist()) if count} == {
        0: 3,
        32: 1,
        64: 1,
    }


def test_logarithmic_levels_leave_zeros_out() -> None:
    image = np.zeros(100, np.uint16)
    image[50:60] = 40

    levels = autoscale(image, Scale.LOG)

    assert levels is not None
    assert (levels.low, levels.high) == (40, 400)


def test_a_flat_image_still_gives_two_different_levels() -> None:
    levels = autoscale(np.zeros(16, np.float32))

    assert levels is not None
    assert levels.low < levels.high


@pytest.mark.parametrize("scale", Scale)
def test_an_image_without_a_good_pixel_gives_no_levels(scale: Scale) -> None:
    assert autoscale(np.zeros(0, np.int32), scale) is None
    assert histogram(np.zeros(0, np.int32), Levels(1, 2), scale) is None


def test_of_a_large_image_a_sample_is_looked_at_and_gives_nearly_the_same() -> None:
    image = np.random.default_rng(1).poisson(100, (2000, 2000)).astype(np.uint32)
    assert image.size > SAMPLES

    every = stride(image.shape)

    assert every > 1
    assert np.percentile(image[::every, ::every], [1, 50, 99.5]) == pytest.approx(
        np.percentile(image, [1, 50, 99.5]), abs=2
    )


def test_the_percentiles_are_chosen() -> None:
    assert autoscale(np.arange(1001), percentiles=Percentiles(5, 95)) == (50, 950)
    assert autoscale(np.arange(1001), percentiles=Percentiles(0, 100)) == (0, 1000)


@pytest.mark.parametrize("scale", Scale)
def test_a_place_on_the_scale_is_that_of_its_value(scale: Scale) -> None:
    for value in (1.0, 7.0, 1e6):
        assert scale.value_at(float(scale.place(value))) == pytest.approx(value)


@pytest.mark.parametrize("scale", Scale)
def test_the_histogram_has_the_levels_within_and_every_count_in_its_range(scale: Scale) -> None:
    counts = np.random.default_rng(2).poisson(100, 10_000) + 1
    found = histogram(counts, Levels(80, 130), scale)
    assert found is not None
    assert found.low <= 80 and found.high >= 130
    assert len(found.counts) == (BINS if scale is not Scale.LIN else np.ptp(counts) + 1)
    assert found.counts.sum() == counts.size


@pytest.mark.parametrize("span", [1, 2, 41, 126, 127, 128, 129, 200, 300, 1000])
def test_no_bin_is_empty_for_want_of_a_whole_number(span: int) -> None:
    found = histogram(np.arange(span + 1), Levels(0, span))
    assert found is not None
    assert len(found.counts) <= BINS
    each = -(-(span + 1) // BINS)
    assert found.counts.min() >= max(1, each - 1) and found.counts.max() <= each + 1


def test_one_hot_pixel_does_not_squeeze_the_histogram() -> None:
    counts = np.append(np.random.default_rng(2).poisson(100, 10_000), 2_000_000)
    found = histogram(counts, Levels(80, 130))
    assert found is not None
    assert found.high <= 130 + MOST_BEYOND * 50
    assert found.counts.sum() == counts.size - 1


@pytest.mark.parametrize("scale", Scale)
@pytest.mark.parametrize("count", [0.0, -7.0, 5e-324, 1e17, 2.0**64, 1.7e308])
def test_levels_of_any_flat_image_can_be_drawn(scale: Scale, count: float) -> None:
    values = np.full(9, count)
    levels = autoscale(values, scale) or possible(0.0, 0.0, scale)

    found = histogram(values, levels, scale)
    colours = cmap(np.zeros((1, 1), np.float32) + levels.low, TABLE, *levels, scale.value)

    assert levels.low < levels.high
    assert found is None or found.low < found.high
    assert colours.shape == (1, 1, 4)
