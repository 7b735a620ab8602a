"""A receiver with several files per series, plain frames and packed ones; and one that writes segments."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from penstock.codecs import bslz4
from penstock.receiver.client import ReceiverRefused
from penstock.receiver.models import SeriesCheck
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer

SHAPE = (400, 400)
"""320 kB per frame, plain or packed noise: threads write it."""
FRAMES = 30
COMPRESSIONS = pytest.mark.parametrize("compression", [pytest.param("none", marks=pytest.mark.slow), "bslz4"])


@pytest.fixture
def receiver(start_receiver: Callable[..., ReceiverProcess]) -> ReceiverProcess:
    running = start_receiver(files=2)
    running.connected()
    return running


def sent(number: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(number).integers(0, 2**16, SHAPE, np.uint16)


def send(streamer: Streamer, numbers: range, compression: str) -> None:
    for number in numbers:
        array = sent(number)
        blob = bslz4.compress(array) if compression == "bslz4" else array.tobytes()
        streamer.frame(number, array, blobs=[blob], compression=compression)


def begin(streamer: Streamer, path: Path, compression: str, **keys: Any) -> str:
    """The start message of a series whose streamer says everything."""
    return streamer.start(
        str(path), frames=FRAMES, shape=SHAPE, type="uint16", compression=compression,
        trigger_mode="SOFTWARE", **keys,
    )  # fmt: skip


def wrong(path: Path, frames: int) -> list[int]:
    """Which of the first frames in a file are not what was sent."""
    with h5py.File(path) as file:
        data = file["entry/data/data"]
        return [index for index in range(frames) if not np.array_equal(data[index], sent(index))]


@COMPRESSIONS
def test_several_series_have_every_frame_at_its_index(
    compression: str, receiver: ReceiverProcess, streamer: Streamer
) -> None:
    for name in ("a", "b"):
        path = receiver.root / f"{name}.h5"
        series = begin(streamer, path, compression)
        send(streamer, range(FRAMES), compression)
        streamer.end(reason="complete", triggered=FRAMES, sent=FRAMES)
        status = receiver.ended(series)
        assert (status.state, status.series.complete, status.counts.flushed) == ("idle", True, FRAMES)
        assert wrong(path, FRAMES) == []
    assert sorted(found.name for found in receiver.root.glob("*.h5")) == ["a.h5", "b.h5"]


@pytest.mark.slow
@COMPRESSIONS
def test_any_frame_of_the_running_and_of_the_last_series_can_be_seen(
    compression: str, receiver: ReceiverProcess, streamer: Streamer
) -> None:
    series = begin(streamer, receiver.root / "x.h5", compression)
    send(streamer, range(FRAMES), compression)
    receiver.received(FRAMES)
    for index in (3, 17):
        np.testing.assert_array_equal(receiver.client.frame(index).array, sent(index))
    streamer.end(reason="complete", triggered=FRAMES, sent=FRAMES)
    receiver.ended(series)
    np.testing.assert_array_equal(receiver.client.frame(5).array, sent(5))


@pytest.mark.slow
@COMPRESSIONS
def test_after_kill_9_of_the_data_process_several_writers_go_on_in_the_one_file(
    compression: str, receiver: ReceiverProcess, streamer: Streamer
) -> None:
    path = receiver.root / "x.h5"
    series = begin(streamer, path, compression)
    send(streamer, range(20), compression)
    receiver.flushed(20)
    os.kill(receiver.data_process(), signal.SIGKILL)
    receiver.wait(lambda status: status.series is not None and status.series.restarts == 1)
    receiver.connected()
    send(streamer, range(20, FRAMES), compression)
    streamer.end(reason="complete", triggered=FRAMES, sent=FRAMES)
    assert receiver.ended(series).series.complete
    assert wrong(path, FRAMES) == []


@pytest.mark.slow
def test_a_series_of_too_many_segments_is_refused_at_the_check_and_taken_if_it_comes_all_the_same(
    start_receiver: Callable[..., ReceiverProcess], streamer: Streamer
) -> None:
    receiver = start_receiver(frames_per_file=2)
    receiver.connected()
    path = receiver.root / "x.h5"
    says = "8,002 frames would be 4,001 segments, .* frames_per_file is 2, set it to 3 or more"
    with pytest.raises(ReceiverRefused, match=says):
        receiver.client.check(SeriesCheck(filename=str(path), frames=8_002))
    series = streamer.start(str(path), frames=8_002, trigger_mode="SOFTWARE")
    streamer.frame(0, sent(0))
    streamer.frame(7_999, sent(7_999))
    streamer.end(reason="stop", triggered=8_000)
    status = receiver.ended(series)
    assert (status.state, status.counts.stored) == ("idle", 2)
    assert wrong(path, 1) == []
    series = streamer.start(str(receiver.root / "y.h5"), frames=8_002, trigger_mode="SOFTWARE")
    streamer.frame(8_000, sent(8_000))
    status = receiver.wait(lambda status: status.state == "error")
    assert "a series has at most 4,000 segments, of 2 frames each; set frames_per_file higher" in status.error
