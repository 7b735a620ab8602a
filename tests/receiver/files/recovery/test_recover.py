"""What a receiver does about files that a killed one left open, and about a series that still runs."""

from __future__ import annotations

import os
import random
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from penstock.hosts.child import free_port
from penstock.receiver.models import FrameStatus, SeriesCheck, Status
from tests.receiver.processes import ReceiverProcess
from tests.receiver.test_deaths import gone, state_of, stream, wait_until
from tests.streams import Streamer, pixels

DETECTOR = "entry/instrument/sim_1"


class Deaths:
    """One receiver after another in the same place.

    Args:
        folder: of its configuration and files.
        streamer: that it connects to.
        keys: further keys of its entry.
    """

    def __init__(self, folder: Path, streamer: Streamer, **keys: Any) -> None:
        self._make = lambda: ReceiverProcess(folder, streamer.endpoint, **keys)
        self.now = self._make()
        self.now.connected()
        self.root = self.now.root

    def kill(self) -> None:
        """SIGKILL to both processes at once: neither can do anything about the other's death."""
        child = self.now.data_process()
        self.now.process.send_signal(signal.SIGSTOP)
        os.kill(child, signal.SIGKILL)
        self.now.process.kill()
        self.now.close()
        wait_until(lambda: gone(child))

    def kill_data_process(self) -> None:
        """SIGKILL to the one that writes."""
        os.kill(self.now.data_process(), signal.SIGKILL)

    def start(self) -> ReceiverProcess:
        """The next one."""
        self.now = self._make()
        return self.now


@pytest.fixture
def deaths(tmp_path: Path, streamer: Streamer) -> Iterator[Callable[..., Deaths]]:
    """Makes the first receiver; the last one is ended."""
    made: list[Deaths] = []

    def make(**keys: Any) -> Deaths:
        made.append(Deaths(tmp_path / "receiver", streamer, **keys))
        return made[-1]

    yield make
    for each in made:
        each.now.close()


def idle(status: Status) -> bool:
    return status.state == "idle" and status.series is not None and not status.series.active


def marked(deaths: Deaths) -> str:
    """What the next receiver says of the series that its predecessor left."""
    status = deaths.start().wait(idle)
    assert status.series is not None
    assert status.series.complete is False
    assert journal(deaths.root) == []
    return status.series.reason


def journal(root: Path) -> list[str]:
    return sorted(item.name for item in (root / ".penstock").glob("*.json"))


def check_file(path: Path, status: Status, shape: tuple[int, int] = (4, 6)) -> list[int]:
    """Each frame that is stored is right, every other reads as the fill value, or as itself where only what
    came with it was not flushed; returns the stored ones."""
    with h5py.File(path) as file:
        found, statuses = file["entry/data/data"], file[f"{DETECTOR}/frame_status"][:]
        numbers = file[f"{DETECTOR}/sequence_number"][:]
        stored = np.flatnonzero(statuses == FrameStatus.STORED)
        for index in range(len(found)):
            if index in stored or (found[index] != 65535).any():
                np.testing.assert_array_equal(found[index], pixels(index, shape))
            assert numbers[index] == (index if index in stored else -1)
    counts = status.counts
    assert len(stored) == counts.stored
    total = counts.stored + counts.corrupt + counts.missing + counts.not_triggered
    assert (total, counts.pending) == (counts.planned, 0)
    return [int(index) for index in stored]


def test_a_file_that_was_left_open_is_marked_at_the_next_start(
    deaths: Callable[..., Deaths], streamer: Streamer
) -> None:
    first = deaths(resume=False)
    path = first.root / "x.h5"
    stream(streamer, path, 20)
    first.now.flushed(20)
    first.kill()
    assert state_of(path)[0] == "in progress"
    reason = marked(first)
    assert reason == "the receiver was killed; 20 of 100 frames are in the file"
    assert state_of(path) == ("incomplete", reason)
    status = first.now.client.status()
    assert (status.counts.stored, status.counts.missing, status.counts.flushed) == (20, 80, 20)
    assert status.series is not None
    assert status.series.lost == [(20, 99, "missing")]
    assert status.series.started < status.series.ended <= time.time()
    assert check_file(path, status) == list(range(20))


