"""The layout of modules in an image that is turned after they were assembled."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from penstock.receiver.transforms.module_layout import Layout, Place
from penstock.receiver.transforms.steps.format import Step
from penstock.receiver.transforms.steps.orientation import Flip, Rotate, flip, rotate, turned

STEPS: list[Step] = [
    *(Rotate(quarter_turns=turns) for turns in (1, 2, 3)),
    Flip(direction="left-right"),
    Flip(direction="up-down"),
]


@pytest.mark.parametrize("steps", [(), *itertools.product(STEPS, repeat=2)], ids=str)
def test_each_module_lies_where_its_pixels_are(steps: tuple[Step, ...]) -> None:
    layout = Layout((Place(0, 1, 2, 3, 0), Place(3, 0, 4, 2, 1)), (8, 5))
    image = np.zeros(layout.shape, int)
    for number, place in enumerate(layout.places, 1):
        image[place.region] = number
    for step in steps:
        if isinstance(step, Rotate):
            image = rotate(image, step.quarter_turns)
        elif isinstance(step, Flip):
            image = flip(image, step.direction)
    found = turned(layout, steps)
    drawn = np.zeros(found.shape, int)
    for number, place in enumerate(found.places, 1):
        drawn[place.region] = number
    np.testing.assert_array_equal(drawn, image)
