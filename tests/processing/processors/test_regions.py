"""Regions of live processing, and the receiver's regions of interest: the same pixels count."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from penstock.processing import processor
from penstock.processing.pixels import Pool
from penstock.processing.processors.regions import Regions
from penstock.processing.series import from_start
from penstock.processing.worker.configuring import Refusal
from penstock.processing.worker.parameters import ParameterError, split
from penstock.receiver.config.rectangles import Rectangle
from penstock.receiver.regions.pixels import VALUES
from penstock.receiver.regions.series import RegionSeries
from penstock.stins.messages import Frame, Header, Image
from tests.processing.processors.built_in import begun
from tests.processing.worker.worker_process import frame

SHAPE = (40, 60)


def test_a_region_that_is_a_list_is_refused_with_the_keys_that_it_has() -> None:
    keys = r"it has to be dict\[str, \{x: …, y: …, width: …, height: …\}\]"
    with pytest.raises(ParameterError, match=keys):
        split([Regions], {"regions": {"spot": [10, 20, 30, 40]}})


NAN, INF = math.nan, math.inf
U16, U32 = 65535, 2**32 - 1
NONE = (NAN, NAN, NAN, NAN)
COUNTED = {
    # dtype, pixels, masked ones, metadata; sum, mean, maximum and saturated pixels of the left four pixels,
    # sum and saturated pixels of all six: counted by hand
    "uint8": ("uint8", [[1, 2, 9], [3, 250, 9]], [], {}, (256, 64, 250, 0), (274, 0)),
    "uint8: 255 is saturated": ("uint8", [[1, 2, 255], [3, 255, 9]], [], {}, (261, 65.25, 255, 1), (525, 2)),
    "uint8: 255 is a gap, 200 is saturated": (
        "uint8", [[1, 2, 255], [200, 255, 9]], [], {"saturation_value": 200.0},
        (203, 203 / 3, 200, 1), (212, 1),
    ),
    "uint16: 65535 is saturated": (
        "uint16", [[1, 2, 9], [3, U16, U16]], [], {}, (65541, 16385.25, 65535, 1), (131085, 2),
    ),
    "uint16: saturated below 65535, which is a gap": (
        "uint16", [[1, 2, U16], [1000, U16, 999]], [], {"saturation_value": 1000},
        (1003, 1003 / 3, 1000, 1), (2002, 1),
    ),
    "uint16: at, above and below the saturation value": (
        "uint16", [[99, 100, 0], [101, 0, 98]], [], {"saturation_value": 100}, (300, 75, 101, 2), (398, 2),
    ),
    "uint16: half a count below": (
        "uint16", [[99, 100, 0], [0, 0, 0]], [], {"saturation_value": 99.5}, (199, 49.75, 100, 1), (199, 1),
    ),
    "uint16: a masked pixel that is saturated": (
        "uint16", [[1, 2, 9], [3, U16, U16]], [(1, 1)], {}, (6, 2, 3, 0), (65550, 1),
    ),
    "uint16: all that count are saturated": (
        "uint16", [[U16, U16, 5], [U16, U16, 5]], [(0, 0)], {}, (196605, 65535, 65535, 3), (196615, 3),
    ),
    "uint16: below the underload value": (
        "uint16", [[9, 10, 11], [0, 30, 10]], [], {"underload_value": 10}, (40, 20, 30, 0), (61, 0),
    ),
    "uint32: gaps": (
        "uint32", [[1, U32, U32], [7, U32, 4]], [], {}, (8, 4, 7, 0), (12, 0),
    ),
    "uint32: a gap, and a saturated pixel": (
        "uint32", [[1, 5000, U32], [7, U32, 5001]], [], {"saturation_value": 5000.0},
        (5008, 5008 / 3, 5000, 1), (10009, 2),
    ),
    "uint32: nothing but gaps": (
        "uint32", [[U32, U32, 1], [U32, U32, 2]], [], {}, NONE, (3, 0),
    ),
    "uint32: nothing but gaps and masked pixels": (
        "uint32", [[U32, 6, U32], [U32, 7, U32]], [(0, 1), (1, 1)], {}, NONE, (NAN, NAN),
    ),
    "uint64": (
        "uint64", [[1, 2**64 - 1, 2**64 - 1], [2, 3, 4]], [], {"saturation_value": 3}, (6, 2, 3, 1), (10, 2),
    ),
    "uint64: a gap": (
        "uint64", [[1, 2**64 - 1, 4], [2, 3, 2**64 - 1]], [], {}, (6, 2, 3, 0), (10, 0),
    ),
    "int16: noise around 0": (
        "int16", [[-5, 3, -1], [2, -4, 1]], [], {}, (-4, -1, 3, 0), (-4, 0),
    ),
    "int16: its greatest value is a count": (
        "int16", [[32767, 1, 0], [0, 0, 0]], [], {}, (32768, 8192, 32767, 0), (32768, 0),
    ),
    "int32: negative values count": (
        "int32", [[-1, -2, -1], [8, 3, 0]], [], {}, (8, 2, 8, 0), (7, 0),
    ),
    "int32: gaps are -1 and -2": (
        "int32", [[-1, -2, -1], [8, 3, 0]], [], {"underload_value": 0}, (11, 5.5, 8, 0), (11, 0),
    ),
    "int32: masked, below and saturated": (
        "int32", [[-2, 900, 901], [5, 899, -1]], [(1, 0)], {"underload_value": 0.0, "saturation_value": 900},
        (1799, 899.5, 900, 1), (2700, 2),
    ),
    "int32: nothing has a value": (
        "int32", [[-1, -1, -1], [-2, -2, -1]], [], {"underload_value": 0}, NONE, (NAN, NAN),
    ),
    "int64": (
        "int64", [[-7, 2**40, 1], [3, 4, 1]], [], {"underload_value": 0, "saturation_value": 2**40},
        (2**40 + 7, (2**40 + 7) / 3, 2**40, 1), (2**40 + 9, 1),
    ),
    "float32: NaN and infinity": (
        "float32", [[NAN, 1.5, INF], [2.5, -INF, 0.25]], [], {}, (4, 2, 2.5, 0), (4.25, 0),
    ),
    "float32: saturated, masked, below": (
        "float32", [[-0.5, 10, NAN], [2.5, 12, 10]], [(0, 2)],
        {"underload_value": 0, "saturation_value": 10}, (24.5, 24.5 / 3, 12, 2), (34.5, 3),
    ),
    "float64: nothing but NaN": (
        "float64", [[NAN, NAN, 1], [NAN, NAN, -1]], [], {}, NONE, (0, 0),
    ),
    "a saturation value of 0 says nothing": (
        "uint32", [[1, 2, 3], [4, 5, 6]], [], {"saturation_value": 0}, (12, 3, 5, 0), (21, 0),
    ),
}  # fmt: skip
LEFT = {"x": 0, "y": 0, "width": 2, "height": 2}


@pytest.mark.parametrize("case", COUNTED)
def test_pixels_are_counted_alike_by_the_receiver_and_by_the_processor(case: str) -> None:
    dtype, values, masked, metadata, left, total = COUNTED[case]
    image = np.array(values, dtype)
    if masked:
        mask = np.zeros(image.shape, int)
        mask[tuple(np.transpose(masked))] = 8
        metadata = metadata | {"pixel_mask": mask.tolist()}
    rectangles = {"left": LEFT, "all": {**LEFT, "width": 9}, "outside": {**LEFT, "x": 3}}
    receivers = RegionSeries("a", {name: Rectangle(**each) for name, each in rectangles.items()}, metadata)
    row = receivers.row(Frame(Image(shape=image.shape, type=dtype, compression="none"), [image.tobytes()]))
    assert row is not None
    np.testing.assert_array_equal(row[[0, 2]], [left, NONE])
    np.testing.assert_array_equal(row[1, [0, 3]], total)
    made = begun("regions", {"regions": rectangles}, metadata).take([image])
    ours = [[made.of(f"{name}_{value}")[0] for value in VALUES] for name in rectangles]
    np.testing.assert_array_equal(ours, row)
    np.testing.assert_array_equal([made.of("total")[0], made.of("total_saturated")[0]], total)


def test_the_facts_of_counts_do_not_hold_for_pixels_that_a_step_has_replaced() -> None:
    """Corrected counts may be negative, and above the value at which counts were saturated."""
    metadata = b'{"saturation_value": 100, "underload_value": 0}'
    regions = Regions()
    regions.regions = {"left": Rectangle(**LEFT)}
    regions.configure()
    regions.start(from_start(Header(filename=""), [metadata]))
    header, blob = frame(np.full((2, 3), 100, np.uint16))
    given = processor.Frame(0, (header, [blob]), Pool())
    before = regions.process(given)
    assert before is not None and (before["left_saturated"], before["total_saturated"]) == (4, 6)
    given.pixels = np.array([[-1.5, 120.5, NAN], [NAN, 4, 200]], np.float32)
    found = regions.process(given)
    assert found is not None and [found[f"left_{value}"] for value in VALUES] == [123.0, 41.0, 120.5, 0.0]
    assert (found["total"], found["total_saturated"]) == (323.0, 0.0)


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
        ({"a" * 60: {"x": 0, "y": 0, "width": 1, "height": 1}}, "a name of 60 characters, and 53 are"),
        ({"a": {"x": -1, "y": 0, "width": 1, "height": 1}}, "parameter regions of Regions is"),
        ({"a": {"x": 1, "y": 0, "width": 1}}, "Object missing required field `height`"),
    ],
)  # fmt: skip
def test_regions_that_cannot_be_are_refused_in_a_sentence(regions: object, sentence: str) -> None:
    with pytest.raises((Refusal, ParameterError), match=re.escape(sentence)):
        begun("regions", {"regions": regions})
