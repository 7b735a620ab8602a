"""Every type of pixels that a detector may send gives the same figures, big-endian ones too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.processing.processors.built_in import begun
from tests.processing.worker.worker_process import frame

IMAGE = np.random.default_rng(1).poisson(5, (40, 50))
METADATA = {
    "distance": 0.1, "beam_center_x": 25.0, "beam_center_y": 20.0, "x_pixel_size": 1e-4, "y_pixel_size": 1e-4,
    "photon_energy": 12000,
}  # fmt: skip
PROCESSORS: dict[str, tuple[dict[str, Any], str]] = {
    "azimuthal": ({"points": 20}, "I"), "electrons": ({}, "electrons"), "peaks": ({"threshold": 3}, "peaks"),
    "regions": ({}, "total"),
}  # fmt: skip


def result(name: str, dtype: str) -> np.ndarray[Any, Any]:
    parameters, wanted = PROCESSORS[name]
    made = begun(name, parameters, METADATA, type=dtype, shape=IMAGE.shape)
    made.take([frame(IMAGE.astype(dtype), 0, type=dtype)])
    assert not made.errors
    return np.asarray(made.of(wanted)[0])


@pytest.mark.parametrize("dtype", [">u2", "float16", ">f4"])
@pytest.mark.parametrize("name", PROCESSORS)
def test_the_figures_are_those_of_uint16(name: str, dtype: str) -> None:
    plain = result(name, "uint16")  # compiled for it, numba would take big-endian pixels for such
    np.testing.assert_allclose(result(name, dtype), plain, rtol=1e-6)


def test_of_one_image_in_a_stack_of_one_a_part_may_be_missing() -> None:
    stack = IMAGE.astype("uint16")[np.newaxis]
    made = begun("regions").take([frame(stack, 0), frame(stack, 1, partial="rows are missing")])
    assert made.values["total"] == {0: IMAGE.sum()}
