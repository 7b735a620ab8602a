"""A receiver with several writers: threads or processes for plain frames, processes for packed ones."""

from __future__ import annotations

import os
import re
import signal
import time
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
from tests.streams import Streamer, pixels

SHAPE = (400, 400)
"""320 kB a frame: plain ones go to threads."""
FRAMES = 30
NOTICED = 8.0
"""Seconds within which it has to be noticed that a writer is stopped."""
COMPRESSIONS = pytest.mark.parametrize("compression", ["none", "bslz4"])


@pytest.fixture(params=["threads"])
def receiver(
    start_receiver: Callable[..., ReceiverProcess], request: pytest.FixtureRequest
) -> ReceiverProcess:
    running = start_receiver(writers=2, write_queue_mb=4, write_with=request.param)
    running.connected()
    return running


BOTH = pytest.mark.parametrize(
    "receiver", ["threads", pytest.param("processes", marks=pytest.mark.slow)], indirect=True
)
BY_PROCESSES = pytest.mark.parametrize("receiver", ["processes"], indirect=True)


def send(streamer: Streamer, numbers: range, compression: str) -> None:
    for number in numbers:
        array = pixels(number, SHAPE)
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
        return [index for index in range(frames) if not np.array_equal(data[index], pixels(index, SHAPE))]