@pytest.mark.slow
def test_a_series_whose_streamer_is_gone_too_is_incomplete_two_seconds_after_the_start(
    deaths: Callable[..., Deaths], streamer: Streamer
) -> None:
    first = deaths(peer_gone=0.2)
    path = first.root / "x.h5"
    stream(streamer, path, 20)
    first.now.flushed(20)
    first.kill()
    streamer.close()
    reason = marked(first)
    assert "is gone" in reason
    assert reason.endswith("killed and restarted in the series: no frame came after that")
    assert state_of(path) == ("incomplete", reason)


@pytest.mark.parametrize(
    "whole",
    [
        pytest.param(True, id="both processes"),
        pytest.param(False, id="data process", marks=pytest.mark.slow),
    ],
)
def test_a_series_that_still_runs_goes_on_in_its_file(
    whole: bool, deaths: Callable[..., Deaths], streamer: Streamer
) -> None:
    first = deaths(flush_seconds=0.5)
    path = first.root / "x.h5"
    series = stream(streamer, path, 20)
    first.now.flushed(20)
    for number in range(20, 25):
        streamer.frame(number)
    first.now.received(25)
    if whole:
        first.kill()
        first.start()
    else:
        first.kill_data_process()
    status = first.now.wait(lambda status: status.series is not None and status.series.unconfirmed)
    assert (status.state, status.series.id, status.series.restarts) == ("running", series, 1)
    assert status.series.filename == str(path)
    assert "was restarted during the series" in status.series.reason
    safe = status.counts.stored
    assert status.counts.pending == 100 - safe
    first.now.connected()
    for number in range(25, 100):
        streamer.frame(number)
    streamer.end(reason="complete", triggered=100, sent=100)
    status = first.now.ended(series)
    assert (status.state, status.series.complete, status.series.unconfirmed) == ("idle", safe == 25, False)
    if safe == 20:  # unless the five were flushed in the last moment
        assert status.series.reason == (
            "95 of 100 frames: 5 missing; the receiver was killed and restarted in the series: "
            "at least 5 frames from index 20 on were lost"
        )
    assert check_file(path, status) == [*range(safe), *range(25, 100)]
    assert state_of(path)[1] == status.series.reason
    assert journal(first.root) == []


@pytest.mark.slow
def test_a_series_that_no_longer_fits_the_configuration_is_marked_and_stands_in_the_history(
    tmp_path: Path, streamer: Streamer, deaths: Callable[..., Deaths]
) -> None:
    first = deaths()
    path = first.root / "x.h5"
    header = {"shape": (4, 6), "type": "uint16", "compression": "none"}
    series = streamer.start(str(path), frames=9, trigger_mode="SOFTWARE", **header)
    for number in range(4):
        streamer.frame(number)
    first.now.flushed(4)
    first.kill()
    np.save(tmp_path / "dark.npy", np.zeros((9, 9)))
    second = deaths(transforms=[{"type": "dark_flat", "dark": str(tmp_path / "dark.npy")}]).now
    status = second.wait(idle)
    assert status.series is not None
    assert status.series.reason == (
        "the receiver was killed, and the series could not be resumed: transform: dark_flat: "
        f"{tmp_path / 'dark.npy'} has [9, 9] pixels, images have [4, 6]; is a rotation before it?; "
        "4 of 9 frames are in the file"
    )
    assert state_of(path) == ("incomplete", status.series.reason)
    assert journal(first.root) == []
    (past,) = second.client.history()
    assert (past.series, past.counts.stored) == (status.series, 4)
    assert past.series.id == series


@pytest.mark.slow
@pytest.mark.parametrize(
    "whole",
    [
        pytest.param(True, id="both processes", marks=pytest.mark.slow),
        pytest.param(False, id="data process"),
    ],
)
def test_segments_go_on_where_nothing_had_been_flushed(
    whole: bool, deaths: Callable[..., Deaths], streamer: Streamer
) -> None:
    first = deaths(flush_seconds=30, frames_per_file=10)
    path = first.root / "x.h5"
    series = stream(streamer, path, 5)
    first.now.received(5)
    if whole:
        first.kill()
        first.start()
    else:
        first.kill_data_process()
    first.now.wait(lambda status: status.series is not None and status.series.unconfirmed)
    first.now.connected()
    for number in range(5, 100):
        streamer.frame(number)
    streamer.end(reason="complete", triggered=100, sent=100)
    status = first.now.ended(series)
    assert status.state == "idle"
    assert check_file(path, status) == list(range(5, 100))


