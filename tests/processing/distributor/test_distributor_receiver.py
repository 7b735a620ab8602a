"""The receiver beside a pipeline: it never waits for workers, and may be killed and started anew."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.hosts.child import free_port
from tests.processing.distributor.pipelines import (
    SUM,
    column,
    entry,
    frames_in,
    pipeline,
    raw_sum,
    results,
    statuses,
)
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer, pixels

Start = Callable[..., ReceiverProcess]
SHAPE, LARGE = (4, 6), (100, 100)
WAITS_TO_GO = """
import pathlib, time
class Mine(Processor):
    folder: str = ""
    def process(self, frame):
        while not (pathlib.Path(self.folder) / "go").exists():
            time.sleep(0.005)
        return {"number": int(frame.pixels.flat[0]), "sum": Sum(frame.pixels.astype("u8"))}
"""


def begin(streamer: Streamer, filename: str, frames: int, shape: tuple[int, int] = SHAPE) -> str:
    return streamer.start(filename, frames=frames, shape=shape, type="uint16", compression="none")


def send(streamer: Streamer, numbers: Sequence[int], shape: tuple[int, int] = SHAPE) -> None:
    for number in numbers:
        streamer.frame(number, pixels(number, shape))


def first(number: int, shape: tuple[int, int] = SHAPE) -> int:
    return int(pixels(number, shape).flat[0])


@pytest.mark.parametrize(
    "shared", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["by reference", "by value"]
)
def test_a_series_ends_and_its_file_is_complete_while_all_its_frames_are_with_the_workers_or_dropped(
    start_receiver: Start, tmp_path: Path, streamer: Streamer, shared: bool
) -> None:
    frames = 400  # of 20 kB, eight times what the queue takes
    receiver = start_receiver(forward=[entry(tmp_path, shared, queue_mb=1)])
    receiver.connected()
    raw = receiver.root / "a.h5"
    keys = {"consumer": "live", "queue_mb": 1, "parameters": {"folder": str(tmp_path)}}
    with pipeline(WAITS_TO_GO, receiver, workers=2, **keys) as made:
        name = begin(streamer, str(raw), frames, LARGE)
        send(streamer, range(frames), LARGE)
        streamer.end(reason="complete", triggered=frames, sent=frames)
        # No frame leaves the workers before they may go: so the receiver's end has waited for none.
        status = receiver.ended(name)
        assert status.series is not None and status.series.complete and status.counts.stored == frames
        total = sum(pixels(number, LARGE).astype("u8") for number in range(frames))
        np.testing.assert_array_equal(raw_sum(raw), total)
        dropped = status.consumers[0].dropped
        assert dropped > 0
        running = made.wait(lambda status: status.series is not None and status.series.counts.in_work).series
        assert running is not None and running.active and running.counts.done == 0
        (tmp_path / "go").touch()
        series = made.over(name)
        assert series.counts.done == frames and series.from_file >= dropped
        with results(series) as file:
            assert column(file, "number").tolist() == [first(number, LARGE) for number in range(frames)]
            np.testing.assert_array_equal(np.squeeze(file["/entry/accumulated/sum"]), total)


def test_the_results_of_a_series_whose_streamer_died_are_incomplete_as_the_receiver_says(
    start_receiver: Start, tmp_path: Path, streamer: Streamer
) -> None:
    receiver = start_receiver(forward=[entry(tmp_path)], peer_gone=0.3)
    receiver.connected()
    with pipeline(SUM, receiver, workers=1) as made:
        name = streamer.start(str(receiver.root / "a.h5"))
        send(streamer, range(50))
        receiver.received(50)
        streamer.close()
        series = made.over(name)
        ended = receiver.ended(name).series
        assert ended is not None
        why = ended.reason
        assert "how many more were to come is not known; the streamer at" in why
        assert (series.counts.done, series.counts.frames) == (50, 50)
        assert series.reason == f"the series is incomplete: {why}"[:500]
        with results(series) as file:
            account = file["/entry/account"]
            assert account["state"].asstr()[()] == "incomplete"
            assert account["reason"].asstr()[()] == f"the series is incomplete: {why}"


class Restarted:
    """A receiver at one address that is killed, with its data process, and started again."""

    def __init__(self, folder: Path, streamer: Streamer, **keys: Any) -> None:
        self._make: Callable[[], ReceiverProcess] = lambda: ReceiverProcess(
            folder, streamer.endpoint, http=f"127.0.0.1:{port}", forward=[entry(folder)], **keys
        )
        port = free_port()
        self.now = self._make()
        self.now.connected()

    def kill(self) -> None:
        os.killpg(self.now.process.pid, signal.SIGKILL)
        self.now.process.wait()

    def start(self) -> None:
        assert self.now.process.stdout is not None
        self.now.process.stdout.close()
        self.now = self._make()
        self.now.connected()


@contextmanager
def restarted(folder: Path, streamer: Streamer, **keys: Any) -> Iterator[Restarted]:
    made = Restarted(folder, streamer, **keys)
    try:
        yield made
    finally:
        made.now.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "flush_seconds",
    [0.05, 3600.0],
    ids=["flushed", "none is flushed"],
)
def test_a_receiver_that_is_killed_as_a_whole_goes_on_with_its_series_and_so_does_the_pipeline(
    tmp_path: Path, streamer: Streamer, flush_seconds: float
) -> None:
    with restarted(tmp_path, streamer, flush_seconds=flush_seconds) as receiver:
        url, raw = receiver.now.client.url, receiver.now.root / "a.h5"
        with pipeline(SUM, receiver.now, workers=2, hand_over_seconds=0.05) as made:
            name = begin(streamer, str(raw), 400)
            send(streamer, range(200))
            made.wait(lambda status: status.series is not None and status.series.counts.done >= 150)
            receiver.kill()
            made.wait(lambda status: url.removeprefix("http://") in status.waits_for)
            receiver.start()
            made.wait(lambda status: not status.waits_for)
            receiver.now.wait(lambda status: status.consumers[0].connected > 0)
            send(streamer, range(200, 400))
            streamer.end(reason="complete", triggered=400, sent=400)
            status = receiver.now.ended(name)
            series = made.over(name)
            counts = series.counts
            assert counts.done + counts.absent == counts.frames == 400
            assert status.series is not None and status.series.restarts == 1
            with results(series) as file:
                done = statuses(file) == 1
                stored = np.asarray(file["/entry/account/raw_stored"]) == 1
                assert int(stored.sum()) == status.counts.stored >= 150
                assert done[stored].all() and done[200:].all()
                if flush_seconds > 1:
                    assert done[~stored].sum() >= 150, "frames that the file has lost have results"
                numbers = np.array([first(number) for number in range(400)])
                assert (column(file, "number")[done] == numbers[done]).all()
                total = sum(pixels(int(number), SHAPE).astype("u8") for number in np.flatnonzero(done))
                np.testing.assert_array_equal(np.squeeze(file["/entry/accumulated/sum"]), total)
                assert frames_in(file, "sum") == counts.done


@pytest.mark.slow
def test_a_live_series_that_a_killed_receiver_does_not_know_any_more_is_over_at_once(
    tmp_path: Path, streamer: Streamer
) -> None:
    with restarted(tmp_path, streamer) as receiver, pipeline(SUM, receiver.now, workers=2) as made:
        name = begin(streamer, "", 400)
        send(streamer, range(200))
        made.wait(
            lambda status: status.series and status.series.counts.done + status.series.counts.held >= 150
        )
        receiver.kill()
        receiver.start()
        series = made.over(name)
        counts = series.counts
        assert counts.done >= 150 and counts.done + counts.dropped == 400
        assert "does not know this series (any more)" in series.reason
        streamer.end(reason="fault", triggered=200, sent=200)
        other = begin(streamer, str(receiver.now.root / "b.h5"), 20)
        send(streamer, range(20))
        streamer.end(reason="complete", triggered=20, sent=20)
        assert made.over(other).counts.done == 20


@pytest.mark.slow
def test_a_worker_that_was_there_before_the_receiver_reads_its_memory_once_a_series_has_begun(
    tmp_path: Path, streamer: Streamer
) -> None:
    with restarted(tmp_path, streamer) as receiver:
        url = receiver.now.client.url
        receiver.kill()
        with pipeline(SUM, url=url) as made:
            made.wait(lambda status: url.removeprefix("http://") in status.waits_for)
            made.work()
            assert not made.status.workers[0].shares
            receiver.start()
            receiver.now.wait(lambda status: status.consumers[0].connected > 0)
            name = begin(streamer, str(receiver.now.root / "a.h5"), 20)
            made.wait(lambda status: status.workers[0].shares)
            send(streamer, range(20))
            streamer.end(reason="complete", triggered=20, sent=20)
            series = made.over(name)
            assert (series.counts.done, series.from_file) == (20, 0)
