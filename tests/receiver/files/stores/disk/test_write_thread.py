"""Frames whose place HDF5 gives as they come, packed or of an unknown number, written by a thread."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers the filters)
import numpy as np
import pytest

from penstock.checks.verify import verify
from penstock.codecs import bslz4
from penstock.receiver.files.recovery.interrupted import mark_interrupted
from penstock.receiver.files.stores.chunked import ChunkedStore
from penstock.receiver.files.stores.disk import write_thread
from penstock.receiver.files.stores.disk.write_thread import WriteThread
from penstock.receiver.files.writer import WriterError
from penstock.receiver.models import FrameStatus
from penstock.receiver.reading.reader import SeriesFile
from penstock.stins.checksums import checksums
from penstock.stins.messages import Frame
from tests.receiver.disks import small_file_system
from tests.receiver.files.stores.written import DETECTOR, SHAPE, Flushed, Written, array, frame, status_of
from tests.receiver.sample_series import start
from tests.streams import image

FILL = 65535
NOISE = (514, 257)
"""Noise of this shape has 264 kB packed, and plain."""
QUEUE = 2**22
"""Bytes that may wait for the thread."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.h5"


def packed(number: int, whole: np.ndarray[Any, Any] | None = None) -> Frame:
    whole = array(number) if whole is None else whole
    blobs = [bslz4.compress(whole)]
    keys = {"checksums": checksums("crc32", blobs), "trigger": number + 7}
    return Frame(image(number, whole, compression="bslz4", series="a", **keys), blobs)


