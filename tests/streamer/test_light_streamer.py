"""The light streamer, as a process of this Python and of Python 3.6."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from penstock.codecs import cbf
from penstock.streamer.light_client import LightRefused
from tests.streamer.light_rig import SHAPE, Light, cbf_file, pixels


@pytest.fixture
def python() -> str:
    return sys.executable


@pytest.fixture
def light(python: str, tmp_path: Path) -> Iterator[Light]:
    with Light(python, tmp_path / "ramdisk") as light:
        yield light


def test_every_file_of_a_series_is_sent_undecoded_and_removed(light: Light) -> None:
    prefix = light.begin(planned=3, metadata={"beamline": "X"}, frames_per_trigger=2)

    light.write_frames(prefix, 0, 1, 2)
    light.client.finish("s1", triggered=3)

    start, frames, end = light.receive_series()
    assert (start.header.series, start.header.compression, start.metadata) == ("s1", "cbf", {"beamline": "X"})
    assert [frame.image.frame for frame in frames] == [0, 1, 2]
    assert [frame.image.trigger for frame in frames] == [0, 0, 1]
    for number, frame in enumerate(frames):
        decoded = cbf.decode(frame.blobs[0], SHAPE[0] * SHAPE[1]).reshape(SHAPE)
        np.testing.assert_array_equal(decoded, pixels(number))
    assert (end.reason, end.triggered, end.sent, end.lost) == ("complete", 3, 3, None)
    assert [m.msg_number for m in (start.header, *(f.image for f in frames), end)] == [0, 1, 2, 3, 4]
    light.until(lambda status: status.state == "idle" and status.held == 0)
    assert light.files() == []


def test_without_a_receiver_no_series_begins(python: str, tmp_path: Path) -> None:
    with (
        Light(python, tmp_path, receiver=False) as light,
        pytest.raises(LightRefused, match="no receiver is connected to tcp://127.0.0.1") as caught,
    ):
        light.begin()
    assert caught.value.kind == "no_receiver"


def test_files_of_an_earlier_series_are_removed_and_not_sent(light: Light) -> None:
    light.write("penstock-old_00007.cbf", cbf_file(pixels(7)))
    light.write("somebody_00000.cbf", cbf_file(pixels(0)))

    prefix = light.begin(planned=1)
    light.write_frames(prefix, 0)
    light.client.finish("s1", triggered=1)

    _, frames, _ = light.receive_series()
    assert len(frames) == 1
    status = light.until(lambda status: status.state == "idle" and status.held == 0)
    assert status.left_over == 1
    assert light.files() == ["somebody_00000.cbf"]
