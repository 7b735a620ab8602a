"""Uncompressed frames into places that are known ahead, by the loop itself or by a thread."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from penstock.checks.verify import verify
from penstock.receiver.files.recovery.interrupted import mark_interrupted
from penstock.receiver.files.refusals import StorageError
from penstock.receiver.files.stores import gaps, preallocated
from penstock.receiver.files.stores.contract import FrameFormat
from penstock.receiver.files.stores.disk import blob_writes, chunk_places, disk_file, write_thread
from penstock.receiver.files.stores.preallocated import PreallocatedStore
from penstock.receiver.files.writer import WriterError
from penstock.receiver.models import FrameStatus
from penstock.receiver.reading.reader import SeriesFile
from penstock.stins.messages import Frame
from tests.receiver.files.stores.written import (
    DETECTOR,
    SHAPE,
    Flushed,
    Written,
    array,
    frame,
    status_of,
)
from tests.receiver.sample_series import start
from tests.streams import image, pixels

FILL = 65535
QUEUE = 2**20
"""Bytes that may wait for a thread."""
NXMX: dict[str, Any] = {
    "beam_center_x": 2.5, "beam_center_y": 1.5, "distance": 0.2, "x_pixel_size": 7.5e-5,
    "y_pixel_size": 7.5e-5, "incident_energy": 12_398.0,
}  # fmt: skip
"""With these a file has the names that neggia looks for."""


@pytest.fixture(autouse=True)
def small_frames_have_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preallocated, "LEAST_FRAME_BYTES", 1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.h5"


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[Any]:
    file = disk_file.open_file(os.open(path, os.O_RDWR | os.O_CREAT), path, "w")
    yield file
    disk_file.close(file)


Series = Callable[..., Written]


@pytest.fixture(params=["gathered", "by the loop", "by a thread"])
def series(path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Series:
    if request.param != "gathered":
        monkeypatch.setattr(preallocated, "MOST_FRAME_BYTES", 0)

    def begin(frames: int | None = 9, **keys: Any) -> Written:
        return Written(
            path, start(frames=frames, **keys), queue_bytes=QUEUE if "thread" in request.param else 0
        )

    return begin


@pytest.mark.parametrize("step", [1, 10_000])
def test_every_frame_stands_at_its_index_and_what_never_came_is_no_count(
    path: Path, series: Series, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preallocated, "STEP_BYTES", step)
    written = series(50)
    written.add(*(frame(number) for number in (30, 2, 0, 3, 31, 33)))
    assert isinstance(written.store, PreallocatedStore)
    written.close(reason="abort", triggered=34)
    with h5py.File(path) as file:
        data = file["entry/data/data"]
        assert (data.shape, data.chunks) == ((34, *SHAPE), (1, *SHAPE))
        for index in range(34):
            expected = array(index) if index in (0, 2, 3, 30, 31, 33) else np.full(SHAPE, FILL)
            np.testing.assert_array_equal(data[index], expected)
        assert np.flatnonzero(file[f"{DETECTOR}/frame_status"][()]).tolist() == [0, 2, 3, 30, 31, 33]


@pytest.mark.parametrize(
    "keys",
    [{"frames": 2**60}, {"frames": preallocated.MOST_FRAMES + 1}, {"compression": "bslz4"}],
    ids=["vast", "many", "packed"],
)
def test_frames_whose_place_or_number_is_not_known_ahead_are_stored_otherwise(
    path: Path, keys: dict[str, Any]
) -> None:
    keys = {"shape": SHAPE, "type": "uint16", "compression": "none", "frames": 5, **keys}
    written = Written(path, start(**keys), queue_bytes=QUEUE)
    assert not isinstance(written.store, PreallocatedStore)
    written.close("stopped")


@pytest.mark.parametrize("least", [1, 2**26], ids=["in many steps", "in one step"])
def test_frames_of_an_unannounced_series_have_places_too(
    path: Path, series: Series, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preallocated, "LEAST_BYTES", least)
    numbers = [*range(30), 33, 70, 40]
    written = series(None, shape=SHAPE, type="uint16", compression="none")
    assert isinstance(written.store, PreallocatedStore)
    written.add(*(frame(number) for number in numbers))
    np.testing.assert_array_equal(bytes(written.writer.read(70).blobs[0]), array(70).tobytes())
    written.close("stopped")
    with h5py.File(path) as file:
        data = file["entry/data/data"]
        assert data.shape == (71, *SHAPE)
        for index in range(71):
            expected = array(index) if index in numbers else np.full(SHAPE, FILL)
            np.testing.assert_array_equal(data[index], expected)


@pytest.mark.parametrize("why", ["many", "a disk that is nearly full"])
def test_where_an_unannounced_series_gets_no_more_places_hdf5_writes_the_frames(
    path: Path, series: Series, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preallocated, "LEAST_BYTES", 10 * array(0).nbytes)
    monkeypatch.setattr(preallocated, "ROWS_WITHOUT_PLACE", 7)
    if why == "many":
        monkeypatch.setattr(preallocated, "MOST_UNANNOUNCED", 20)
    written = series(None, shape=SHAPE, type="uint16", compression="none")
    written.add(*(frame(number) for number in range(10)))
    if why != "many":
        full = os.statvfs_result((4096, 4096, 1000, 0, 0, 0, 0, 0, 0, 255))
        monkeypatch.setattr(os, "fstatvfs", lambda descriptor: full)
    written.add(*(frame(number) for number in range(10, 45) if number != 31))
    monkeypatch.undo()
    written.writer.flush()
    np.testing.assert_array_equal(bytes(written.writer.read(44).blobs[0]), array(44).tobytes())
    written.add(frame(31), frame(50))
    written.close("stopped")
    with h5py.File(path) as file:
        data = file["entry/data/data"]
        assert data.shape == (51, *SHAPE)
        for index in range(51):
            expected = array(index) if index < 45 or index == 50 else np.full(SHAPE, FILL)
            np.testing.assert_array_equal(data[index], expected)


def test_thousands_of_missing_frames_are_shown_as_the_fill_value_not_written(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gaps, "MOST_FILLED_BYTES", 100)
    announced = {"frames": None, "shape": SHAPE, "type": "uint16", "compression": "none"}
    written = Written(path, start(metadata=NXMX, **announced))
    written.add(frame(0), frame(50))
    written.close("stopped")
    with h5py.File(path) as file:
        data = file["entry/data/data"]
        assert data.is_virtual
        assert set(file["entry/data"]) == {"data"}, "neggia's name would show what was never written"
        np.testing.assert_array_equal(data[0], array(0))
        np.testing.assert_array_equal(data[50], array(50))
        assert (data[1:50] == FILL).all()


@pytest.mark.parametrize("steps", [(1,), (3, 200), (40_000,), (100, 5_000, 5_001)])
def test_the_places_of_frames_are_those_that_hdf5_names(path: Path, steps: tuple[int, ...]) -> None:
    with new_file(path) as file:
        file.create_dataset("other", (2000,), "int32", chunks=(10,))[:] = 7
        disk_file.flush(file)
        data = PreallocatedStore._create(
            file.create_group("detector"), FrameFormat((3, 4), "uint16", "none", None)
        )
        known: list[int] = []
        for rows in steps:
            data.resize(rows, axis=0)
            places = chunk_places.find(disk_file.flush(file), range(len(known), rows), 3, 24)
            assert places is not None
            known += places.tolist()
            named = [0] * rows

            def keep(chunk: Any, named: list[int] = named) -> None:
                named[chunk.chunk_offset[0]] = chunk.byte_offset

            data.id.chunk_iter(keep)
            assert known == named


def test_places_of_frames_are_not_taken_from_the_index_of_another_dataset(path: Path) -> None:
    with new_file(path) as file:
        for name in ("one", "other"):
            group = file.create_group(name)
            data = PreallocatedStore._create(group, FrameFormat((3, 4), "uint16", "none", None))
            data.resize(100, axis=0)
        writes = disk_file.flush(file)
        assert chunk_places.find(writes, range(101), 3, 24) is None
        assert chunk_places.find(writes, range(100), 3, 25) is None
        assert chunk_places.find(writes, range(100), 2, 24) is None
        assert chunk_places.find(writes, range(100), 3, 24) is None


def test_a_few_missing_frames_are_filled_however_large(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gaps, "MOST_FILLED_BYTES", 100)
    written = Written(path, start(frames=20, metadata=NXMX, shape=SHAPE, type="uint16", compression="none"))
    written.add(frame(0), frame(9))
    written.close("stopped")
    with h5py.File(path) as file:
        assert not file["entry/data/data"].is_virtual
        assert file["entry/data/data_000001"] == file["entry/data/data"]
        assert (file["entry/data/data"][1:9] == FILL).all()


@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_a_series_that_ends_early_without_a_gap_keeps_no_empty_space(
    path: Path, series: Series, tmp_path: Path, how: str
) -> None:
    shape, planned = (512, 256), 100
    arrays = [pixels(number, shape) for number in range(2)]
    written = series(planned, shape=shape, type="uint16", compression="none")
    written.add(
        *(Frame(image(number, item, series="a"), [item.tobytes()]) for number, item in enumerate(arrays))
    )
    written.writer.flush()
    left = tmp_path / "killed.h5"
    left.write_bytes(path.read_bytes())  # its places take space, as those do that were set aside
    assert left.stat().st_blocks * 512 > planned * arrays[0].nbytes
    written.close("stopped")
    if how == "killed":
        mark_interrupted(left, "it was killed")
        path = left
    assert path.stat().st_blocks * 512 < 10 * arrays[0].nbytes
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["entry/data/data"][()], arrays)


def test_places_that_cannot_be_had_leave_no_descriptor(
    path: Path, series: Series, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(preallocated, "allocate", fails)
    before = sorted(os.listdir("/proc/self/fd"))
    with pytest.raises(StorageError, match="cannot create"):
        series(shape=SHAPE, type="uint16", compression="none")
    assert sorted(os.listdir("/proc/self/fd")) == before
    assert list(path.parent.iterdir()) == []


def test_a_frame_can_be_read_while_the_series_runs(path: Path, series: Series) -> None:
    written = series()
    written.add(frame(4, trigger=14))
    found = written.writer.read(4)
    assert (found.image.trigger, found.image.compression, found.image.shape) == (14, "none", SHAPE)
    assert bytes(found.blobs[0]) == array(4).tobytes()
    written.close("stopped")


def test_the_file_verifies_against_the_checksums_of_the_stream(path: Path, series: Series) -> None:
    written = series(3, checksum="crc32")
    written.add(*(frame(number, checksum="crc32") for number in range(3)))
    written.close(triggered=3)
    with SeriesFile(path) as file:
        assert verify(file).is_sound


def test_flushed_frames_are_in_the_file_when_flush_returns(
    path: Path, series: Series, tmp_path: Path
) -> None:
    written = series()
    written.add(frame(0), frame(1))
    written.writer.flush()
    copy = tmp_path / "copy.h5"
    copy.write_bytes(path.read_bytes())
    written.close("stopped")
    with h5py.File(copy) as file:
        np.testing.assert_array_equal(file["entry/data/data"][:2], [array(0), array(1)])


def test_a_call_that_writes_less_is_continued(
    path: Path, series: Series, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, blob, at: real(fd, bytes(blob)[:7], at))
    monkeypatch.setattr(os, "pwritev", lambda fd, blobs, at: real(fd, b"".join(blobs)[:77], at))
    written = series(2)
    written.add(frame(0), frame(1))
    written.close(triggered=2)
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["entry/data/data"][()], [array(0), array(1)])


def test_frames_that_were_taken_and_could_not_be_written_are_missing(
    path: Path, series: Series, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = os.pwrite, []

    def full(descriptor: int, blob: Any, offset: int) -> int:
        calls.append(offset)
        if len(calls) > 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(descriptor, blob, offset)

    def full_for_several(descriptor: int, blobs: list[Any], offset: int) -> int:
        return full(descriptor, b"".join(blobs), offset)

    def take_and_flush() -> None:
        written.add(frame(3))  # the loop itself notices here
        written.writer.flush()  # threads show it here

    written = series()
    written.add(frame(0), frame(1), frame(2))
    written.writer.flush()
    monkeypatch.setattr(os, "pwrite", full)
    monkeypatch.setattr(os, "pwritev", full_for_several)
    calls.extend([0, 0, 0])
    with pytest.raises(WriterError, match=r"No space left on device; 3 of 9 frames are in the file"):
        take_and_flush()
    monkeypatch.undo()
    # What the threads had taken shows once more.
    with contextlib.suppress(WriterError):
        written.close("the disk is full")
    counts = written.series.account.counts()
    assert (counts.stored, counts.missing, counts.flushed) == (3, 6, 3)
    with h5py.File(path) as file:
        found = file["entry/data/data"]
        np.testing.assert_array_equal(found[:3], [array(0), array(1), array(2)])
        assert (found[3:] == FILL).all()
        assert file[f"{DETECTOR}/series/state"].asstr()[()] == "incomplete"
        assert np.flatnonzero(status_of(file)).tolist() == [0, 1, 2]


def test_frames_next_to_each_other_are_written_by_one_call(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = os.pwritev, []

    def count(descriptor: int, blobs: list[Any], offset: int) -> int:
        calls.append(len(blobs))
        return real(descriptor, blobs, offset)

    monkeypatch.setattr(os, "pwritev", count)
    written = Written(path, start(frames=100))
    written.add(*(frame(number) for number in range(70)))
    # HDF5 may have put an index of its own between two of them.
    assert max(calls) == blob_writes.GATHERED_FRAMES and len(calls) <= 4
    assert written.writer.waiting_bytes == (70 - sum(calls)) * array(0).nbytes
    written.add(frame(90), frame(91))  # not next to the ones before
    written.writer.flush()
    assert sum(calls) == 72 and calls[-1] == 2
    assert sum(calls) == 72
    assert written.writer.waiting_bytes == 0
    written.close("stopped")
    with h5py.File(path) as file:
        data = file["entry/data/data"]
        for index in range(92):
            expected = array(index) if index < 70 or index >= 90 else np.full(SHAPE, FILL)
            np.testing.assert_array_equal(data[index], expected)


@pytest.mark.parametrize("planned", [None, 300])
def test_frames_that_are_entered_together_stand_at_their_index(path: Path, planned: int | None) -> None:
    written = Written(path, start(frames=planned))
    written.add(frame(0))
    for first in range(1, 299, 32):
        written.add_run(*map(frame, range(first, min(first + 32, 299))))
    np.testing.assert_array_equal(written.writer.read(298).blobs[0], array(298).tobytes())
    written.add(frame(299))
    written.close(triggered=300)
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["entry/data/data"][()], [array(number) for number in range(300)])
        assert set(status_of(file)) == {FrameStatus.STORED}
        assert file[f"{DETECTOR}/sequence_number"][()].tolist() == [*range(300)]


def test_of_frames_entered_together_none_is_stored_where_those_before_found_no_space(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, blobs: list[Any], offset: int) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    written = Written(path, start(frames=100))
    written.add(frame(0))
    written.writer.flush()
    written.add_run(*map(frame, range(1, 33)))
    monkeypatch.setattr(os, "pwritev", full)
    with pytest.raises(WriterError, match=r"frames 33 to 64: No space left on device; 1 of 100 frames are"):
        written.add_run(*map(frame, range(33, 65)))
    monkeypatch.undo()
    written.close("the disk is full")
    assert written.series.account.counts().stored == 1
    with h5py.File(path) as file:
        assert np.flatnonzero(status_of(file)).tolist() == [0]
        assert (file["entry/data/data"][1:] == FILL).all()


def test_of_frames_written_by_one_call_those_that_found_space_are_stored(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, size = os.pwrite, array(0).nbytes

    def full(descriptor: int, blob: Any, offset: int) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    written = Written(path, start(frames=9))
    written.add(*(frame(number) for number in range(5)))
    monkeypatch.setattr(os, "pwritev", lambda fd, blobs, at: real(fd, b"".join(blobs)[: 2 * size + 7], at))
    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(WriterError, match=r"No space left on device; 2 of 9 frames are in the file"):
        written.writer.flush()
    monkeypatch.undo()
    written.close("the disk is full")
    counts = written.series.account.counts()
    assert (counts.stored, counts.missing) == (2, 7)
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["entry/data/data"][:2], [array(0), array(1)])
        assert np.flatnonzero(status_of(file)).tolist() == [0, 1]


def test_what_waits_for_the_thread_is_bounded_in_bytes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    most: list[int] = []
    real = write_thread.pwritev_all

    def slow(descriptor: int, blobs: Any, offset: int) -> Iterator[int]:
        most.append(written.writer.waiting_bytes)
        time.sleep(0.001)
        yield from real(descriptor, blobs, offset)

    monkeypatch.setattr(write_thread, "pwritev_all", slow)
    size = array(0).nbytes
    written = Written(path, start(frames=50), queue_bytes=3 * size)
    written.add(*(frame(number) for number in range(50)))
    written.close(triggered=50)
    assert size < max(most) <= 3 * size
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["entry/data/data"][()], [array(number) for number in range(50)])


def test_where_the_fill_value_cannot_be_written_it_is_shown(
    path: Path, series: Series, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, blob: Any, offset: int) -> int:
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

    written = series()
    written.add(frame(0), frame(2))
    written.writer.flush()
    monkeypatch.setattr(gaps, "pwrite_all", full)
    with pytest.raises(WriterError, match=r"Disk quota exceeded; 2 of 9 frames are in the file"):
        written.close("the quota is used up")
    with h5py.File(path) as file:
        found = file["entry/data/data"][()]
        np.testing.assert_array_equal(found, [array(0), np.full(SHAPE, FILL), array(2)])
        assert np.flatnonzero(status_of(file)).tolist() == [0, 2]


@pytest.mark.slow
def test_kill_9_at_any_moment_leaves_a_file_that_opens_with_every_flushed_frame(tmp_path: Path) -> None:
    dice = random.Random(3)
    for trial in range(24):
        path = tmp_path / f"{trial}.h5"
        told, tell = os.pipe()
        pid = os.fork()
        if pid == 0:
            _write_until_killed(path, tell, queue_bytes=QUEUE * (trial % 2))
        os.close(tell)
        os.read(told, 8)  # it writes
        flushed = Flushed(told)
        flushed.wait(dice.randrange(40))
        time.sleep(dice.uniform(0, 0.01))  # the moment of death, nothing is waited for
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        flushed.close()
        _holds(path, flushed.count, marked=False)
        mark_interrupted(str(path), "it was killed")
        _holds(path, flushed.count, marked=True)
        path.unlink()


def _write_until_killed(path: Path, tell: int, queue_bytes: int) -> None:
    """In a child: frames without end, every third missing, a flush after every few; tells what is flushed."""
    try:
        opening = start(frames=10**5, shape=SHAPE, type="uint16", compression="none")
        written = Written(path, opening, queue_bytes=queue_bytes)
        written.writer.flush()
        os.write(tell, (0).to_bytes(8, "little"))
        for number in range(10**5):
            if number % 3 != 2:
                written.add(frame(number))
            if number % 7 == 6:
                written.writer.flush()
                os.write(tell, (number + 1).to_bytes(8, "little"))
    finally:
        os._exit(1)


def _holds(path: Path, count: int, *, marked: bool) -> None:
    with h5py.File(path) as file:
        status = file[f"{DETECTOR}/frame_status"][()]
        data = file[DETECTOR].get("data")
        for index in range(count):
            if index % 3 != 2:
                assert status[index] == FrameStatus.STORED
                np.testing.assert_array_equal(data[index], array(index))
            elif index < len(status):
                assert status[index] == FrameStatus.MISSING
                assert not marked or (data[index] == FILL).all()