def test_a_series_goes_on_after_a_kill_of_the_process_that_its_user_sees(
    deaths: Callable[..., Deaths], streamer: Streamer
) -> None:
    first = deaths(flush_seconds=30)  # only what the data process does by itself makes them safe
    path = first.root / "x.h5"
    series = stream(streamer, path, 20)
    first.now.received(20)
    child = first.now.data_process()
    first.now.process.kill()
    wait_until(lambda: gone(child))
    assert state_of(path)[0] == "in progress"
    first.now.close()
    status = first.start().wait(lambda status: status.series is not None and status.series.unconfirmed)
    assert (status.series.id, status.series.restarts, status.counts.stored) == (series, 1, 20)
    first.now.connected()
    for number in range(20, 100):
        streamer.frame(number)
    streamer.end(reason="complete", triggered=100, sent=100)
    status = first.now.ended(series)
    assert (status.series.complete, status.drained) == (True, 0)
    assert "the receiver was killed and restarted in the series: no frame was lost" in status.series.reason
    assert check_file(path, status) == list(range(100))
    assert journal(first.root) == []


@pytest.mark.slow
def test_a_series_goes_on_after_a_kill_before_anybody_was_told_of_it(
    deaths: Callable[..., Deaths], streamer: Streamer
) -> None:
    first = deaths()
    path = first.root / "x.h5"
    child = first.now.data_process()
    series = streamer.start(str(path), frames=10, shape=(4, 6), type="uint16", compression="none")
    wait_until(path.exists)
    os.kill(child, signal.SIGKILL)
    status = first.now.wait(lambda status: bool(status.series and status.series.restarts))
    assert (status.state, status.series.id, status.series.restarts) == ("running", series, 1)
    first.now.connected()
    for number in range(10):
        streamer.frame(number)
    streamer.end(reason="complete", triggered=10, sent=10)
    status = first.now.ended(series)
    assert check_file(path, status) == list(range(10))


@pytest.mark.slow
def test_no_frame_is_lost_by_a_death_after_a_flush(deaths: Callable[..., Deaths], streamer: Streamer) -> None:
    first = deaths()
    path = first.root / "x.h5"
    series = stream(streamer, path, 20)
    first.now.flushed(20)
    first.kill()
    first.start().connected()
    for number in range(20, 100):
        streamer.frame(number)
    streamer.end(reason="complete", triggered=100, sent=100)
    status = first.now.ended(series)
    assert status.series.complete
    assert "no frame was lost" in status.series.reason
    assert check_file(path, status) == list(range(100))
    assert state_of(path)[0] == "complete"


@pytest.mark.slow
def test_frames_that_came_broken_stay_corrupt(deaths: Callable[..., Deaths], streamer: Streamer) -> None:
    first = deaths()
    path = first.root / "x.h5"
    series = streamer.start(str(path), frames=6, trigger_mode="SOFTWARE")
    streamer.frame(0)
    streamer.frame(1, blobs=[b"cut"])
    streamer.frame(2)
    first.now.flushed(2)
    first.kill()
    status = first.start().connected()
    assert (status.counts.stored, status.counts.corrupt, status.counts.pending) == (2, 1, 3)
    streamer.frame(3)
    streamer.end(reason="stop", triggered=5, sent=4)
    status = first.now.ended(series)
    counts = status.counts
    assert (counts.stored, counts.corrupt, counts.missing, counts.not_triggered) == (3, 1, 1, 1)
    assert check_file(path, status) == [0, 2, 3]


