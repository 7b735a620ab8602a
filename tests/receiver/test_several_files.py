"""A receiver with several files per series: plain frames and packed ones, and a receiver that is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers the filters)
import numpy as np
import pytest

from penstock.codecs import bslz4
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer

SHAPE = (1024, 1024)
"""2 MB per frame: blocks of four."""
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
    names = sorted(found.name for found in receiver.root.glob("*.h5"))
    assert names == ["a.h5", "a_part1.h5", "a_part2.h5", "b.h5", "b_part1.h5", "b_part2.h5"]


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
def test_after_kill_9_of_the_data_process_it_goes_on_in_the_same_files(
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