def noise(number: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(number).integers(0, 2**16, NOISE, np.uint16)


@pytest.mark.parametrize("frames", [0, 1, 5, 100])
def test_packed_frames_in_any_order_stand_at_their_index_in_the_one_file(path: Path, frames: int) -> None:
    written = Written(
        path, start(frames=200, shape=SHAPE, type="uint16", compression="bslz4"), queue_bytes=QUEUE
    )
    assert isinstance(written.store, ChunkedStore)
    order = np.random.default_rng(frames).permutation(frames).tolist()
    written.add(*(packed(number) for number in order))
    written.close(reason="abort", triggered=frames)
    with h5py.File(path) as file:
        np.testing.assert_array_equal(
            file["entry/data/data"][()], np.array([array(n) for n in range(frames)]).reshape(-1, *SHAPE)
        )
        assert not file["entry/data/data"].is_virtual
    assert [file.name for file in path.parent.iterdir()] == ["x.h5"]


def test_frames_of_an_unknown_number_and_plain_ones_among_packed_ones_are_taken(path: Path) -> None:
    written = Written(path, start(frames=None), queue_bytes=QUEUE)
    written.add(*(packed(number) if number % 3 else frame(number) for number in range(1, 3001)))
    written.close()
    with h5py.File(path) as file:
        assert file["entry/data/data"].shape == (3001, *SHAPE)
        wrong = [n for n in range(1, 3001) if not np.array_equal(file["entry/data/data"][n], array(n))]
    assert wrong == []


def test_a_thread_writes_the_frames_and_what_waits_for_it_is_bounded(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by: set[str] = set()
    real = write_thread.pwritev_all

    def noted(descriptor: int, blobs: Any, offset: int) -> Iterator[int]:
        by.add(threading.current_thread().name)
        yield from real(descriptor, blobs, offset)

    monkeypatch.setattr(write_thread, "pwritev_all", noted)
    written = Written(path, start(frames=40, checksum="crc32"), queue_bytes=200)
    for number in range(40):
        written.add(packed(number))
        assert written.writer.waiting_bytes <= 200
    written.close(triggered=40)
    assert by == {"frames of a part"}
    with SeriesFile(path) as file:
        assert verify(file).is_sound


def noting_what_is_handed(thread: WriteThread) -> list[int]:
    """Return a list that grows by the number of blobs in each batch; 0 for the end of the thread."""
    handed: list[int] = []
    hand_over = thread._handed.put
    thread._handed = SimpleNamespace(  # type: ignore[assignment]
        put=lambda batch: (handed.append(len(batch or ())), hand_over(batch)), get=thread._handed.get
    )
    return handed


def test_the_thread_is_handed_batches_and_takes_no_core_from_the_loop(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[int, int]] = []

    def noted(descriptor: int, blobs: Any, offset: int) -> Iterator[int]:
        calls.append((offset, sum(map(len, blobs))))
        yield len(blobs)

    monkeypatch.setattr(write_thread, "pwritev_all", noted)
    with path.open("wb") as file:
        thread = WriteThread(file.fileno(), 2 * write_thread.BATCH_BYTES)
        handed = noting_what_is_handed(thread)
        quarter = bytes(write_thread.CALL_BYTES // 4)
        thread.put_run(0, [quarter] * 6, [number * len(quarter) for number in range(6)])
        thread.put(6, quarter, 6 * len(quarter))
        assert (handed, thread.waiting_bytes) == ([], 7 * len(quarter))
        thread.put(7, quarter, 7 * len(quarter))
        assert handed == [8]
        thread.put(9, quarter, 9 * len(quarter))
        assert handed == [8]
        thread.drain()
        assert (handed, thread.waiting_bytes) == ([8, 1], 0)
        assert calls == [(0, 2**22), (2**22, 2**22), (9 * len(quarter), len(quarter))]
        policies = [os.sched_getscheduler(each.native_id) for each in threading.enumerate() if each.native_id]
        assert os.SCHED_BATCH in policies and os.sched_getscheduler(0) == os.SCHED_OTHER
        thread.close()


def test_a_batch_is_handed_over_before_the_loop_waits_for_anything(path: Path) -> None:
    before_wait: list[Callable[[], None]] = []
    half = bytes(write_thread.BATCH_BYTES // 2)
    with path.open("wb") as file, (path.parent / "other").open("wb") as other_file:
        thread = WriteThread(file.fileno(), 4 * len(half), before_wait)
        other = WriteThread(other_file.fileno(), 4 * len(half), before_wait)
        handed, handed_to_other = noting_what_is_handed(thread), noting_what_is_handed(other)

        def put(*numbers: int, to: WriteThread = thread) -> None:
            for number in numbers:
                to.put(number, half, number * len(half))

        def wait() -> None:
            for call in before_wait:
                call()
            before_wait.clear()

        put(0)
        wait()
        assert handed == [], "there is no batch"
        put(1)
        assert handed == [], "the loop goes on"
        wait()
        assert handed == [2]
        thread.drain()
        put(2, 3, 4)
        put(0, 1, to=other)
        assert (handed, handed_to_other) == ([2], [])
        put(5, 6)  # for which there is no room
        assert (handed, handed_to_other) == ([2, 4], [2]), "of all threads, before it waits for one of them"
        put(2, to=other)
        wait()
        assert (handed, handed_to_other) == ([2, 4], [2])
        for each in (thread, other):
            each.close()
        wait()
        assert (handed, handed_to_other) == ([2, 4, 1, 0], [2, 1, 0])
    assert (path.stat().st_size, (path.parent / "other").stat().st_size) == (7 * len(half), 3 * len(half))


def test_how_long_the_loop_waits_for_room_is_counted_and_nothing_else(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, blocked = write_thread.pwritev_all, threading.Event()

    def slow(descriptor: int, blobs: Any, offset: int) -> Iterator[int]:
        assert blocked.wait(10.0)
        yield from real(descriptor, blobs, offset)

    ticks = iter(range(1000))

    def clock() -> float:  # the first look is that of a caller who is about to wait
        blocked.set()
        return float(next(ticks))

    monkeypatch.setattr(write_thread, "pwritev_all", slow)
    monkeypatch.setattr(write_thread, "time", SimpleNamespace(monotonic=clock))
    with path.open("wb") as file:
        thread = WriteThread(file.fileno(), 10)
        thread.put(0, b"abcd", 0)
        thread.put(1, b"efgh", 4)
        assert thread.held_seconds == 0
        thread.put(2, b"ijkl", 8)
        held = thread.held_seconds
        assert held >= 1
        thread.close()
        assert thread.held_seconds == held
    assert path.read_bytes() == b"abcdefghijkl"


def test_a_frame_can_be_read_while_the_series_runs(path: Path) -> None:
    written = Written(path, start(frames=50), queue_bytes=QUEUE)
    written.add(*(packed(number) for number in range(20)), frame(20))
    for number in (0, 5, 19):
        found = written.writer.read(number)
        assert (found.image.compression, found.image.trigger) == ("bslz4", number + 7)
        assert bytes(found.blobs[0]) == bytes(packed(number).blobs[0])
    assert written.writer.read(20).image.compression == "none"
    written.close("stopped")


def test_frames_that_the_thread_had_taken_and_could_not_write_are_missing_and_read_as_the_fill_value(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = write_thread.pwritev_all

    def full(descriptor: int, blobs: Any, offset: int) -> Iterator[int]:
        if bytes(packed(3).blobs[0]) in map(bytes, blobs):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        yield from real(descriptor, blobs, offset)

    written = Written(path, start(frames=9, checksum="crc32"), queue_bytes=QUEUE)
    written.add(packed(0), packed(1), packed(4))
    written.writer.flush()
    monkeypatch.setattr(write_thread, "pwritev_all", full)
    written.add(packed(3))
    with pytest.raises(WriterError, match=r"No space left on device; 3 of 9 frames are in the file"):
        written.writer.flush()
    with contextlib.suppress(WriterError):
        written.close("the disk is full")
    counts = written.series.account.counts()
    assert (counts.stored, counts.missing, counts.flushed) == (3, 6, 3)
    with h5py.File(path) as file:
        found = file["entry/data/data"]
        assert len(found) == 5
        for index in range(5):
            expected = array(index) if index in (0, 1, 4) else np.full(SHAPE, FILL)
            np.testing.assert_array_equal(found[index], expected)
        assert file[f"{DETECTOR}/series/state"].asstr()[()] == "incomplete"
        assert np.flatnonzero(status_of(file)).tolist() == [0, 1, 4]
        assert found.attrs["units"] == "counts"
    with SeriesFile(path) as series:
        judged = verify(series)
        assert (judged.verified, judged.is_sound) == (3, True), judged
        assert series.blobs(4) == [bytes(packed(4).blobs[0])]
        np.testing.assert_array_equal(series.frame(3), np.full(SHAPE, FILL))


def test_on_a_full_disk_every_frame_that_counts_reads_and_every_other_one_is_the_fill_value(
    tmp_path: Path,
) -> None:
    def take_and_flush() -> None:
        for number in range(120):
            written.add(packed(number, noise(number)))
        written.writer.flush()

    with small_file_system(tmp_path / "disk", 20) as disk:
        path = disk / "x.h5"
        written = Written(path, start(frames=120), queue_bytes=QUEUE)
        with pytest.raises(WriterError, match="No space left on device"):
            take_and_flush()
        with contextlib.suppress(WriterError):
            written.close("the disk is full")
        with h5py.File(path) as file:
            stored = np.flatnonzero(np.array(status_of(file)) == FrameStatus.STORED).tolist()
            assert len(stored) == written.series.account.counts().stored > 10
            data = file["entry/data/data"]
            for index in range(len(data)):
                expected = noise(index) if index in stored else np.full(NOISE, FILL)
                np.testing.assert_array_equal(data[index], expected)


@pytest.mark.slow
def test_kill_9_at_any_moment_leaves_a_file_that_opens_with_every_flushed_frame(tmp_path: Path) -> None:
    dice = random.Random(12)
    for trial in range(24):
        path = tmp_path / f"{trial}.h5"
        told, tell = os.pipe()
        pid = os.fork()
        if pid == 0:
            _write_until_killed(path, tell)
        os.close(tell)
        os.read(told, 8)  # it writes
        flushed = Flushed(told)
        flushed.wait(dice.randrange(60))
        time.sleep(dice.uniform(0, 0.01))  # the moment of death, nothing is waited for
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        flushed.close()
        _holds(path, flushed.count)
        mark_interrupted(str(path), "it was killed")
        _holds(path, flushed.count)
        with h5py.File(path) as file:
            assert len(file["entry/data/data"]) == len(file[f"{DETECTOR}/frame_status"])


def _write_until_killed(path: Path, tell: int) -> None:
    """In a child: frames without end, a flush after every few; tells what is flushed."""
    try:
        written = Written(path, start(frames=10**6), queue_bytes=QUEUE)
        written.add(packed(0))
        written.writer.flush()
        os.write(tell, (1).to_bytes(8, "little"))
        for number in range(1, 10**6):
            written.add(packed(number))
            if number % 7 == 6:
                written.writer.flush()
                os.write(tell, (number + 1).to_bytes(8, "little"))
    finally:
        os._exit(1)


def _holds(path: Path, count: int) -> None:
    with h5py.File(path) as file:
        assert status_of(file)[:count] == [FrameStatus.STORED] * count
        for index in range(count):
            np.testing.assert_array_equal(file["entry/data/data"][index], array(index))
