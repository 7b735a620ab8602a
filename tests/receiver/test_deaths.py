"""What is left when a process dies or the disk is full, and how the receiver goes on."""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import h5py
import msgspec
import numpy as np
import pytest

from penstock.receiver.models import PastSeries, Status
from penstock.receiver.series.account import COUNTERS
from tests.knocks import listens
from tests.receiver.disks import small_file_system
from tests.receiver.processes import DEADLINE, ReceiverProcess
from tests.streams import Streamer, pixels, text

Start = Callable[..., ReceiverProcess]
LARGE = (255, 257)
"""131 kB a frame: a file grows fast."""


def state_of(path: Path) -> tuple[str, str]:
    """State and reason in the file's record."""
    with h5py.File(path) as file:
        record = file["entry/instrument/sim_1/series"]
        return record["state"].asstr()[()], record["reason"].asstr()[()]


def holds(path: Path, frames: int, shape: tuple[int, int] = (4, 6)) -> None:
    """The file opens plainly and has these frames, marked as stored."""
    with h5py.File(path) as file:
        found = file["entry/data/data"]
        assert file["entry/instrument/sim_1/frame_status"][:frames].tolist() == [1] * frames
        wrong = [index for index in range(frames) if not np.array_equal(found[index], pixels(index, shape))]
    assert wrong == []


def stream(streamer: Streamer, path: Path, frames: int, planned: int = 100) -> str:
    """The first frames of a series."""
    series = streamer.start(str(path), frames=planned, trigger_mode="SOFTWARE")
    for number in range(frames):
        streamer.frame(number)
    return series


