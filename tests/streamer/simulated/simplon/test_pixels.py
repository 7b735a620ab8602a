"""The frames that a simulated control unit sends."""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest

from penstock.codecs import bslz4
from penstock.streamer.simulated import patterns
from penstock.streamer.simulated.simplon import pixels
from penstock.streamer.simulated.simplon.pixels import Picture, Pictures, Pixels


def image(picture: Picture, channel: int = 0) -> np.ndarray:
    blob, kind = picture.blobs[channel], np.dtype(picture.dtype)
    size = picture.shape[0] * picture.shape[1]
    plain = (
        bslz4.decompress(blob, size, kind) if picture.compression == "bslz4" else np.frombuffer(blob, kind)
    )
    return plain.reshape(picture.shape)


@pytest.mark.parametrize("compression", ["bslz4", "none"])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32"])
@pytest.mark.parametrize("shape", [(3, 7), (30, 41), (64, 64), (300, 411)])
def test_each_frame_of_the_gradient_is_exact(shape: tuple[int, int], dtype: str, compression: str) -> None:
    pictures = Pixels("gradient", shape).prepare(dtype, compression, 1, 3)
    for number in (0, 1, 70, 130):
        assert np.array_equal(image(pictures[number]), patterns.gradient(shape, dtype, number))


def test_a_higher_threshold_counts_less_in_the_frame_of_the_same_number() -> None:
    pictures = Pixels("gradient", (64, 64)).prepare("uint16", "bslz4", 2, 3)
    first, second = image(pictures[5]), image(pictures[5], 1)
    assert np.array_equal(second[1:], first[1:] // 2)
    assert patterns.frame_number(second) == 5


def test_frames_differ_as_far_as_memory_allows_and_then_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    small = Pixels("gradient", (64, 64)).prepare("uint16", "bslz4", 1, 1)
    assert patterns.frame_number(image(small[5000])) == 5000
    monkeypatch.setattr(pixels, "POOL_BYTES", 200 * len(small[0].blobs[0]))
    few = Pixels("gradient", (64, 64)).prepare("uint16", "bslz4", 1, 1)
    kept = next(n for n in range(1, 1000) if few[n] is few[0])
    assert 190 < kept < 210
    assert few[kept + 1] is few[1]


def test_random_patterns_are_compressed_once() -> None:
    pictures = Pixels("diffraction", (64, 64)).prepare("uint16", "bslz4", 1, 1)
    assert pictures[patterns.POOL_FRAMES] is pictures[0]
    assert not np.array_equal(image(pictures[0]), image(pictures[1]))


def test_arm_does_not_wait_for_all_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count(0.0, pixels.AT_ARM / 4)
    monkeypatch.setattr(pixels, "time", SimpleNamespace(monotonic=lambda: next(ticks)))
    made: list[int] = []

    def make(number: int) -> Picture:
        made.append(number)
        return Picture((1, 1), "uint8", "none", (b"x",))

    Pictures(make).prepare(100_000)
    assert made == [0, 1, 2, 3, 4]
