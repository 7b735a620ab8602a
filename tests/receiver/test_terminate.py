"""A receiver that is asked to end in a series leaves it to the next start, if its entry says so."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import h5py
import numpy as np
import pytest

from penstock.receiver.models import FrameStatus
from tests.receiver.processes import ReceiverProcess
from tests.receiver.test_deaths import state_of, stream
from tests.streams import Streamer, pixels

Start = Callable[..., ReceiverProcess]
ENDS = 10
"""Times that the receiver is asked to end in one series."""
MOST_LOST = 25
"""Frames that each of them may cost: those of a quarter of a second, which it takes a busy machine to close
the sockets. A quiet one loses none."""
RATE, SIDE = 100.0, 724
"""Frames per second of 1 MB."""


def started(folder: Path, streamer: Streamer, **keys: object) -> ReceiverProcess:
    """A receiver with the same entry and files as the one before."""
    found = ReceiverProcess(folder, streamer.endpoint, on_terminate="resume", **keys)
    found.connected()
    return found


def test_the_next_start_resumes_the_series_and_the_file_says_so(tmp_path: Path, streamer: Streamer) -> None:
    first = started(tmp_path, streamer)
    path = first.root / "x.h5"
    series = stream(streamer, path, 20, planned=40)
    first.received(20)
    assert first.stop() == 0
    first.close()
    assert state_of(path)[0] == "in progress"
    assert "the next start resumes the series" in first.log.read_text()
    second = started(tmp_path, streamer)
    assert "is continued: the receiver was ended when 20 frames were in it" in second.log.read_text()
    for number in range(20, 40):
        streamer.frame(number)
    streamer.end(reason="complete", triggered=40, sent=40)
    status = second.ended(series)
    second.close()
    assert status.series is not None and status.series.restarts == 1
    assert (status.series.complete, status.counts.stored) == (True, 40)
    with h5py.File(path) as file:
        assert all(np.array_equal(file["entry/data/data"][index], pixels(index)) for index in range(40))


@pytest.mark.slow
def test_what_arrives_no_more_is_missing_and_said(tmp_path: Path, streamer: Streamer) -> None:
    first = started(tmp_path, streamer)
    series = stream(streamer, first.root / "x.h5", 20, planned=40)
    first.received(20)
    assert first.stop() == 0
    first.close()
    second = started(tmp_path, streamer)
    for number in range(22, 40):  # as if two had been under way
        streamer.frame(number)
    streamer.end(reason="complete", triggered=40, sent=40)
    status = second.ended(series)
    second.close()
    assert (status.counts.stored, status.counts.missing) == (38, 2)
    assert status.series is not None
    assert status.series.reason.endswith(
        "the receiver was restarted in the series: at least 2 frames from index 20 on were lost"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keys", "filename", "why"),
    [
        (
            {"source": {"frame_origin": "first"}},
            "x.h5",
            "only the process that took its first frame knows that one's number (frame_origin: first)",
        ),
        ({}, "", "nothing is written"),
    ],
)
def test_a_series_that_cannot_be_resumed_ends_and_says_why(
    keys: dict[str, object], filename: str, why: str, tmp_path: Path, streamer: Streamer
) -> None:
    receiver = started(tmp_path, streamer, **keys)
    streamer.start(str(receiver.root / filename) if filename else "", frames=100, trigger_mode="SOFTWARE")
    for number in range(5):
        streamer.frame(number)
    receiver.received(5)
    assert receiver.stop() == 0
    receiver.close()
    (past,) = (receiver.root / ".penstock" / "sim-1.series.jsonl").read_text().splitlines()
    assert f"the receiver was shut down, and the series cannot be resumed: {why}" in past
    if filename:
        state, reason = state_of(receiver.root / filename)
        assert state == "incomplete" and reason.endswith(why)


@contextmanager
def streaming(streamer: Streamer, frames: int) -> Iterator[threading.Event]:
    """Frames at their rate, each sent as soon as a receiver takes it."""
    ends = threading.Event()
    array = np.arange(SIDE * SIDE, dtype="uint16").reshape(SIDE, SIDE)

    def run() -> None:
        due = time.monotonic()
        for number in range(frames):
            array[0, 0] = number
            streamer.frame(number, array)
            due = max(due + 1 / RATE, time.monotonic())  # never faster, however busy the machine was
            if ends.wait(max(0.0, due - time.monotonic())):
                return

    thread = threading.Thread(target=run)
    thread.start()
    yield ends
    thread.join()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_ten_ends_in_one_series_cost_a_few_frames_each_and_all_are_named(
    tmp_path: Path, streamer: Streamer
) -> None:
    receiver = started(tmp_path, streamer)
    path, frames, losses = receiver.root / "x.h5", 6_000, []
    series = streamer.start(str(path), frames=frames, trigger_mode="EXTERNAL_MULTI", shape=(SIDE, SIDE))
    with streaming(streamer, frames) as ends:
        for _ in range(ENDS):
            before = receiver.client.status().counts.received
            receiver.received(before + 50)
            assert receiver.stop() == 0
            receiver.close()
            receiver = started(tmp_path, streamer)
            receiver.received(before + 51)
        ends.set()
    streamer.end(reason="stopped", triggered=None)
    status = receiver.ended(series)
    receiver.close()
    with h5py.File(path) as file:
        statuses = file["entry/instrument/sim_1/frame_status"][()]
        data = file["entry/data/data"]
        for index in np.flatnonzero(statuses == FrameStatus.STORED)[::17]:
            assert data[index, 0, 0] == index
    highest = int(np.flatnonzero(statuses == FrameStatus.STORED)[-1])
    missing = np.flatnonzero(statuses[:highest] != FrameStatus.STORED)
    losses = np.split(missing, np.flatnonzero(np.diff(missing) > 1) + 1)
    print("lost per end:", [len(each) for each in losses if len(each)])
    assert max(len(each) for each in losses) <= MOST_LOST, losses
    assert status.series is not None and status.series.restarts == ENDS