def gone(pid: int) -> bool:
    """Whether a process has ended, be it a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def wait_until(condition: Callable[[], bool]) -> None:
    """Look often, for no longer than the deadline."""
    due = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < due
        time.sleep(0.01)


def test_kill_9_of_the_data_process_loses_nothing_that_was_flushed(
    start_receiver: Start, streamer: Streamer
) -> None:
    receiver = start_receiver(resume=False)
    receiver.connected()
    path = receiver.root / "x.h5"
    stream(streamer, path, 20)
    receiver.flushed(20)
    os.kill(receiver.data_process(), signal.SIGKILL)
    status = receiver.wait(lambda status: status.state == "error" and status.counts.pending == 0)
    assert "ended by signal SIGKILL; reset starts it again" in status.error
    assert (status.series.active, status.series.complete) == (False, False)
    assert (status.counts.planned, status.counts.stored, status.counts.missing) == (100, 20, 80)
    assert [item.connections for item in status.connections] == []
    holds(path, 20)
    state, reason = state_of(path)
    assert (state, "SIGKILL" in reason) == ("incomplete", True)


def unnamed(streamer: Streamer, path: Path, frames: int) -> None:
    """The beginning of a series whose stream does not name it: it cannot be resumed."""
    streamer.send([text(htype="header", filename=str(path), frames=100, trigger_mode="SOFTWARE")])
    for number in range(frames):
        array = pixels(number)
        head = {"shape": array.shape, "type": "uint16", "compression": "none", "frame": number}
        streamer.send([text(htype="image", **head), array.tobytes()])


@pytest.mark.slow
def test_a_data_process_that_dies_in_a_series_without_a_name_is_started_again_and_takes_the_next(
    receiver: ReceiverProcess, streamer: Streamer
) -> None:
    for number in range(2):
        path = receiver.root / f"unnamed-{number}.h5"
        unnamed(streamer, path, 5)
        receiver.wait(
            lambda status, path=path: (
                status.series is not None
                and status.series.filename == str(path)
                and status.counts.flushed == 5
            )
        )
        os.kill(receiver.data_process(), signal.SIGKILL)
        status = receiver.wait(lambda status: bool(status.series) and status.series.complete is False)
        assert (status.state, status.error, status.series.filename) == ("idle", "", str(path))
        assert (status.counts.stored, status.counts.missing) == (5, 95)
        holds(path, 5)
        assert state_of(path)[0] == "incomplete"
        receiver.connected()
        path = receiver.root / f"next-{number}.h5"
        assert receiver.ended(streamer.series_of(str(path), 3)).series.complete
        holds(path, 3)


@pytest.mark.slow
def test_one_that_dies_again_without_having_done_anything_is_an_error_until_reset(
    receiver: ReceiverProcess, streamer: Streamer
) -> None:
    first = receiver.data_process()
    os.kill(first, signal.SIGKILL)
    children = Path(f"/proc/{receiver.process.pid}/task/{receiver.process.pid}/children")
    wait_until(lambda: children.read_text().split() not in ([], [str(first)]))
    status = receiver.wait(lambda status: any(item.connections for item in status.connections))
    assert (status.state, status.error) == ("idle", "")
    for number in range(2):  # twice: a new process must not be taken for the old one
        os.kill(receiver.data_process(), signal.SIGKILL)
        receiver.wait(lambda status: status.state == "error")
        receiver.client.reset()
        status = receiver.connected()
        assert (status.state, status.error) == ("idle", "")
        streamer.encoder = type(streamer.encoder)()
        path = receiver.root / f"{number}.h5"
        if number == 0:
            continue
        status = receiver.ended(streamer.series_of(str(path), 3))
        assert (status.state, status.series.complete) == ("idle", True)
        holds(path, 3)
    assert receiver.data_process() != first


@pytest.mark.slow
def test_a_data_process_that_cannot_go_on_in_damaged_files_ends_in_order_all_the_same(
    start_receiver: Start, streamer: Streamer
) -> None:
    receiver = start_receiver(files=2)
    path, shape = receiver.root / "x.h5", (1024, 1024)
    streamer.start(str(path), frames=30, shape=shape, trigger_mode="SOFTWARE")
    for number in range(20):
        streamer.frame(number, pixels(number, shape))
    receiver.flushed(20)
    os.kill(receiver.process.pid, signal.SIGSTOP)
    os.kill(receiver.data_process(), signal.SIGKILL)
    (receiver.root / "x_part1.h5").write_bytes(b"no")
    os.kill(receiver.process.pid, signal.SIGCONT)
    receiver.wait(lambda status: status.series is not None and not status.series.active)
    assert state_of(path)[0] == "incomplete"
    receiver.close()
    assert "ended by signal SIGSEGV" not in receiver.log.read_text()


@pytest.mark.slow
def test_kill_9_of_both_processes_leaves_a_file_that_opens_and_says_in_progress(
    receiver: ReceiverProcess, streamer: Streamer
) -> None:
    path = receiver.root / "x.h5"
    stream(streamer, path, 20)
    receiver.flushed(20)
    child = receiver.data_process()
    receiver.process.send_signal(signal.SIGSTOP)  # so that it cannot mark the file
    os.kill(child, signal.SIGKILL)
    receiver.process.kill()
    receiver.process.wait(DEADLINE)
    wait_until(lambda: gone(child))
    holds(path, 20)
    assert state_of(path)[0] == "in progress"
    with h5py.File(path) as file:
        record = file["entry/instrument/sim_1/series"]
        counts = {name: int(record[name][()]) for name in COUNTERS}
        assert (counts["stored"], counts["pending"], int(record["planned"][()])) == (20, 80, 100)


def test_when_the_http_process_is_killed_the_data_process_closes_a_file_that_cannot_go_on_and_ends(
    start_receiver: Start, streamer: Streamer
) -> None:
    receiver = start_receiver(resume=False)
    receiver.connected()
    path = receiver.root / "x.h5"
    stream(streamer, path, 20)
    receiver.flushed(20)
    child = receiver.data_process()
    receiver.process.kill()
    receiver.process.wait(DEADLINE)
    wait_until(lambda: gone(child))
    holds(path, 20)
    state, reason = state_of(path)
    assert (state, "the receiver's HTTP process is gone" in reason) == ("incomplete", True)
    line = (receiver.root / ".penstock" / "sim-1.series.jsonl").read_bytes()
    past = msgspec.json.decode(line, type=PastSeries)
    assert (past.series.filename, past.series.reason, past.counts.stored) == (str(path), reason, 20)


def test_a_receiver_that_is_asked_to_end_closes_its_file(
    receiver: ReceiverProcess, streamer: Streamer
) -> None:
    path = receiver.root / "x.h5"
    stream(streamer, path, 5)
    receiver.received(5)
    assert receiver.stop() == 0
    holds(path, 5)
    assert state_of(path) == ("incomplete", "5 of 100 frames: 95 missing; the receiver was shut down")


@pytest.mark.slow
def test_a_second_ctrl_c_closes_the_file_all_the_same(receiver: ReceiverProcess, streamer: Streamer) -> None:
    path = receiver.root / "x.h5"
    stream(streamer, path, 5)
    receiver.received(5)
    data_process, address = receiver.data_process(), urlsplit(receiver.client.url)
    os.kill(data_process, signal.SIGSTOP)  # so that it does not end before the second one
    receiver.process.send_signal(signal.SIGINT)
    wait_until(lambda: not listens(address.hostname, address.port))
    receiver.process.send_signal(signal.SIGINT)
    os.kill(data_process, signal.SIGCONT)
    assert receiver.process.wait(DEADLINE) == 0
    assert state_of(path) == ("incomplete", "5 of 100 frames: 95 missing; the receiver was shut down")


def test_a_streamer_that_dies_ends_its_series_within_five_seconds(
    receiver: ReceiverProcess, streamer: Streamer
) -> None:
    path = receiver.root / "x.h5"
    series = stream(streamer, path, 5)
    receiver.received(5)
    died = time.monotonic()
    streamer.close()
    status = receiver.ended(series)
    assert time.monotonic() - died < 5.0
    assert (status.state, status.counts.stored, status.counts.missing) == ("idle", 5, 95)
    assert "is gone" in status.series.reason
    holds(path, 5)


def in_error(status: Status) -> bool:
    return status.state == "error"


@pytest.mark.slow
def test_a_file_that_may_not_grow_further_ends_in_error_and_keeps_what_was_flushed(
    start_receiver: Start, streamer: Streamer
) -> None:
    receiver = start_receiver(min_free_mb=1)
    receiver.connected()
    path = receiver.root / "x.h5"
    resource.prlimit(receiver.data_process(), resource.RLIMIT_FSIZE, (2**40, 2**40))
    streamer.start(str(path), trigger_mode="SOFTWARE")  # without a total the file grows with its frames
    for number in range(60):  # 7.9 MB, more than what is kept back
        streamer.frame(number, pixels(number, LARGE))
    receiver.flushed(60)
    limit = path.stat().st_size + 200_000
    resource.prlimit(receiver.data_process(), resource.RLIMIT_FSIZE, (limit, limit))
    for number in range(60, 70):
        streamer.frame(number, pixels(number, LARGE))
    status = receiver.wait(in_error)
    assert "File too large" in status.error
    assert "of an unknown number of frames are in the file" in status.error
    assert "reset the receiver" in status.error
    assert status.errors["not_written"] == 1
    assert receiver.alive()
    holds(path, 60, LARGE)
    receiver.client.reset()
    streamer.end()
    status = receiver.ended(streamer.series_of(str(receiver.root / "next.h5"), 2))
    assert (status.state, status.series.complete) == ("idle", True)


@pytest.mark.slow
def test_a_file_that_the_disk_made_impossible_to_close_is_marked_by_the_next_start_after_a_clean_shutdown(
    tmp_path: Path, streamer: Streamer
) -> None:
    receiver = ReceiverProcess(tmp_path, streamer.endpoint)
    try:
        receiver.connected()
        path = receiver.root / "x.h5"
        stream(streamer, path, 5)
        receiver.flushed(5)
        resource.prlimit(receiver.data_process(), resource.RLIMIT_FSIZE, (4096, 4096))
        assert receiver.stop() == 0
    finally:
        receiver.close()
    assert state_of(path)[0] == "in progress"
    receiver = ReceiverProcess(tmp_path, streamer.endpoint)
    try:
        state, reason = state_of(path)
        assert (state, "could not write the end of the file" in reason) == ("incomplete", True)
        assert receiver.client.history(1)[0].series.filename == str(path)
    finally:
        receiver.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Where a receiver's files go: a file system of 16 MB."""
    with small_file_system(tmp_path / "receiver-0" / "data", 16) as place:
        yield place


