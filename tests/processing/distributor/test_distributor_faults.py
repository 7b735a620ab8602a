"""Workers, distributor and receiver that die, stop, are slow, or absent: every frame ends in one state.

In full (ten times the frames) with `-m slow`.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.processing.models import Counts, Series, Status
from tests.processing.distributor.pipelines import (
    DEADLINE,
    NUMBER,
    SUM,
    Pipeline,
    column,
    entry,
    frames_in,
    kill,
    pipeline,
    raw_sum,
    results,
    statuses,
)
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer, pixels

Start = Callable[..., ReceiverProcess]
SHAPE = (4, 6)
WAITS = """
import time
class Mine(Processor):
    def process(self, frame):
        time.sleep(0.002)
        return {"number": int(frame.pixels.flat[0]), "sum": Sum(frame.pixels.astype("u8"))}
"""
tenth_and_full = pytest.mark.parametrize(
    "tenth", [1, pytest.param(10, marks=pytest.mark.slow)], ids=["tenth", "full"]
)
by_reference_and_by_value = pytest.mark.parametrize(
    "shared", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["by reference", "by value"]
)


@pytest.fixture
def receiver_and_sender(
    request: pytest.FixtureRequest, tmp_path: Path, shared: bool
) -> tuple[ReceiverProcess, Streamer]:
    """Those of this file, which give frames by reference; or some that give them by value."""
    if shared:
        return request.getfixturevalue("receiver"), request.getfixturevalue("sender")
    made: ReceiverProcess = request.getfixturevalue("start_receiver")(forward=[entry(tmp_path, shared)])
    made.connected()
    return made, request.getfixturevalue("streamer")


@contextmanager
def sending(
    streamer: Streamer, filename: str, frames: int, rate: float, shape: tuple[int, int] = SHAPE,
    before_end: Callable[[], Any] = lambda: None, **keys: Any,
) -> Iterator[str]:  # fmt: skip
    """A series that is sent meanwhile, at so many frames per second."""
    keys = {"frames": frames, "shape": shape, "type": "uint16", "compression": "none"} | keys
    series = streamer.start(filename, **keys)
    stop, broken = threading.Event(), list[BaseException]()

    def send() -> None:
        begun = time.monotonic()
        try:
            for number in range(frames):
                if stop.wait(max(0.0, begun + number / rate - time.monotonic())):
                    return
                streamer.frame(number, pixels(number, shape))
            before_end()
            streamer.end(reason="complete", triggered=frames, sent=frames)
        except BaseException as error:
            broken.append(error)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield series
    finally:
        stop.set() if broken else None
        thread.join(120)
    assert not broken and not thread.is_alive()


def has_processed(series: str, frames: int, status: Status) -> bool:
    """Whether workers have answered about so many frames of a series."""
    found = next((each for each in (status.series, *status.others) if each and each.id == series), None)
    return found is not None and found.counts.done + found.counts.held >= frames


def expected(frames: int) -> list[int]:
    return [int(pixels(number, SHAPE).flat[0]) for number in range(frames)]


@tenth_and_full
@by_reference_and_by_value
def test_workers_that_are_killed_lose_no_frame_and_the_sum_is_exact(
    receiver_and_sender: tuple[ReceiverProcess, Streamer], tenth: int
) -> None:
    receiver, streamer = receiver_and_sender
    frames, kills = 1000 * tenth, 3 if tenth == 1 else 16
    raw = receiver.root / "a.h5"
    with pipeline(WAITS, receiver, workers=3, consumer="live", hand_over_seconds=0.2) as made:
        with sending(streamer, str(raw), frames, 1000) as name:
            for number in range(kills):
                goal = frames * number // kills
                made.wait(partial(has_processed, name, goal))
                victims = {each.pid for each in made.status.workers if each.state == "working"}
                victim = next((each for each in made.workers if each.pid in victims), made.workers[-1])
                kill(victim)
                made.work()
            series = made.over(name)
        assert series.counts.done == frames, series
        assert made.status.deaths == kills
        assert made.pauses.own < 0.5, f"{made.status.longest_pause} s with what the machine has taken"
        with results(series) as file:
            assert column(file, "number").tolist() == expected(frames)
            np.testing.assert_array_equal(np.squeeze(file["/entry/accumulated/sum"]), raw_sum(raw))
            assert frames_in(file, "sum") == frames


@pytest.mark.slow
def test_without_retry_what_a_worker_had_is_lost_and_listed_and_the_sum_agrees(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    with pipeline(WAITS, receiver, workers=2, retry=False) as made:
        raw = receiver.root / "a.h5"
        with sending(sender, str(raw), 500, 1000) as name:
            made.wait(partial(has_processed, name, 100))
            victim = next(each for each in made.workers if each.pid in _working(made))
            kill(victim)
            series = made.over(name)
        counts = series.counts
        assert counts.lost >= 1 and counts.done + counts.lost == 500
        with results(series) as file:
            found = statuses(file)
            lost = np.flatnonzero(found == 3)
            listed = np.asarray(file["/entry/account/lost/index"])
            assert listed[listed >= 0].tolist() == lost.tolist()
            done = np.flatnonzero(found == 1)
            total = sum(pixels(int(number), SHAPE).astype("u8") for number in done)
            np.testing.assert_array_equal(np.squeeze(file["/entry/accumulated/sum"]), total)


@pytest.mark.slow
def test_a_worker_that_is_asked_to_leave_takes_no_frame_with_it_even_without_retry(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    with pipeline(WAITS, receiver, workers=2, retry=False) as made:
        with sending(sender, str(receiver.root / "a.h5"), 500, 2000) as name:
            made.wait(partial(has_processed, name, 100))
            leaving = next(each for each in made.workers if each.pid in _working(made))
            kill(leaving, signal.SIGTERM)
            series = made.over(name)
        assert (series.counts.done, series.counts.lost) == (500, 0), series
        assert leaving.wait(20) == 0 and made.status.deaths == 0
        with results(series) as file:
            assert frames_in(file, "sum") == 500


def _working(made: Pipeline) -> set[int]:
    status = made.wait(lambda status: any(each.state == "working" for each in status.workers))
    return {each.pid for each in status.workers if each.state == "working"}


def test_a_result_file_that_is_deleted_while_it_is_written_is_an_error_and_the_next_series_is_not(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    deleted = threading.Event()
    keys: dict[str, Any] = {"before_end": lambda: deleted.wait(DEADLINE)}
    with pipeline(NUMBER, receiver, workers=1) as made:
        with sending(sender, str(receiver.root / "a.h5"), 200, 500, **keys) as name:
            made.wait(partial(has_processed, name, 10))
            assert made.status.series is not None and made.status.series.result_file is not None
            Path(made.status.series.result_file).unlink()
            deleted.set()
        status = made.wait(lambda status: status.state == "error")
        assert "a.mine.h5 was deleted, moved or replaced while results were written into it" in status.error
        assert not (receiver.root / "a.mine.h5").exists()
        made.until(made.say("reset"))
        with sending(sender, str(receiver.root / "b.h5"), 20, 500) as name:
            pass
        assert made.over(name).counts.done == 20


def test_a_frame_that_kills_its_worker_is_the_only_one_that_is_lost(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    source = """
    import os
    class Mine(Processor):
        def process(self, frame):
            if frame.index == 77:
                os.kill(os.getpid(), 9)
            if frame.index == 78:
                raise ValueError("no")
            return {"number": int(frame.pixels.flat[0])}
    """
    with pipeline(source, receiver, workers=4) as made:  # one more than those that die
        with sending(sender, str(receiver.root / "a.h5"), 1000, 2000) as name:
            series = made.over(name)
        counts = series.counts
        assert (counts.done, counts.failed, counts.lost) == (998, 1, 1)
        assert made.status.deaths == 3
        with results(series) as file:
            found = statuses(file)
            assert np.flatnonzero(found == 3).tolist() == [77]
            assert np.flatnonzero(found == 2).tolist() == [78]
            assert b"ValueError: no (mine.py, line 9" in file["/entry/account/errors/sentence"][0]


LINGERS = """
import os, pathlib, time
class Mine(Processor):
    folder: str = ""
    def process(self, frame):
        if frame.index == 30:
            folder = pathlib.Path(self.folder)
            (folder / "here.draft").write_text(str(os.getpid()))
            (folder / "here.draft").rename(folder / "here")
            while not (folder / "go").exists():
                time.sleep(0.005)
        time.sleep(0.03)  # longer than a bunch: one frame each
        return {"number": int(frame.pixels.flat[0]), "sum": Sum(frame.pixels.astype("u8"))}
