from __future__ import annotations

import itertools

import numpy as np
import pytest

from penstock.streamer.camera.series import Orientation


@pytest.mark.parametrize(
    ("rotation", "fliplr", "flipud"), list(itertools.product((0, 90, 180, 270), (False, True), (False, True)))
)
@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 5)])
def test_it_rotates_counter_clockwise_then_mirrors_each_image(
    shape: tuple[int, ...], rotation: int, fliplr: bool, flipud: bool
) -> None:
    frame = np.arange(np.prod(shape), dtype=np.uint16).reshape(shape)
    images = frame.reshape(-1, *shape[-2:])
    expected = np.stack([np.rot90(image, rotation // 90) for image in images])
    if fliplr:
        expected = np.stack([np.fliplr(image) for image in expected])
    if flipud:
        expected = np.stack([np.flipud(image) for image in expected])
    buffer = frame.reshape(-1).view(np.uint8).copy()
    orientation = Orientation(shape, "uint16", rotation, fliplr, flipud)
    orientation(buffer)
    turned = buffer.view(np.uint16).reshape(orientation.shape)
    np.testing.assert_array_equal(turned.reshape(expected.shape), expected)