@pytest.mark.slow
def test_the_next_series_takes_the_place_of_one_that_does_not_go_on(
    deaths: Callable[..., Deaths], streamer: Streamer
) -> None:
    first = deaths()
    path, following = first.root / "x.h5", first.root / "y.h5"
    stream(streamer, path, 20)
    first.now.flushed(20)
    first.kill()
    first.start().connected()
    first.now.client.check(SeriesCheck(filename=str(following), endpoint=streamer.endpoint))
    streamer.encoder = type(streamer.encoder)()
    status = first.now.ended(streamer.series_of(str(following), 3))
    assert status.series.complete
    state, reason = state_of(path)
    assert state == "incomplete"
    assert "the next series has begun" in reason


@pytest.mark.slow
def test_a_data_process_that_dies_again_at_once_is_an_error(
    deaths: Callable[..., Deaths], streamer: Streamer
) -> None:
    first = deaths()
    path = first.root / "x.h5"
    stream(streamer, path, 20)
    first.now.flushed(20)
    first.kill_data_process()
    first.now.wait(lambda status: status.series is not None and status.series.unconfirmed)
    first.kill_data_process()
    status = first.now.wait(lambda status: status.state == "error")
    assert "ended by signal SIGKILL; reset starts it again" in status.error
    assert state_of(path)[0] == "incomplete"
    first.now.client.reset()
    first.now.connected()
    streamer.end()
    assert first.now.ended(streamer.series_of(str(first.root / "y.h5"), 3)).series.complete


@pytest.mark.slow
def test_stop_that_comes_before_the_death_of_the_data_process_is_noticed_ends_the_series(
    deaths: Callable[..., Deaths], streamer: Streamer
) -> None:
    first = deaths()
    path = first.root / "x.h5"
    series = stream(streamer, path, 20)
    first.now.flushed(20)
    child = first.now.data_process()
    os.kill(child, signal.SIGSTOP)  # so that it takes the command, and does nothing about it
    asks = threading.Thread(target=first.now.client.stop, args=("enough",))
    asks.start()
    os.kill(child, signal.SIGKILL)
    asks.join()
    status = first.now.ended(series)
    assert (status.state, status.counts.stored) == ("idle", 20)
    assert "enough" in state_of(path)[1]


@pytest.mark.slow
def test_stop_that_comes_while_the_data_process_starts_again_ends_the_series(
    deaths: Callable[..., Deaths], streamer: Streamer
) -> None:
    first = deaths()
    path = first.root / "x.h5"
    series = stream(streamer, path, 20)
    first.now.flushed(20)
    first.kill_data_process()
    first.now.wait(lambda status: "whether the series can be resumed" in status.series.reason)
    first.now.client.stop("enough")
    status = first.now.ended(series)
    assert (status.state, status.counts.stored) == ("idle", 20)
    assert "enough" in state_of(path)[1]


# -- what is not touched -----------------------------------------------------------------------


def left_open(first: Deaths, streamer: Streamer) -> Path:
    """A file whose receiver was killed, and that has frames in it."""
    path = first.root / "x.h5"
    stream(streamer, path, 20)
    first.now.flushed(20)
    first.kill()
    return path


@pytest.mark.slow
def test_a_file_that_was_moved_is_said(deaths: Callable[..., Deaths], streamer: Streamer) -> None:
    first = deaths()
    left_open(first, streamer).rename(first.root / "moved.h5")
    assert "x.h5 cannot be found" in marked(first)
    assert state_of(first.root / "moved.h5")[0] == "in progress"


@pytest.mark.slow
def test_a_file_that_was_replaced_is_left_alone(deaths: Callable[..., Deaths], streamer: Streamer) -> None:
    first = deaths()
    path = left_open(first, streamer)
    content = path.read_bytes()
    path.rename(path.with_suffix(".old"))
    path.write_bytes(content)
    assert "x.h5 is another file by now" in marked(first)
    assert path.read_bytes() == content


@pytest.mark.slow
def test_a_damaged_file_is_left_as_it_is(deaths: Callable[..., Deaths], streamer: Streamer) -> None:
    first = deaths()
    path = left_open(first, streamer)
    os.truncate(path, 500)
    content = path.read_bytes()
    assert "x.h5 is damaged" in marked(first)
    assert path.read_bytes() == content