"""
"""It stays in frame 30 until it may go on."""


@pytest.mark.slow
@by_reference_and_by_value
def test_the_frames_of_a_stopped_worker_are_with_others_within_3_s_and_its_results_are_stray(
    receiver_and_sender: tuple[ReceiverProcess, Streamer], tmp_path: Path
) -> None:
    receiver, streamer = receiver_and_sender
    frames, here, go = 80, tmp_path / "here", tmp_path / "go"
    with pipeline(
        LINGERS, receiver, workers=2, consumer="live", parameters={"folder": str(tmp_path)}
    ) as made:
        with sending(streamer, str(receiver.root / "a.h5"), frames, 1000) as name:
            made.wait(lambda _: here.exists())
            stopped = next(each for each in made.workers if each.pid == int(here.read_text()))
            began, waited = time.time(), made.pauses.waited
            kill(stopped, signal.SIGSTOP)
            go.touch()
            series = made.over(name)
        assert series.counts.done == frames and made.status.deaths == 1
        # The distributor's own record: when it noticed, and when the last frame was with another worker.
        (gone,) = made.status.gone
        assert gone.name.endswith(f"-{stopped.pid}") and 1 <= gone.frames <= 2
        waited = made.pauses.waited - waited  # for a processor: no fault of the distributor
        assert gone.seconds is not None and gone.noticed + gone.seconds - began < 3.0 + waited
        assert made.status.stray == 0
        before = results_of(series)
        kill(stopped, signal.SIGCONT)
        made.wait(lambda status: status.stray > 0)
        status = made.wait(lambda status: sum(each.state == "ready" for each in status.workers) == 2)
        assert status.stray <= gone.frames
        assert {each.pid for each in status.workers} == {each.pid for each in made.workers}
        assert results_of(series) == before and before["number"] == expected(frames)
        assert before["frames in sum"] == frames
        # It is one of them again, and what it had accumulated is in no sum.
        with sending(streamer, str(receiver.root / "b.h5"), frames, 1000) as name:
            series = made.over(name)
        assert all(each.frames > 0 for each in made.status.workers) and made.status.stray == status.stray
        assert results_of(series) == before


def results_of(series: Series) -> dict[str, Any]:
    with results(series) as file:
        return {
            "number": column(file, "number").tolist(), "status": statuses(file).tolist(),
            "sum": np.squeeze(file["/entry/accumulated/sum"]).tolist(),
            "frames in sum": frames_in(file, "sum"),
        }  # fmt: skip


@tenth_and_full
@pytest.mark.parametrize(
    "stored", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["file", "live only"]
)
@pytest.mark.slow
def test_what_slow_workers_do_not_take_live_comes_from_the_file(
    start_receiver: Start, tmp_path: Path, streamer: Streamer, stored: bool, tenth: int
) -> None:
    frames, shape = 2000 * tenth, (100, 100)  # 20 kB
    receiver = start_receiver(forward=[entry(tmp_path, queue_mb=6.4 * tenth)])
    receiver.connected()
    filename = str(receiver.root / "a.h5") if stored else ""
    with pipeline(WAITS, receiver, workers=2) as made:
        with sending(streamer, filename, frames, 5000, shape) as name:
            receiver.ended(name)
            series = made.over(name)
        counts = series.counts
        if not stored:
            assert series.result_file is None
            assert counts.dropped > 0 and counts.done + counts.dropped == frames
            return
        assert counts.done == frames and 0 < series.from_file < frames
        with results(series) as file:
            assert column(file, "number").tolist() == [
                int(pixels(number, shape).flat[0]) for number in range(frames)
            ]
            assert frames_in(file, "sum") == frames


@pytest.mark.parametrize(
    "source", [pytest.param(NUMBER, marks=pytest.mark.slow), SUM], ids=["rows", "accumulated"]
)
def test_a_distributor_that_is_killed_goes_on_where_it_was(
    receiver: ReceiverProcess, sender: Streamer, source: str
) -> None:
    with pipeline(source, receiver, workers=2, hand_over_seconds=0.1) as made:
        raw = receiver.root / "a.h5"
        with sending(sender, str(raw), 1000, 1000) as name:
            # What is held is lost with the distributor, and processed again.
            made.wait(lambda status: has_processed(name, 200, status) and status.series.counts.done > 0)
            made.kill()
            made.start()
            made.work()
            series = made.over(name)
        assert series.counts.done == 1000
        with results(series) as file:
            assert column(file, "number").tolist() == expected(1000)
            assert (statuses(file) == 1).all()
            numbers, names = np.asarray(file["/entry/account/worker"]), file["/entry/account/workers"]
            by = {names[number].decode() for number in set(numbers.tolist())}
            assert by <= {f"{socket.gethostname()}-{process.pid}" for process in made.workers}
            assert (numbers > 0).all() and len(set(numbers.tolist())) > 1, "a number was used twice"
            if source is SUM:
                np.testing.assert_array_equal(np.squeeze(file["/entry/accumulated/sum"]), raw_sum(raw))
                assert frames_in(file, "sum") == 1000


@pytest.mark.slow
def test_a_receiver_that_is_killed_in_the_series_goes_on_with_it_and_so_does_the_pipeline(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    with pipeline(SUM, receiver, workers=2) as made:
        killed = threading.Event()
        with sending(
            sender, str(receiver.root / "a.h5"), 1000, 1000, before_end=lambda: killed.wait(60)
        ) as name:
            receiver.wait(
                lambda status: (
                    status.series is not None and status.series.id == name and status.counts.flushed >= 300
                )
            )
            os.kill(receiver.data_process(), signal.SIGKILL)
            receiver.wait(lambda status: status.series is not None and status.series.restarts == 1)
            killed.set()
            status = receiver.ended(name)
            series = made.over(name)
        counts = series.counts
        assert counts.done + counts.absent == counts.frames == 1000
        assert counts.done >= status.counts.stored
        with results(series) as file:
            found, stored = statuses(file), np.asarray(file["/entry/account/raw_stored"])
            assert int(stored.sum()) == status.counts.stored
            assert (found[stored == 1] == 1).all()
            done = np.flatnonzero(found == 1)
            np.testing.assert_array_equal(column(file, "number")[done], np.array(expected(1000))[done])
            assert frames_in(file, "sum") == counts.done


def test_workers_that_come_after_the_end_get_all_frames(receiver: ReceiverProcess, sender: Streamer) -> None:
    with pipeline(NUMBER, receiver) as made:
        with sending(sender, str(receiver.root / "a.h5"), 300, 3000) as name:
            receiver.ended(name)
        made.wait(lambda status: "which are being started" in status.waits_for)
        made.work(2)
        series = made.over(name)
        assert series.counts.done == 300
        with results(series) as file:
            assert column(file, "number").tolist() == expected(300)


@pytest.mark.slow
def test_a_pipeline_that_is_started_after_a_series_takes_it_from_its_file(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    with sending(sender, str(receiver.root / "a.h5"), 100, 3000) as name:
        receiver.ended(name)
    with pipeline(NUMBER, receiver, workers=1) as made:
        series = made.over(name)
        assert series.counts.done == series.from_file == 100
        assert made.quit() == 0
    with pipeline(NUMBER, receiver, workers=1) as made:  # it has its results: nothing is done twice
        with sending(sender, str(receiver.root / "b.h5"), 10, 3000) as other:
            series = made.over(other)
        assert series.counts.done == 10


@pytest.mark.slow
def test_of_a_live_series_a_distributor_that_is_killed_loses_what_nobody_has_done(
    receiver: ReceiverProcess, sender: Streamer, tmp_path: Path
) -> None:
    root = tmp_path / "results"
    root.mkdir()

    def has_all(status: Status) -> bool:
        counts = status.series.counts if status.series else Counts()
        return counts.frames - counts.pending == 500

    with pipeline(NUMBER, receiver, workers=1, results_root=str(root)) as made:
        name = sender.start("", frames=500, shape=SHAPE, type="uint16", compression="none")
        for number in range(100):
            sender.frame(number, pixels(number, SHAPE))
        made.wait(partial(has_processed, name, 100))
        kill(made.workers[0], signal.SIGSTOP)  # what comes now nobody does
        for number in range(100, 500):
            sender.frame(number, pixels(number, SHAPE))
        made.wait(has_all)
        made.kill()
        kill(made.workers[0])
        made.start()
        made.work()
        sender.end(reason="complete", triggered=500, sent=500)
        series = made.over(name)
        counts = series.counts
        assert counts.done >= 100 and counts.lost > 0 and counts.done + counts.lost + counts.dropped == 500
        with results(series) as file:
            assert set(file["/entry/account/lost/worker"][: min(counts.lost, 1000)]) == {b"distributor"}
            done = np.flatnonzero(statuses(file) == 1)
            assert column(file, "number")[done].tolist() == [expected(500)[index] for index in done]


@pytest.mark.slow
@tenth_and_full
@by_reference_and_by_value
def test_memory_is_bounded_while_a_worker_is_stopped_and_the_queue_is_full(
    start_receiver: Start, tmp_path: Path, streamer: Streamer, tenth: int, shared: bool
) -> None:
    frames, megabytes = 20_000 * tenth, 2 * tenth
    receiver = start_receiver(forward=[entry(tmp_path, shared, queue_mb=megabytes)])
    receiver.connected()
    with pipeline(NUMBER, receiver, workers=1, consumer="live", queue_mb=megabytes) as made:
        kill(made.workers[0], signal.SIGSTOP)
        pids = {
            "receiver": receiver.data_process(), "receiver's HTTP": receiver.process.pid,
            "distributor": made.distributor.pid, "worker": made.workers[0].pid,
        }  # fmt: skip
        with sending(streamer, "", frames, 1e9, (32, 32)) as series:
            pass  # the receiver does not wait for anybody
        receiver.ended(series)
        kill(made.workers[0], signal.SIGCONT)
        counts = made.over(series, 300).counts
        assert counts.done + counts.dropped == frames and counts.done and counts.dropped
        most = {name: round(_resident(pid)) for name, pid in pids.items()}
        assert max(most.values()) < 100 + megabytes, most


def _resident(pid: int) -> float:
    """Most memory that a process has had, in MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1000
