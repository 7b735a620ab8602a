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
