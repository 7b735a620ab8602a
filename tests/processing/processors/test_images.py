"""Images over all frames are those that NumPy makes."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.processing.worker.parameters import ParameterError
from tests.processing.processors.built_in import begun
from tests.processing.worker.worker_process import frame

SHAPE = (5, 6)


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "int16", "float32"])
def test_images_are_those_of_numpy(dtype: str) -> None:
    images = np.random.default_rng(2).integers(0, 100, (9, *SHAPE)).astype(dtype)
    made = begun("images", {"images": ["mean", "max", "min", "sum"]}).take(images)
    found = made.totals()
    np.testing.assert_array_equal(found["sum_image"], images.sum(axis=0, dtype=np.float64))
    np.testing.assert_allclose(found["mean_image"], images.mean(axis=0, dtype=np.float64), rtol=1e-15)
    np.testing.assert_array_equal(found["max_image"], images.max(axis=0))
    np.testing.assert_array_equal(found["min_image"], images.min(axis=0))
    assert found["max_image"].dtype == found["min_image"].dtype == np.dtype(dtype)


def test_a_partial_frame_is_in_none() -> None:
    made = begun("images").take([
        np.full(SHAPE, 3, np.uint16), frame(np.full(SHAPE, 65535, np.uint16), 1, partial="rows are missing")
    ])  # fmt: skip
    assert (made.totals()["max_image"] == 3).all() and not made.errors


def test_an_image_that_is_not_made_is_refused() -> None:
    with pytest.raises(ParameterError, match="it has to be list"):
        begun("images", {"images": ["median"]})


ALL = {"images": ["mean", "max", "min", "sum"]}


def test_each_pixel_is_of_the_frames_in_which_it_counts() -> None:
    gap = 2**32 - 1
    first = np.array([[1, gap, 7], [5, 5, 100]], np.uint32)
    second = np.array([[3, gap, 7], [5, 9, 5]], np.uint32)
    mask = [[0, 0, 1], [0, 0, 0]]

    made = begun("images", ALL, {"pixel_mask": mask, "saturation_value": 100}).take([first, second])

    nan = np.nan
    expected = {  # counted by hand: the pixel of 100 is saturated in the first frame
        "mean_image": [[2, nan, nan], [5, 7, 5]], "max_image": [[3, nan, nan], [5, 9, 5]],
        "min_image": [[1, nan, nan], [5, 5, 5]], "sum_image": [[4, nan, nan], [10, 14, 5]],
    }  # fmt: skip
    for name, image in made.totals().items():
        np.testing.assert_array_equal(image, expected[name], name)


def test_a_pixel_that_does_not_count_from_the_second_frame_on_keeps_what_it_had() -> None:
    made = begun("images", ALL, {"saturation_value": 10})

    made.take([np.array([[4, 6]], np.uint16), np.array([[10, 8]], np.uint16), np.array([[12, 1]], np.uint16)])

    found = {name: image.tolist() for name, image in made.totals().items()}
    assert found == {
        "mean_image": [[4, 5]], "max_image": [[4, 8]], "min_image": [[4, 1]], "sum_image": [[4, 15]],
    }  # fmt: skip


def test_negative_counts_count_unless_the_detector_says_that_they_are_none() -> None:
    image = np.array([[-3, -1, 4]], np.int32)

    assert begun("images").take([image]).totals()["mean_image"].tolist() == [[-3, -1, 4]]
    found = begun("images", {}, {"underload_value": 0}).take([image]).totals()["mean_image"]
    np.testing.assert_array_equal(found, [[np.nan, np.nan, 4]])


def test_colours_have_no_pixels_that_do_not_count() -> None:
    image = np.full((2, 3, 3), 255, np.uint8)

    assert (begun("images").take([image]).totals()["mean_image"] == 255).all()