@pytest.mark.slow
def test_a_file_that_another_receiver_of_this_name_writes_is_left_to_it(
    deaths: Callable[..., Deaths], streamer: Streamer, tmp_path: Path
) -> None:
    first = deaths()
    path = first.root / "x.h5"
    series = stream(streamer, path, 20)
    first.now.flushed(20)
    http = f"127.0.0.1:{free_port()}"
    second = ReceiverProcess(tmp_path / "receiver", "tcp://127.0.0.1:1", http=http, waits=True)
    try:
        wait_until(lambda: "waits for that of process" in second.log.read_text())
        for number in range(20, 100):
            streamer.frame(number)
        streamer.end(reason="complete", triggered=100, sent=100)
        assert first.now.ended(series).series.complete
    finally:
        second.close()


# -- many deaths -------------------------------------------------------------------------------


def restarted(times: int) -> Callable[[Status], bool]:
    return lambda status: status.series is not None and status.series.restarts == times


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "keys"), [(0, {}), (1, {}), (2, {"frames_per_file": 100}), (3, {"swmr": True})], ids=str
)
def test_random_deaths_cost_only_what_was_not_flushed(
    seed: int, keys: dict[str, Any], deaths: Callable[..., Deaths], streamer: Streamer
) -> None:
    """Frames come all the time; the account is compared with what was sent, and safe before each death."""
    chance = random.Random(seed)
    first = deaths(flush_seconds=0.1, **keys)
    path = first.root / "x.h5"
    frames, kills = 1500, 4
    series = streamer.start(str(path), frames=frames, trigger_mode="SOFTWARE")
    done = threading.Event()
    restarts = threading.Semaphore()  # a share of the frames for each, however slow the machine

    def send() -> None:
        for number in range(frames):
            if number % (frames // (kills + 1)) == 0:
                restarts.acquire()
            streamer.frame(number)
            done.wait(0.002)
        streamer.end(reason="complete", triggered=frames, sent=frames)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        safe = killed = 0
        while killed < kills:
            first.now.flushed(min(safe + 1, frames))
            done.wait(chance.uniform(0, 0.15))
            safe = first.now.client.status().counts.flushed
            if chance.random() < 0.5:
                first.kill()
                first.start()
            else:
                first.kill_data_process()
            killed += 1
            status = first.now.wait(restarted(killed))
            assert status.counts.stored >= safe
            safe = status.counts.stored
            restarts.release()
        sender.join(30)
        status = first.now.ended(series)
    finally:
        done.set()
        restarts.release(kills)
        sender.join(15)
    stored = check_file(path, status)
    assert len(stored) + status.counts.missing == frames
    assert status.series.complete == (len(stored) == frames)
    times = f" {killed} times" if killed > 1 else ""
    assert f"killed and restarted{times} in the series" in status.series.reason
    gaps = re.findall(r"([\d,]+) frames? (?:from index|at higher)", status.series.reason)
    assert sum(int(each.replace(",", "")) for each in gaps) <= status.counts.missing


@pytest.mark.slow
def test_a_series_whose_mask_turns_with_its_frames_goes_on(
    deaths: Callable[..., Deaths], streamer: Streamer
) -> None:
    first = deaths(transforms=[{"type": "rotate", "quarter_turns": 1}])
    path = first.root / "x.h5"
    mask = np.arange(24).reshape(4, 6)
    known = {"shape": mask.shape, "type": "uint16", "compression": "none", "trigger_mode": "SOFTWARE"}
    streamer.start(str(path), {"pixel_mask": mask.tolist()}, frames=4, **known)
    streamer.frame(0)
    streamer.frame(1)
    first.now.flushed(2)
    first.kill()
    receiver = first.start()
    receiver.connected()
    streamer.frame(2)
    streamer.frame(3)
    streamer.end()
    status = receiver.wait(idle)
    assert (status.counts.stored, status.counts.missing) == (4, 0)
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file[f"{DETECTOR}/pixel_mask"][()], np.rot90(mask))
        for index in range(4):
            np.testing.assert_array_equal(file["entry/data/data"][index], np.rot90(pixels(index)))
