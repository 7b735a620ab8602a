"""Plain frames into places of the one file by several processes, and what is left when one of them dies."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import random
import resource
import signal
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from penstock.receiver.files import stores
from penstock.receiver.files.recovery.interrupted import mark_interrupted
from penstock.receiver.files.stores import preallocated, process_lease, write_processes
from penstock.receiver.files.stores.preallocated import PreallocatedStore
from penstock.receiver.files.stores.writer_process import WriterProcess
from penstock.receiver.files.writer import WriterError
from penstock.receiver.models import FrameStatus
from penstock.stins.messages import Frame
from tests.receiver.files.stores.written import (
    DETECTOR,
    MEMORY,
    SHAPE,
    Flushed,
    Processes,
    Written,
    array,
    frame,
    status_of,
)
from tests.receiver.sample_series import start
from tests.streams import image, pixels

FILL = 65535
LARGE = (60, 90)
"""10.8 kB a frame: six in its memory, which does not divide by it."""


@pytest.fixture
def processes(three_processes: Processes, monkeypatch: pytest.MonkeyPatch) -> Processes:
    monkeypatch.setattr(stores, "LEAST_PLACED_BYTES", 1)
    monkeypatch.setattr(write_processes, "BATCH_BYTES", 4 * array(0).nbytes)  # blocks of four frames
    return three_processes


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.h5"


Series = Callable[..., Written]


@pytest.fixture
def series(path: Path, processes: Processes) -> Series:
    def begin(frames: int = 50, path: Path = path, **keys: Any) -> Written:
        opening = start(frames=frames, **keys)
        return Written(path, opening, writers=3, processes=processes, write_with="processes")

    return begin


def large(number: int) -> Frame:
    whole = pixels(number, LARGE)
    return Frame(image(number, whole, series="a"), [whole.tobytes()])


def wait_for_end(process: WriterProcess) -> None:
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)


@pytest.mark.parametrize("step", [1, 10_000])
@pytest.mark.parametrize("frames", [1, 4, 5, 12, 13, 100])
def test_every_frame_stands_at_its_index_in_the_one_file(
    path: Path, series: Series, frames: int, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preallocated, "STEP_BYTES", step)
    written = series(200)
    written.add(*(frame(number) for number in np.random.default_rng(frames).permutation(frames).tolist()))
    assert isinstance(written.store, PreallocatedStore)
    written.close(reason="abort", triggered=frames)
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["entry/data/data"][()], [array(n) for n in range(frames)])
    assert list(path.parent.iterdir()) == [path]


def test_what_never_came_is_no_count(path: Path, series: Series) -> None:
    written = series()
    written.add(frame(1), frame(9), frame(30))
    written.close(reason="stop", pad=True)
    with h5py.File(path) as file:
        found = file["entry/data/data"][()]
    assert [index for index in range(50) if not (found[index] == FILL).all()] == [1, 9, 30]


def test_one_failure_tells_what_all_processes_have_lost(
    path: Path, series: Series, processes: Processes
) -> None:
    limits = [resource.prlimit(process.pid, resource.RLIMIT_FSIZE) for process in processes]
    opening = {"shape": LARGE, "type": "uint16", "compression": "none"}
    written = series(300, **opening)
    for process, (_, hard) in zip(processes, limits, strict=True):
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (path.stat().st_size // 3, hard))
    try:
        with pytest.raises(WriterError, match="File too large") as raised:
            written.add(*map(large, range(300)))
        counts = written.series.account.counts()
        assert f" {counts.stored} of 300 frames are in the file" in str(raised.value)
        with contextlib.suppress(WriterError):
            written.close("the disk is full")
    finally:
        for process, limit in zip(processes, limits, strict=True):
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, limit)
    assert written.series.account.counts().stored == counts.stored, "nothing is taken back later"


def test_frames_go_to_all_processes_and_as_they_are_into_their_memory(
    path: Path, series: Series, processes: Processes
) -> None:
    written = series(300)
    before = [_written_by(process) for process in processes]
    for number in range(300):
        written.add(large(number))
        assert written.writer.waiting_bytes <= 3 * MEMORY
    written.close(triggered=300)
    shares = [_written_by(process) - many for process, many in zip(processes, before, strict=True)]
    assert all(share > 90 * large(0).image.shape[0] * 2 * LARGE[1] for share in shares), shares
    with h5py.File(path) as file:
        wrong = [n for n in range(300) if not np.array_equal(file["entry/data/data"][n], pixels(n, LARGE))]
    assert wrong == []


def test_flushed_frames_are_in_the_file_when_flush_returns(
    path: Path, series: Series, tmp_path: Path
) -> None:
    written = series()
    written.add(*(frame(number) for number in range(20)))
    written.writer.flush()
    copy = tmp_path / "copy.h5"
    copy.write_bytes(path.read_bytes())
    written.close("stopped")
    with h5py.File(copy) as file:
        np.testing.assert_array_equal(file["entry/data/data"][:20], [array(n) for n in range(20)])


def test_a_frame_can_be_read_while_the_series_runs(series: Series) -> None:
    written = series()
    written.add(*(frame(number) for number in range(20)))
    for number in (0, 5, 19):
        assert bytes(written.writer.read(number).blobs[0]) == array(number).tobytes()
    written.close("stopped")


def test_a_process_that_dies_is_noticed_without_a_frame_and_only_what_it_had_not_written_is_missing(
    path: Path, series: Series, processes: Processes
) -> None:
    written = series()
    written.add(*(frame(number) for number in range(20)))
    written.writer.flush()
    written.add(*(frame(number) for number in range(20, 30)))
    stopped = processes[2]  # has block 5: frames 20 to 23
    os.kill(stopped.pid, signal.SIGKILL)
    wait_for_end(stopped)
    with pytest.raises(
        WriterError, match=r"writer process 3 was killed by SIGKILL .*; 26 of 50 frames are in the file"
    ):
        written.writer.flush()
    with pytest.raises(WriterError, match="writer process 3"):
        written.close("a writer died")
    counts = written.series.account.counts()
    assert (counts.stored, counts.flushed, counts.missing) == (26, 26, 24)
    kept = [n for n in range(30) if n not in range(20, 24)]
    with h5py.File(path) as file:
        found = file["entry/data/data"][()]
        np.testing.assert_array_equal(found[kept], [array(n) for n in kept])
        assert (found[20:24] == FILL).all()
        assert np.flatnonzero(np.array(status_of(file)) == FrameStatus.STORED).tolist() == kept
        assert file[f"{DETECTOR}/series/state"].asstr()[()] == "incomplete"
    following = series(path=path.with_name("y.h5"))
    following.add(*(frame(number) for number in range(50)))
    following.close(triggered=50)
    with h5py.File(following.writer.path) as file:
        np.testing.assert_array_equal(file["entry/data/data"][()], [array(n) for n in range(50)])


def test_a_process_that_dies_with_its_memory_full_loses_what_it_had_not_written_and_no_more(
    path: Path, series: Series, processes: Processes
) -> None:
    written = series(300)
    written.add(large(299))
    written.writer.flush()
    os.kill(processes[1].pid, signal.SIGSTOP)
    killer = threading.Timer(0.3, os.kill, (processes[1].pid, signal.SIGKILL))  # while `put` waits for room
    killer.start()
    with pytest.raises(WriterError, match="writer process 2 was killed by SIGKILL"):
        written.add(*map(large, range(299)))
    killer.join()
    with pytest.raises(WriterError):
        written.close("a writer died")
    with h5py.File(path) as file:
        status = np.array(status_of(file))
        stored = np.flatnonzero(status == FrameStatus.STORED)
        assert 0 < len(stored) == written.series.account.counts().stored < len(status)
        for index in range(len(status)):
            expected = pixels(index, LARGE) if index in stored else np.full(LARGE, FILL)
            np.testing.assert_array_equal(file["entry/data/data"][index], expected)


def test_a_disk_that_is_full_ends_the_series_with_everything_that_was_written(
    path: Path, series: Series, processes: Processes
) -> None:
    written = series(300)
    limits = resource.prlimit(processes[2].pid, resource.RLIMIT_FSIZE)
    resource.prlimit(processes[2].pid, resource.RLIMIT_FSIZE, (500_000, limits[1]))
    try:
        with pytest.raises(
            WriterError, match=f"could not write .* {os.strerror(errno.EFBIG)}; .* may not become larger"
        ):
            written.add(*map(large, range(300)))
    finally:
        resource.prlimit(processes[2].pid, resource.RLIMIT_FSIZE, limits)
    with pytest.raises(WriterError, match=os.strerror(errno.EFBIG)):
        written.close("the disk is full")
    with h5py.File(path) as file:
        status = np.array(status_of(file))
        stored = np.flatnonzero(status == FrameStatus.STORED)
        assert len(stored) == written.series.account.counts().stored > 10
        for index in range(len(status)):
            expected = pixels(index, LARGE) if index in stored else np.full(LARGE, FILL)
            np.testing.assert_array_equal(file["entry/data/data"][index], expected)


def test_the_processes_let_go_of_the_file_when_the_series_has_ended(
    path: Path, series: Series, processes: Processes
) -> None:
    written = series()
    written.add(frame(0))
    assert [_has_open(process, path) for process in processes] == [True] * 3
    written.close("stopped")
    assert [_has_open(process, path) for process in processes] == [False] * 3


def test_others_can_read_the_file_with_their_locks_while_it_is_written(path: Path, series: Series) -> None:
    written = series()
    written.add(frame(0))
    written.writer.flush()
    # Not h5py in this process: HDF5 would take what it knows of the open file.
    with path.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)
    written.close("stopped")


def test_a_file_is_not_taken_for_left_behind_while_a_process_is_at_it(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"")
    mine = os.open(file, os.O_RDWR)
    try:
        marked = process_lease.hold(mine)
        copied = os.dup(marked)  # as a process gets it
        os.close(marked)
        waiting = threading.Thread(target=process_lease.wait, args=(mine,))
        waiting.start()
        waiting.join(0.2)
        assert waiting.is_alive()
        os.close(copied)
        waiting.join(process_lease.LONGEST / 2)
        assert not waiting.is_alive()
    finally:
        os.close(mine)


@pytest.mark.slow
def test_kill_9_of_all_processes_leaves_a_file_that_opens_with_every_flushed_frame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "LEAST_PLACED_BYTES", 1)
    monkeypatch.setattr(write_processes, "BATCH_BYTES", 4 * array(0).nbytes)
    dice = random.Random(11)
    for trial in range(8):
        path = tmp_path / f"{trial}.h5"
        told, tell = os.pipe()
        pid = os.fork()
        if pid == 0:
            _write_until_killed(path, tell)
        os.close(tell)
        found = os.read(told, 24)
        flushed = Flushed(told)
        flushed.wait(20 * trial)
        time.sleep(dice.uniform(0, 0.01))  # the moment of death, nothing is waited for
        os.kill(pid, signal.SIGKILL)
        if trial % 2:
            for other in struct.unpack_from("qq", found):
                os.kill(other, signal.SIGKILL)
        os.waitpid(pid, 0)
        flushed.close()
        count = max(flushed.count, 1)
        mark_interrupted(str(path), "it was killed")
        with h5py.File(path) as file:
            assert status_of(file)[:count] == [FrameStatus.STORED] * count
            data = file["entry/data/data"][()]
            assert data.shape == (len(status_of(file)), *SHAPE)
            for index, status in enumerate(status_of(file)):
                expected = array(index) if status == FrameStatus.STORED else np.full(SHAPE, FILL)
                np.testing.assert_array_equal(data[index], expected)


def _write_until_killed(path: Path, tell: int) -> None:
    """In a child: frames without end, a flush after every few; tells who writes, and what is flushed."""
    try:
        processes = WriterProcess(1, MEMORY), WriterProcess(2, MEMORY)
        opening = start(frames=10**5, shape=SHAPE, type="uint16", compression="none")
        written = Written(path, opening, writers=2, processes=processes, write_with="processes")
        written.add(frame(0))
        written.writer.flush()
        os.write(tell, struct.pack("qqq", *(process.pid for process in processes), 1))
        for number in range(1, 10**5):
            written.add(frame(number))
            if number % 7 == 6:
                written.writer.flush()
                os.write(tell, (number + 1).to_bytes(8, "little"))
    finally:
        os._exit(1)


def _written_by(process: WriterProcess) -> int:
    """Bytes that a process has handed to write calls (proc(5))."""
    lines = Path(f"/proc/{process.pid}/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["wchar"])


def _has_open(process: WriterProcess, path: Path) -> bool:
    # Not by its name: the file had another one when it was opened.
    return any(os.path.samefile(link, path) for link in Path(f"/proc/{process.pid}/fd").iterdir())
