"""What is counted in a frame: figures against those of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.gui.live.measure.counts import counts
from penstock.gui.live.measure.counts.counts import Counted
from penstock.receiver.models import Rectangle
from penstock.receiver.validity.pixels import PixelRule


def test_figures_of_a_rectangle_are_those_of_its_pixels() -> None:
    image = np.arange(600, dtype=np.uint16).reshape(20, 30)
    found = Counted(image).of(Rectangle(x=4, y=6, width=5, height=3))
    part = image[6:9, 4:9]
    assert (found.sum, found.pixels, found.left_out) == (part.sum(), 15, 0)
    assert found.mean == part.mean()
    assert (found.maximum, found.place) == (part.max(), (8, 8))
    rows, columns = np.mgrid[6:9, 4:9] + 0.5
    assert found.centroid == pytest.approx(
        (float((columns * part).sum() / part.sum()), float((rows * part).sum() / part.sum()))
    )


@pytest.mark.parametrize(
    "dtype", ["uint8", "uint16", "int16", "uint32", "int32", "float32", "float64", "bool"]
)
def test_strips_add_up_whatever_the_type(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "STRIP", 64)
    image = np.random.default_rng(2).integers(0, 2 if dtype == "bool" else 100, (37, 41)).astype(dtype)
    found = Counted(image).of()
    assert found.sum == image.sum(dtype=np.float64)
    assert found.maximum == image.max()
    assert found.place == np.unravel_index(np.argmax(image), image.shape)


def test_sums_are_exact_beyond_what_a_float_holds() -> None:
    image = np.full((1000, 3), 2**53 + 1, np.uint64)
    assert Counted(image).of().sum == 3000 * (2**53 + 1)


def test_masked_pixels_gaps_and_what_is_no_number_do_not_count() -> None:
    image = np.ones((4, 6), np.float32)
    image[0, 0], image[1, 1], image[2, 2] = np.nan, 50, 7
    mask = np.zeros(image.shape, np.uint32)
    mask[1, 1] = 8
    left_out = np.zeros(image.shape, bool)
    left_out[3] = True
    found = Counted(image, mask=mask, left_out=left_out).of()
    assert (found.pixels, found.left_out, found.sum, found.maximum, found.place) == (16, 8, 22, 7, (2, 2))


@pytest.mark.parametrize("mask", [None, np.zeros((2, 3))])
def test_the_greatest_value_of_32_bits_is_no_count_also_where_the_mask_says_nothing_of_it(
    mask: np.ndarray | None,
) -> None:
    image = np.ones((2, 3), np.uint32)
    image[0, 0] = 2**32 - 1
    found = Counted(image, mask=mask).of()
    assert (found.sum, found.pixels, found.left_out, found.maximum) == (5, 5, 1, 1)


@pytest.mark.parametrize("dtype", ["int16", "int32", "float64"])
def test_negative_values_are_values_unless_the_detector_says_otherwise(dtype: str) -> None:
    image = np.array([[-4, -1], [2, 7]], dtype)
    found = Counted(image).of()
    assert (found.sum, found.mean, found.pixels, found.maximum) == (4, 1.0, 4, 7)
    assert Counted(image - 8).of().place == (1, 1), "of values that are all below 0 the greatest"
    found = Counted(image, PixelRule(underload=0)).of()
    assert (found.sum, found.mean, found.pixels, found.left_out) == (9, 4.5, 2, 2)


def test_of_a_partial_frame_the_missing_part_is_left_out() -> None:
    image = np.array([[-1, -2], [2, 7]], np.int32)
    found = Counted(image, partial=True).of()
    assert (found.sum, found.pixels, found.left_out) == (7, 3, 1)
    full = np.array([[65535, 3]], np.uint16)
    assert Counted(full).saturated() == 1
    assert Counted(full, partial=True).saturated() == 0


def test_saturated_pixels_count_and_are_counted() -> None:
    image = np.full((5, 5), 10, np.int32)
    image[1, 1:4] = 1000
    mask = np.zeros(image.shape)
    mask[1, 1] = 1
    counted = Counted(image, PixelRule(1000), mask=mask)
    assert (counted.of().saturated, counted.saturated()) == (2, 2)
    full = np.full((2, 2), 255, np.uint8)
    assert (Counted(full).of().saturated, Counted(full).saturated()) == (4, 4)
    assert Counted(image).saturated() == 0, "the detector does not say from where on"


def test_where_no_pixel_counts_there_is_no_figure() -> None:
    image = np.full((3, 3), -1, np.int32)
    found = Counted(image, PixelRule(underload=0)).of()
    assert (found.pixels, found.sum, found.mean, found.maximum, found.place, found.centroid) == (
        0, 0, None, None, None, None,
    )  # fmt: skip
    beside = Counted(image).of(Rectangle(x=7, y=7, width=2, height=2))
    assert (beside.pixels, beside.left_out) == (0, 0)


def test_a_maximum_is_where_a_pixel_counts() -> None:
    image = np.zeros((2, 2), np.uint16)
    mask = np.array([[1, 0], [0, 0]])
    assert Counted(image, mask=mask).of().place == (0, 1)


def test_figures_of_a_part_are_moved_to_its_place() -> None:
    image = np.random.default_rng(1).integers(0, 9, (30, 40)).astype(np.int32)
    expected = Counted(image).of(Rectangle(x=11, y=13, width=8, height=9))
    found = counts.moved(Counted(image[13:22, 11:19]).of(), 11, 13)
    assert (found.sum, found.place) == (expected.sum, expected.place)
    assert found.centroid == pytest.approx(expected.centroid)


@pytest.mark.parametrize(
    ("dtype", "count"), [("uint64", 2**64 - 2), ("int64", 2**63 - 1), ("int64", -(2**63))]
)
def test_a_column_of_64_bits_that_adds_up_to_more_is_summed_all_the_same(dtype: str, count: int) -> None:
    image = np.full((5, 2), count, dtype)
    image[0, 0] = 3
    assert Counted(image, mask=np.zeros(image.shape)).of().sum == 9 * count + 3


def test_infinite_pixels_do_not_count_also_where_the_mask_says_nothing_of_them() -> None:
    image = np.ones((4, 4), np.float32)
    image[0, 0], image[1, 1] = np.inf, -np.inf
    figures = Counted(image, mask=np.zeros(image.shape)).of()
    assert (figures.pixels, figures.left_out, figures.sum) == (14, 2, 14)
    assert figures.maximum == 1