def children(pid: int) -> list[int]:
    """Processes that a process has started."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def takes_a_series(receiver: ReceiverProcess, streamer: Streamer, compression: str) -> None:
    """The next series is taken whole."""
    path = receiver.root / "y.h5"
    series = begin(streamer, path, compression)
    send(streamer, range(FRAMES), compression)
    streamer.end(reason="complete", triggered=FRAMES, sent=FRAMES)
    assert receiver.ended(series).series.complete
    assert wrong(path, FRAMES) == []


@BOTH
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
        names = [found.name for found in sorted(receiver.root.glob(f"{name}_data_*"))]
        assert names == ([f"{name}_data_0001.h5", f"{name}_data_0002.h5"] if compression == "bslz4" else [])


@BOTH
@COMPRESSIONS
def test_any_frame_of_the_running_and_of_the_last_series_can_be_seen(
    compression: str, receiver: ReceiverProcess, streamer: Streamer
) -> None:
    series = begin(streamer, receiver.root / "x.h5", compression)
    send(streamer, range(FRAMES), compression)
    receiver.received(FRAMES)
    for index in (3, 17):
        np.testing.assert_array_equal(receiver.client.frame(index).array, pixels(index, SHAPE))
    streamer.end(reason="complete", triggered=FRAMES, sent=FRAMES)
    receiver.ended(series)
    np.testing.assert_array_equal(receiver.client.frame(5).array, pixels(5, SHAPE))


@BOTH
def test_after_kill_9_of_the_data_process_several_writers_go_on_in_the_one_file(
    receiver: ReceiverProcess, streamer: Streamer
) -> None:
    path = receiver.root / "x.h5"
    series = begin(streamer, path, "none")
    send(streamer, range(20), "none")
    receiver.flushed(20)
    os.kill(receiver.data_process(), signal.SIGKILL)
    receiver.wait(lambda status: status.series is not None and status.series.restarts == 1)
    receiver.connected()
    send(streamer, range(20, FRAMES), "none")
    streamer.end(reason="complete", triggered=FRAMES, sent=FRAMES)
    assert receiver.ended(series).series.complete
    assert wrong(path, FRAMES) == []


def test_kill_9_of_the_data_process_leaves_data_files_with_what_was_flushed_and_the_next_series_is_taken(
    receiver: ReceiverProcess, streamer: Streamer
) -> None:
    path = receiver.root / "x.h5"
    begin(streamer, path, "bslz4")
    send(streamer, range(20), "bslz4")
    receiver.flushed(20)
    os.kill(receiver.data_process(), signal.SIGKILL)
    status = receiver.wait(lambda status: status.series is not None and status.series.complete is False)
    assert (status.counts.stored, status.counts.missing) == (20, FRAMES - 20)
    assert wrong(path, 20) == []
    with h5py.File(path) as file:
        assert len(file["entry/data/data"]) == 20
        assert file["entry/instrument/sim_1/series/state"].asstr()[()] == "incomplete"
    receiver.connected()
    streamer.encoder = type(streamer.encoder)()
    takes_a_series(receiver, streamer, "bslz4")


def test_a_writer_that_dies_ends_the_series_in_error_and_the_next_one_is_taken(
    receiver: ReceiverProcess, streamer: Streamer
) -> None:
    path = receiver.root / "x.h5"
    begin(streamer, path, "bslz4")
    send(streamer, range(20), "bslz4")
    receiver.flushed(20)
    os.kill(children(receiver.data_process())[0], signal.SIGKILL)
    status = receiver.wait(lambda status: status.state == "error")
    assert "writer process 1" in status.error
    assert (status.counts.stored, status.counts.flushed, status.counts.missing) == (20, 20, FRAMES - 20)
    assert wrong(path, 20) == []
    streamer.end(reason="abort", triggered=20, sent=20)
    receiver.client.reset()
    takes_a_series(receiver, streamer, "bslz4")


@BY_PROCESSES
def test_a_writer_of_plain_frames_that_dies_ends_the_series_in_error_and_the_next_one_is_taken(
    receiver: ReceiverProcess, streamer: Streamer
) -> None:
    path = receiver.root / "x.h5"
    begin(streamer, path, "none")
    send(streamer, range(20), "none")
    receiver.flushed(20)
    os.kill(children(receiver.data_process())[1], signal.SIGKILL)
    status = receiver.wait(lambda status: status.state == "error")
    assert "writer process 2 was killed by SIGKILL" in status.error
    assert (status.counts.stored, status.counts.flushed, status.counts.missing) == (20, 20, FRAMES - 20)
    assert wrong(path, 20) == []
    streamer.end(reason="abort", triggered=20, sent=20)
    receiver.client.reset()
    takes_a_series(receiver, streamer, "none")


@pytest.mark.slow
@BY_PROCESSES
@COMPRESSIONS
def test_a_writer_that_is_stopped_ends_the_series_in_error_within_seconds_and_the_next_one_is_taken(
    compression: str, receiver: ReceiverProcess, streamer: Streamer
) -> None:
    path = receiver.root / "x.h5"
    begin(streamer, path, compression)
    send(streamer, range(20), compression)
    receiver.flushed(20)
    os.kill(children(receiver.data_process())[1], signal.SIGSTOP)
    stopped = time.monotonic()
    send(streamer, range(20, FRAMES), compression)
    status = receiver.wait(lambda status: status.state == "error")
    assert time.monotonic() - stopped < NOTICED
    assert re.search(
        r"writer process 2 was stopped \(SIGSTOP\) .* Look who stops processes .* then reset the receiver",
        status.error,
    )
    assert wrong(path, 20) == []
    streamer.end(reason="abort", triggered=FRAMES, sent=FRAMES)
    receiver.client.reset()
    takes_a_series(receiver, streamer, compression)


@BY_PROCESSES
@COMPRESSIONS
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_writers_that_were_lost_between_two_series_are_replaced_when_the_next_one_begins(
    number: signal.Signals, compression: str, receiver: ReceiverProcess, streamer: Streamer
) -> None:
    for writer in children(receiver.data_process()):
        os.kill(writer, number)
    took = time.monotonic()
    takes_a_series(receiver, streamer, compression)
    assert time.monotonic() - took < NOTICED
    how = "was killed by SIGKILL" if number == signal.SIGKILL else "was stopped"
    for writer in (1, 2):
        assert f"writer process {writer} {how}" in receiver.log.read_text()


@pytest.mark.parametrize("compression", ["bslz4", "none"])
def test_a_data_file_that_is_there_is_not_touched_and_said(
    receiver: ReceiverProcess, streamer: Streamer, compression: str
) -> None:
    precious = receiver.root / "x_data_0001.h5"
    precious.write_bytes(b"precious")
    with pytest.raises(ReceiverRefused, match=r"x_data_0001\.h5 exists and is not overwritten"):
        receiver.client.check(SeriesCheck(filename=str(receiver.root / "x.h5"), frames=FRAMES))
    begin(streamer, receiver.root / "x.h5", compression)
    status = receiver.wait(lambda status: status.state != "idle")  # what the check refuses does not begin
    assert status.state == "error"
    assert "x_data_0001.h5 exists and is not overwritten" in status.error
    assert precious.read_bytes() == b"precious"


def test_the_writers_end_with_their_receiver(receiver: ReceiverProcess) -> None:
    writers = children(receiver.data_process())
    assert len(writers) == 2
    assert receiver.stop() == 0
    assert [pid for pid in writers if Path(f"/proc/{pid}").exists()] == []


def test_a_series_of_too_many_segments_is_refused_at_the_check_and_at_its_start(
    start_receiver: Callable[..., ReceiverProcess], streamer: Streamer
) -> None:
    receiver = start_receiver(frames_per_file=2)
    receiver.connected()
    path = receiver.root / "x.h5"
    says = "8002 frames would be 4001 segments, .* frames_per_file is 2, set it to 3 or more"
    with pytest.raises(ReceiverRefused, match=says):
        receiver.client.check(SeriesCheck(filename=str(path), frames=8_002))
    streamer.start(str(path), frames=8_002, trigger_mode="SOFTWARE")
    status = receiver.wait(lambda status: status.state == "error")
    assert re.search(says, status.error)
    assert not path.exists()


def test_frames_of_several_images_have_no_segments_of_which_there_could_be_too_many(
    start_receiver: Callable[..., ReceiverProcess], streamer: Streamer
) -> None:
    receiver = start_receiver(frames_per_file=1)
    receiver.connected()
    path = receiver.root / "x.h5"
    streamer.start(
        str(path), frames=4_001, shape=(2, 4, 6), type="uint16", compression="none", channels=("a", "b")
    )
    status = receiver.wait(lambda status: status.state != "idle")
    assert (status.state, status.error) == ("running", "")
    assert path.exists()
