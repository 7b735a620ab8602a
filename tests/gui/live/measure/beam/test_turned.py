"""The beam centre as the detector sends the image, from a picture that the receiver has turned."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from penstock.gui.live.measure.beam.geometry import IN_BLOCKS, NOT_ASKED, NotKnown, Turned

ROTATE = [{"type": "rotate", "quarter_turns": turns} for turns in (1, 2, 3)]
FLIP = [{"type": "flip", "direction": direction} for direction in ("left-right", "up-down")]


def shown(image: np.ndarray[Any, Any], steps: list[dict[str, Any]]) -> np.ndarray[Any, Any]:
    """What the receiver makes of an image."""
    for step in steps:
        if step["type"] == "rotate":
            image = np.rot90(image, step["quarter_turns"])
        elif step["type"] == "flip":
            image = image[:, ::-1] if step["direction"] == "left-right" else image[::-1]
    return image


@pytest.mark.parametrize(
    "steps", [list(each) for count in (1, 2) for each in product(ROTATE + FLIP, repeat=count)]
)
def test_every_pixel_is_found_where_it_was_sent(steps: list[dict[str, Any]]) -> None:
    sent = np.arange(12).reshape(3, 4)
    seen = shown(sent, steps)
    turned = Turned([{"type": "cbf"}, *steps, {"type": "bslz4"}], seen.shape)
    assert turned.is_turned
    for (row, column), value in np.ndenumerate(seen):
        x, y = turned.as_sent((column + 0.5, row + 0.5))
        assert sent[int(y), int(x)] == value


def test_turns_of_single_modules_do_not_move_the_centre() -> None:
    steps = [ROTATE[0], {"type": "assemble"}, FLIP[0]]
    assert Turned(steps, (10, 20)).as_sent((1.0, 2.0)) == (19.0, 2.0)


def test_without_turns_the_picture_is_what_was_sent_also_in_blocks() -> None:
    turned = Turned([{"type": "decompress"}, {"type": "mask"}], None)
    assert turned.as_sent((1.25, 2.5)) == (1.25, 2.5)
    assert not turned.is_turned


@pytest.mark.parametrize(
    ("turned", "words"),
    [
        (Turned(None), NOT_ASKED),
        (Turned(None, why="The receiver does not answer."), "The receiver does not answer."),
        (Turned(FLIP, None), IN_BLOCKS),
        (Turned([{"type": "crop"}], (3, 4)), "Where the receiver's step crop puts the pixels is not known"),
    ],
)
def test_what_cannot_be_known_is_refused_with_a_sentence(turned: Turned, words: str) -> None:
    with pytest.raises(NotKnown, match="^" + words.split("(")[0]):
        turned.as_sent((1.0, 1.0))
