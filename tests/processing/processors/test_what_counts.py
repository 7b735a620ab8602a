"""One rule of what counts: the same pixels, counted by hand, through every processor."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.processing.azimuthal import kept
from penstock.processing.pixels import Pool
from penstock.processing.processor import Frame
from penstock.processing.series import from_start
from penstock.stins.messages import Header
from tests.processing.azimuthal.compared import make_here
from tests.processing.processors.built_in import begun
from tests.processing.worker.worker_process import frame

GEOMETRY = {
    "distance": 1.0, "beam_center_x": 1.5, "beam_center_y": 1.0, "x_pixel_size": 1e-4, "y_pixel_size": 1e-4,
    "photon_energy": 12000,
}  # fmt: skip
ONE_BIN = {"points": 1, "solid_angle": False}
GAP = 2**32 - 1
CASES: dict[str, tuple[Any, dict[str, Any], float]] = {
    # pixels, what the detector says of them, mean of the good ones
    "around zero": (np.array([[-6, 4, -1], [2, -2, 0]], np.int32), {}, -3 / 6),
    "PILATUS' marks": (np.array([[-2, 4, -1], [2, 6, 0]], np.int32), {"underload_value": 0}, 12 / 4),
    "gaps of 32 bits": (np.array([[GAP, 4, 1], [2, 6, 0]], np.uint32), {}, 13 / 5),
    "end of 16 bits": (np.array([[65535, 4, 1], [2, 6, 0]], np.uint16), {}, 13 / 5),
    "saturated": (np.array([[100, 4, 250], [2, 6, 65535]], np.uint16), {"saturation_value": 100}, 12 / 3),
    "not a number": (np.array([[np.nan, -4, np.inf], [2, 6, 0]], np.float32), {}, 4 / 4),
    "masked": (
        np.array([[50, 4, 1], [2, 6, 90]], np.uint16), {"pixel_mask": [[1, 0, 0], [0, 0, 1]]}, 13 / 4,
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path_factory.getbasetemp() / "matrices"))
    monkeypatch.setattr(kept, "_make", make_here)


@pytest.mark.parametrize("name", CASES)
def test_the_mean_is_that_of_the_pixels_that_count(name: str) -> None:
    image, said, mean = CASES[name]

    curve = begun("azimuthal", ONE_BIN, GEOMETRY | said).take([image]).of("I")[0]
    accumulated = begun("images", {}, said).take([image]).totals()["mean_image"]
    corrected = begun([("correct", {}), ("images", {})], metadata=said).take([image]).totals()["mean_image"]

    assert curve.tolist() == pytest.approx([mean])
    assert np.nanmean(accumulated) == np.nanmean(corrected) == pytest.approx(mean)


def test_a_class_of_ones_own_asks_the_series_which_pixels_count() -> None:
    said = {"saturation_value": 100, "pixel_mask": [[1, 0, 0], [0, 0, 0]]}
    series = from_start(Header(filename=""), [json.dumps(said).encode()])
    header, *blobs = frame(np.array([[5, 99, 100], [65535, 0, 7]], np.uint16), 0)
    given = Frame(0, (header, blobs), Pool())

    assert series.good(given).tolist() == [[False, True, False], [False, True, True]]
    given.pixels = np.array([[5.0, np.nan, 100.0], [1.0, 2.0, 3.0]])
    assert series.good(given).tolist() == [[False, False, True], [True, True, True]]


def test_what_a_step_has_made_is_not_measured_by_the_detectors_limits(tmp_path: Path) -> None:
    flat = tmp_path / "flat.npy"
    np.save(flat, np.full((2, 3), 0.01))
    image = np.array([[1, 2, 3], [4, 5, 99]], np.uint16)
    steps = [("correct", {"flat": str(flat)}), ("azimuthal", ONE_BIN)]

    made = begun(steps, metadata=GEOMETRY | {"saturation_value": 100}).take([image])

    assert made.of("I")[0].tolist() == pytest.approx([11400 / 6])


@pytest.mark.parametrize(
    ("mask_value", "expected"), [("auto", 12 / 3), ("none", 112 / 4), (6, 106 / 3), (4, 108 / 3)]
)
def test_another_value_may_be_the_one_that_does_not_count(mask_value: Any, expected: float) -> None:
    image = np.array([[100, 4, 2, 6]], np.uint16)

    made = begun(
        "azimuthal", ONE_BIN | {"mask_value": mask_value}, GEOMETRY | {"saturation_value": 100}
    ).take([image])

    assert made.of("I")[0].tolist() == pytest.approx([expected])


@pytest.mark.parametrize("mask_value", ["auto", "none", 6])
@pytest.mark.parametrize(("dtype", "missing"), [("uint16", 65535), ("int32", -1)])
def test_missing_parts_of_a_frame_count_nowhere(dtype: str, missing: int, mask_value: Any) -> None:
    image = np.array([[missing, missing, missing], [1, 2, 6]], dtype)
    said = GEOMETRY | {"saturation_value": 65535}

    made = begun("azimuthal", ONE_BIN | {"mask_value": mask_value}, said).take(
        [frame(image, 0, partial="a module is missing")]
    )

    assert made.of("I")[0].tolist() == pytest.approx([3 / 2 if mask_value == 6 else 9 / 3])


@pytest.mark.parametrize(
    ("image", "said", "expected"),
    [
        ([[0, 0, 0], [7, GAP, 0]], {}, [[1, 0, 7]]),  # a gap is no neighbour that is higher
        ([[0, 0, 0], [7, 50, 0]], {"saturation_value": 50}, [[1, 1, 50]]),
        ([[0, 0, 0], [-7, -1, 0]], {}, []),
    ],
)
def test_what_has_no_value_is_no_peak_and_not_beside_one(
    image: Any, said: dict[str, Any], expected: list[list[float]]
) -> None:
    kind = np.int64 if np.min(image) < 0 else np.uint32

    made = begun("peaks", {"threshold": 3}, said).take([np.array(image, kind)])

    assert np.asarray(made.of("peaks")[0]).tolist() == expected


def test_a_saturated_pixel_is_no_electron() -> None:
    image = np.array([[0, 0, 0, 0, 0], [0, 60, 0, 90, 0], [0, 0, 0, 0, 0]], np.uint16)

    made = begun("electrons", {"background": 10}, {"saturation_value": 90}).take([image])

    assert np.asarray(made.of("electrons")[0]).tolist() == [6]
