"""Regions of live processing have the figures of the receiver's regions of interest."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from penstock.processing.processors.regions import Regions
from penstock.processing.worker.configuring import Refusal
from penstock.processing.worker.parameters import ParameterError, split
from penstock.receiver.config.rectangles import Rectangle
from penstock.receiver.regions.series import RegionSeries
from penstock.stins.messages import Frame, Image
from tests.processing.processors.built_in import begun
from tests.processing.worker.worker_process import frame

SHAPE = (40, 60)
REGIONS = {
    "spot": {"x": 5, "y": 3, "width": 20, "height": 11},
    "edge": {"x": 50, "y": 30, "width": 99, "height": 99},
    "outside": {"x": 60, "y": 0, "width": 1, "height": 1}, "one": {"x": 0, "y": 39, "width": 1, "height": 1},
}  # fmt: skip
RNG = np.random.default_rng(31)


def image_of(dtype: str) -> np.ndarray:
    if np.dtype(dtype).kind == "f":
        image = RNG.normal(0, 1000, SHAPE).astype(dtype)
        image[RNG.random(SHAPE) < 0.1] = np.nan
        return image
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min, limits.max, SHAPE, dtype, endpoint=True)


def test_a_region_that_is_a_list_is_refused_with_the_keys_that_it_has() -> None:
    keys = r"it has to be dict\[str, \{x: …, y: …, width: …, height: …\}\]"
    with pytest.raises(ParameterError, match=keys):
        split([Regions], {"regions": {"spot": [10, 20, 30, 40]}})


@pytest.mark.parametrize(
    "dtype", ["uint8", "uint16", "uint32", "int16", "int32", "uint64", "float32", "float64"]
)
@pytest.mark.parametrize("masked", [False, True])
def test_figures_are_those_of_the_receivers_regions(dtype: str, masked: bool) -> None:
    images = [image_of(dtype) for _ in range(3)]
    mask = (RNG.random(SHAPE) < 0.1) * 8
    mask[3:14, 5:10], mask[39, 0] = 1, 2
    metadata = {"pixel_mask": mask.tolist()} if masked else {}
    made = begun("regions", {"regions": REGIONS}, metadata).take(images)
    rectangles = {name: Rectangle(**values) for name, values in REGIONS.items()}
    receivers = RegionSeries("a", rectangles, metadata)
    for index, image in enumerate(images):
        row = receivers.row(Frame(Image(shape=SHAPE, type=dtype, compression="none"), [image.tobytes()]))
        assert row is not None
        ours = [
            [made.values[f"{name}_{value}"][index] for value in ("sum", "mean", "max")] for name in REGIONS
        ]
        np.testing.assert_array_equal(ours, row)
        counts = image[mask == 0] if masked else image.ravel()
        whole = math.fsum(float(value) for value in counts if value == value)
        assert made.values["total"][index] == pytest.approx(whole, rel=1e-15, abs=1e-6)
    assert math.isnan(made.of("outside_sum")[0]) and math.isnan(made.of("one_sum")[0]) == (
        masked or math.isnan(float(images[0][39, 0]))
    )


def test_a_frame_in_which_nothing_counts_has_no_total() -> None:
    made = begun("regions", metadata={"pixel_mask": [[1, 1], [1, 1]]}).take([np.ones((2, 2), np.uint16)])
    assert math.isnan(made.of("total")[0])
    made = begun("regions").take([np.full((2, 2), np.nan, np.float32)])
    assert math.isnan(made.of("total")[0])


def test_of_several_channels_the_first_counts_and_a_partial_frame_has_no_values() -> None:
    both = np.stack([np.full((2, 3), 4, np.uint16), np.full((2, 3), 9, np.uint16)])
    blobs = [each.tobytes() for each in both]
    made = begun("regions", channels=("low", "high"))
    made.take([
        frame(both, 0, blobs),
        frame(both, 1, [b"", blobs[1]], partial="low did not arrive"),
        frame(both, 2, [blobs[0], b""], partial="high did not arrive"),
    ])  # fmt: skip
    assert made.values["total"] == {0: 24.0, 2: 24.0} and not made.errors
    made = begun("regions").take([frame(both[0], 0, [blobs[0]], partial="rows are missing")])
    assert not made.values and not made.errors


@pytest.mark.parametrize(
    ("array", "blobs", "sentence"),
    [
        (np.zeros(7, np.uint32), 1, "regions needs images of [rows, cols], these frames are spectra"),
        (np.zeros((4, 5, 3), np.uint8), 1, "these frames are colour images"),
        (np.zeros((2, 4, 5), np.uint8), 2, "these are 2 separate modules; put {type: assemble}"),
    ],
)  # fmt: skip
def test_frames_that_are_no_image_fail_with_a_sentence(array: np.ndarray, blobs: int, sentence: str) -> None:
    parts = [array.tobytes()] if blobs == 1 else [each.tobytes() for each in array]
    made = begun("regions").take([frame(array, 0, parts)])
    assert sentence in made.errors[0]


def test_a_mask_of_another_shape_is_said() -> None:
    made = begun("regions", metadata={"pixel_mask": [[0, 1]]}).take([np.zeros((4, 5), np.uint8)])
    assert "the pixel_mask of the series has [1, 2] pixels, the frame [4, 5]" in made.errors[0]


def test_regions_change_while_frames_are_processed() -> None:
    images = [np.full(SHAPE, number, np.uint16) for number in range(4)]
    made = begun("regions", {"regions": {"a": {"x": 0, "y": 0, "width": 2, "height": 2}}}).take(images[:2])
    made.change(regions={"a": {"x": 0, "y": 0, "width": 4, "height": 4}})
    made.take(images[2:], 2)
    assert made.of("a_sum") == [0.0, 4.0, 32.0, 48.0]


@pytest.mark.parametrize(
    ("regions", "sentence"),
    [
        ({"a b": {"x": 0, "y": 0, "width": 1, "height": 1}}, "a name has letters, digits and underscores"),
        ({"a" * 60: {"x": 0, "y": 0, "width": 1, "height": 1}}, "a name of 60 characters, and 58 are"),
        ({"a": {"x": -1, "y": 0, "width": 1, "height": 1}}, "parameter regions of Regions is"),
        ({"a": {"x": 1, "y": 0, "width": 1}}, "Object missing required field `height`"),
    ],
)  # fmt: skip
def test_regions_that_cannot_be_are_refused_in_a_sentence(regions: object, sentence: str) -> None:
    with pytest.raises((Refusal, ParameterError), match=re.escape(sentence)):
        begun("regions", {"regions": regions})
