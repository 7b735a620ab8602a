"""What the header says of pixels is turned with them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.receiver.transforms.frame_processor import FrameProcessor
from penstock.receiver.transforms.joined import Joined, JoinedStart
from penstock.receiver.transforms.module_processor import ModuleProcessor
from penstock.receiver.transforms.steps.bslz4 import Bslz4
from penstock.receiver.transforms.steps.chain import Chain
from penstock.receiver.transforms.steps.dark_flat import DarkFlat
from penstock.receiver.transforms.steps.format import Step
from penstock.receiver.transforms.steps.orientation import Flip, Rotate, described, recorded
from penstock.stins.messages import Header, Start

SHAPE = (4, 7)
TURNS: list[list[Step]] = [
    *([Rotate(quarter_turns=turns)] for turns in (1, 2, 3)),
    [Flip(direction="left-right")],
    [Flip(direction="up-down")],
    [Rotate(quarter_turns=1), Flip(direction="left-right"), Rotate(quarter_turns=3)],
]  # fmt: skip


@pytest.mark.parametrize("turns", TURNS)
@pytest.mark.parametrize("pixel", [(0, 0), (1, 5), (3, 6)])
def test_the_beam_centre_stays_on_its_pixel(turns: list[Step], pixel: tuple[int, int]) -> None:
    mask = np.zeros(SHAPE, np.uint32)
    mask[pixel] = 1
    row, column = pixel
    found = described(
        {"pixel_mask": mask, "beam_center_x": column + 0.25, "beam_center_y": row + 0.5}, turns, None
    )
    place = (int(found["beam_center_y"] // 1), int(found["beam_center_x"] // 1))
    assert [tuple(item) for item in np.argwhere(found["pixel_mask"]).tolist()] == [place]


def test_pixel_sizes_change_places_with_a_quarter_turn() -> None:
    sizes = {"x_pixel_size": 1e-4, "y_pixel_size": 2e-4}
    assert described(sizes, [Rotate(quarter_turns=1)], SHAPE) == {"x_pixel_size": 2e-4, "y_pixel_size": 1e-4}
    assert described(sizes, [Rotate(quarter_turns=2)], SHAPE) == sizes


def test_images_of_channels_and_lists_are_turned_too() -> None:
    image = np.arange(28).reshape(SHAPE)
    flipped = image[::-1]
    found = described(
        {"pixel_mask": {"a": image, "b": image + 1}, "flatfield": image.tolist()},
        [Flip(direction="up-down")],
        None,
    )
    assert np.array_equal(found["pixel_mask"]["b"], flipped + 1)
    assert np.array_equal(found["flatfield"], flipped)


def test_a_beam_centre_that_cannot_be_turned_is_not_given_as_one_of_the_turned_image() -> None:
    centre = {"beam_center_x": 1.0, "beam_center_y": 2.0}
    found = described({**centre, "label": "s1"}, [Flip(direction="up-down")], None)
    assert found == {"before_transforms": centre, "label": "s1"}


@pytest.mark.parametrize("joined", [False, True])
def test_facts_of_counts_do_not_hold_for_what_a_step_has_made_of_them(tmp_path: Path, joined: bool) -> None:
    """Else corrected pixels below 0 would have no value, and bright ones would be called saturated."""
    np.save(tmp_path / "dark.npy", np.ones(SHAPE, "<f4"))
    corrects = DarkFlat(dark=str(tmp_path / "dark.npy"))
    facts = {"saturation_value": 65000.0, "underload_value": 0}
    header = Header(filename="", shape=(1, *SHAPE), type="int32", compression="none")

    def behind(*steps: Step) -> Mapping[str, Any]:
        if not joined:
            return FrameProcessor(Chain(steps)).begin(Start(header, {"label": "s1", **facts}))[0].metadata
        start = JoinedStart(header, {"label": "s1", **facts}, joined=Joined(["a"], [Start(header, {})]))
        return ModuleProcessor(steps).begin(start)[0].metadata

    assert behind(corrects) == {"label": "s1", "before_transforms": facts}
    assert behind(Flip(direction="up-down"), Bslz4())["saturation_value"] == 65000.0


@pytest.mark.parametrize(
    "metadata",
    [
        {"pixel_mask": "none"}, {"pixel_mask": [[1], [2, 3]]}, {"pixel_mask": {"a": 1}}, {"flatfield": [1.0]},
        {"beam_center_x": "far", "beam_center_y": 1.0}, {"pixel_mask": {}},
    ],
)  # fmt: skip
def test_what_is_no_image_is_left_as_it_is(metadata: dict[str, Any]) -> None:
    assert described(metadata, [Rotate(quarter_turns=1)], SHAPE) == metadata


def test_steps_that_do_not_turn_change_nothing() -> None:
    metadata = {"pixel_mask": np.zeros(SHAPE), "beam_center_x": 1.0, "beam_center_y": 1.0}
    assert described(metadata, [Bslz4()], SHAPE) is metadata


def test_what_the_receiver_turns_is_noted_beside_what_the_streamer_has_turned() -> None:
    steps: list[Step] = [Rotate(quarter_turns=3), Bslz4(), Flip(direction="left-right")]
    words = {"receiver_transforms": ["rotate 270", "flip left-right"]}
    assert recorded({"acquisition": {"rotation": 90}}, steps) == {"acquisition": {"rotation": 90, **words}}
    assert recorded({}, steps) == {"acquisition": words}
    assert recorded({"acquisition": "by hand"}, steps) == {"acquisition": "by hand"}
    assert recorded({}, [Bslz4()]) == {}
