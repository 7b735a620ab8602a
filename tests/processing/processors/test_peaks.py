"""Peaks are the local maxima that a plain search finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock.processing.worker.configuring import Refusal
from tests.processing.processors.built_in import begun

SHAPE = (30, 41)


def plainly(
    image: np.ndarray[Any, Any], mask: np.ndarray[Any, Any], threshold: float, highest: float, radius: int
) -> list[tuple[float, ...]]:
    found = []
    counts = (mask == 0) & (image <= highest)
    for row, column in zip(*np.nonzero(counts & (image > threshold)), strict=True):
        rows = range(max(0, row - radius), min(SHAPE[0], row + radius + 1))
        columns = range(max(0, column - radius), min(SHAPE[1], column + radius + 1))
        around = [(-float(image[r, c]), r, c) for r in rows for c in columns if counts[r, c]]
        if min(each for each in around if not np.isnan(each[0]))[1:] == (row, column):
            found.append((float(row), float(column), float(image[row, column])))
    return found


@pytest.mark.parametrize("dtype", ["uint16", "uint64", "float32"])
@pytest.mark.parametrize("radius", [1, 3])
def test_peaks_are_those_of_a_plain_search(dtype: str, radius: int) -> None:
    rng = np.random.default_rng(radius)
    images = rng.poisson(5, (3, *SHAPE)).astype(dtype)  # many are equal
    images[rng.random(images.shape) < 0.01] = 60000
    if dtype == "float32":
        images[rng.random(images.shape) < 0.05] = np.nan
    mask = (rng.random(SHAPE) < 0.05).astype(int)
    parameters = {"threshold": 6.5, "highest": 50000, "radius": radius}
    made = begun("peaks", parameters, {"pixel_mask": mask.tolist()}, type=dtype).take(images)
    for index, image in enumerate(images):
        truth = plainly(image, mask, 6.5, 50000, radius)
        assert list(map(tuple, made.values["peaks"][index])) == truth
        assert made.values["peak_count"][index] == len(truth) > 5


def test_a_plateau_is_one_peak_and_no_peak_is_no_event() -> None:
    image = np.zeros(SHAPE, np.uint16)
    image[4:6, 7:9] = 200
    made = begun("peaks").take([image, np.zeros(SHAPE, np.uint16)])
    assert made.of("peaks")[0].tolist() == [[4, 7, 200]]
    assert made.of("peaks")[1].shape == (0, 3) and made.of("peak_count") == [1, 0]


def test_of_too_many_peaks_the_highest_are_kept_and_all_are_counted() -> None:
    image = np.zeros((1, 20), np.uint16)
    image[0, ::2] = [110, 300, 120, 310, 130, 320, 140, 330, 150, 340]
    made = begun("peaks", {"most": 3}).take([image])
    assert made.of("peak_count") == [10]
    assert made.of("peaks")[0].tolist() == [[0, 10, 320], [0, 14, 330], [0, 18, 340]]


def test_thresholds_that_exclude_each_other_are_refused() -> None:
    with pytest.raises(Refusal, match="threshold is 100 and highest 50; highest has to be the greater"):
        begun("peaks", {"highest": 50})


def test_thresholds_may_be_beyond_all_pixels() -> None:
    image = np.full(SHAPE, 3, np.uint16)
    for threshold, count in ((-np.inf, 1), (1e30, 0), (np.inf, 0)):
        made = begun("peaks", {"threshold": threshold}).take([image])
        assert not made.errors and made.of("peak_count") == [count]
    with pytest.raises(Refusal, match="threshold is no number"):
        begun("peaks", {"threshold": np.nan})