def test_a_full_disk_ends_in_error_and_the_file_is_closed_with_all_that_was_stored(
    small_disk: Path, tmp_path: Path, streamer: Streamer
) -> None:
    receiver = ReceiverProcess(tmp_path / "receiver-0", streamer.endpoint, min_free_mb=1)
    try:
        receiver.connected()
        path = small_disk / "x.h5"
        streamer.start(str(path), frames=200, trigger_mode="SOFTWARE")
        for number in range(150):
            streamer.frame(number, pixels(number, LARGE))
        status = receiver.wait(in_error)
        assert "No space left on device" in status.error
        stored = status.counts.stored
        assert 50 < stored < 128
        holds(path, stored, LARGE)
        state, reason = state_of(path)
        assert (state, "No space left on device" in reason) == ("incomplete", True)
        path.unlink()
        receiver.client.reset()
        streamer.end()
        status = receiver.ended(streamer.series_of(str(small_disk / "next.h5"), 2))
        assert (status.state, status.series.complete) == ("idle", True)
    finally:
        receiver.close()


@pytest.mark.parametrize(
    "keys",
    [
        *(
            pytest.param(keys, id=name, marks=pytest.mark.slow)
            for name, keys in (
                ("one", {}),
                ("several", {"files": 2}),
                ("segments", {"frames_per_file": 20}),
                ("swmr", {"swmr": True}),
            )
        ),
    ],
)
def test_where_the_disk_is_full_before_the_first_flush_what_was_stored_is_in_the_file_and_counted(
    keys: dict[str, Any], small_disk: Path, tmp_path: Path, streamer: Streamer
) -> None:
    receiver = ReceiverProcess(
        tmp_path / "receiver-0", streamer.endpoint, min_free_mb=1, flush_seconds=60, **keys
    )
    try:
        receiver.connected()
        path = small_disk / "x.h5"
        streamer.start(str(path))
        for number in range(110):
            streamer.frame(number, pixels(number, LARGE))
        streamer.end()
        status = receiver.wait(in_error)
        assert "is full: free some space, then reset the receiver" in status.error
        assert status.counts.flushed == status.counts.stored > 50
        with h5py.File(path) as file:
            found = file["entry/data/data"]
            statuses = file["entry/instrument/sim_1/frame_status"][()]
            assert np.count_nonzero(statuses == 1) == status.counts.stored
            for index, stored in enumerate(statuses):
                expected = pixels(index, LARGE) if stored else np.full(LARGE, 65535)
                np.testing.assert_array_equal(found[index], expected)
        assert receiver.alive()
    finally:
        receiver.close()
    assert "Traceback" not in receiver.log.read_text()
