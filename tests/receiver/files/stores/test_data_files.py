"""Frames of one series in the data files of several processes, and what is left when one of them dies."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

from penstock.checks.verify import verify
from penstock.codecs import bslz4
from penstock.receiver.files.beginning import SIGNATURE
from penstock.receiver.files.recovery.interrupted import mark_interrupted
from penstock.receiver.files.storage import RESERVE_BYTES
from penstock.receiver.files.stores import data_files as store
from penstock.receiver.files.stores.data_files import DataFilesStore
from penstock.receiver.files.stores.messages import DATASET, OpenDataFile
from penstock.receiver.files.stores.writer_process import WriterProcess
from penstock.receiver.files.writer import WriterError
from penstock.receiver.models import FrameStatus
from penstock.receiver.reader import SeriesFile
from penstock.stins.checksums import checksums
from penstock.stins.messages import Frame, Start
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
"""10.8 kB a frame: six in the memory of a process, which does not divide by it."""


@pytest.fixture
def processes(three_processes: Processes, monkeypatch: pytest.MonkeyPatch) -> Processes:
    monkeypatch.setattr(store, "MOST_BLOCK", 4)
    return three_processes


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.h5"


def large(number: int) -> Frame:
    whole = pixels(number, LARGE)
    return Frame(image(number, whole, series="a"), [whole.tobytes()])


def series(path: Path, opening: Start, processes: Processes) -> Written:
    return Written(path, opening, writers=len(processes), processes=processes)


def packed(number: int, **keys: object) -> Frame:
    blobs = [bslz4.compress(array(number))]
    keys["checksums"] = checksums("crc32", blobs)
    return Frame(image(number, array(number), compression="bslz4", series="a", **keys), blobs)


def data_files(path: Path) -> list[Path]:
    return sorted(path.parent.glob(f"{path.stem}_data_*.h5"))


@pytest.mark.parametrize("writers", [2, 3])
@pytest.mark.parametrize("frames", [0, 1, 4, 5, 11, 12, 13, 100])
def test_every_frame_stands_at_its_index(path: Path, processes: Processes, writers: int, frames: int) -> None:
    written = series(
        path, start(frames=200, shape=SHAPE, type="uint16", compression="bslz4"), processes[:writers]
    )
    assert isinstance(written.store, DataFilesStore)
    order = np.random.default_rng(frames).permutation(frames).tolist()
    written.add(*(packed(number) for number in order))
    written.close(reason="abort", triggered=frames)
    with h5py.File(path) as file:
        np.testing.assert_array_equal(
            file["entry/data/data"][()], np.array([array(n) for n in range(frames)]).reshape(-1, *SHAPE)
        )
        assert file["entry/data/data"] == file[f"{DETECTOR}/data"]
    assert len(data_files(path)) == writers


@pytest.mark.parametrize("pad", [False, True])
def test_blocks_that_never_came_read_as_no_counts(path: Path, processes: Processes, pad: bool) -> None:
    written = series(path, start(frames=50), processes)
    written.add(*(packed(number) for number in (1, 9, 30)))
    written.close(reason="stop", pad=pad)
    length = 50 if pad else 31
    with h5py.File(path) as file:
        found = file["entry/data/data"][()]
        assert (len(found), len(file[f"{DETECTOR}/frame_status"])) == (length, length)
        for index in range(length):
            expected = array(index) if index in (1, 9, 30) else np.full(SHAPE, FILL)
            np.testing.assert_array_equal(found[index], expected)
        assert np.flatnonzero(status_of(file)).tolist()[:3] == [1, 9, 30]


def test_frames_of_an_unknown_number_and_plain_ones_among_packed_ones_are_taken(
    path: Path, processes: Processes
) -> None:
    written = series(path, start(frames=None), processes)
    written.add(*(packed(number) if number % 3 else frame(number) for number in range(1, 3001)))
    written.close()
    with h5py.File(path) as file:
        assert file["entry/data/data"].shape == (3001, *SHAPE)
        wrong = [n for n in range(1, 3001) if not np.array_equal(file["entry/data/data"][n], array(n))]
    assert wrong == []


def test_more_than_the_memory_holds_passes_through_it(path: Path, processes: Processes) -> None:
    written = series(path, start(frames=300), processes[:2])
    for number in range(300):
        written.add(large(number))
        assert written.writer.waiting_bytes <= 2 * MEMORY
    written.close(triggered=300)
    with h5py.File(path) as file:
        wrong = [n for n in range(300) if not np.array_equal(file["entry/data/data"][n], pixels(n, LARGE))]
    assert wrong == []


def test_a_frame_larger_than_the_ring_makes_it_larger(path: Path) -> None:
    process = WriterProcess(1, 100), WriterProcess(2, 100)
    written = series(path, start(frames=9), process)
    written.add(*(frame(number) for number in range(9)))
    written.close(triggered=9)
    for item in process:
        item.close()
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["entry/data/data"][()], [array(n) for n in range(9)])


def test_the_ring_of_large_frames_is_given_back_with_the_next_series(path: Path) -> None:
    process = WriterProcess(1, 1000)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        for name, size, most in (("a.h5", 1000, 5_000_000), ("b.h5", 5, 20_000)):
            process.begin(OpenDataFile(name, (size, size), "uint16", False), folder, 2 * size * size)
            blob = np.arange(size * size, dtype="uint16").tobytes()
            process.put(0, 0, blob, 0)
            process.finish(1)
            assert len(blob) < process.memory < most
            with h5py.File(path.with_name(name)) as file:
                assert file[DATASET][0].tobytes() == blob
    finally:
        os.close(folder)
        process.close()


def test_the_process_that_spreads_frames_has_no_data_file_open_for_writing(
    path: Path, processes: Processes
) -> None:
    written = series(path, start(frames=20), processes)
    written.add(*(packed(number) for number in range(20)))
    written.writer.flush()
    modes = [
        int(Path(f"/proc/self/fdinfo/{link.name}").read_text().split()[3], 8) & os.O_ACCMODE
        for link in Path("/proc/self/fd").iterdir()
        if link.is_symlink() and "x_data_" in os.readlink(link)
    ]
    assert modes == [os.O_RDONLY] * 3
    written.close(triggered=20)


def test_the_folder_can_be_moved_whole(path: Path, processes: Processes, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    written = series(tmp_path / "a" / "x.h5", start(frames=20), processes)
    written.add(*(packed(number) for number in range(20)))
    written.close(triggered=20)
    (tmp_path / "a").rename(tmp_path / "b")
    with h5py.File(tmp_path / "b" / "x.h5") as file:
        np.testing.assert_array_equal(file["entry/data/data"][()], [array(n) for n in range(20)])


def test_a_data_file_that_is_there_is_never_touched(path: Path, processes: Processes) -> None:
    precious = path.with_name("x_data_0002.h5")
    precious.write_bytes(b"precious")
    opening = start(frames=9, shape=SHAPE, type="uint16", compression="bslz4")
    with pytest.raises(WriterError, match=r"x_data_0002\.h5 exists"):
        series(path, opening, processes)
    assert list(path.parent.iterdir()) == [precious]
    assert precious.read_bytes() == b"precious"


def test_a_beginning_that_fails_leaves_the_name_free(path: Path, processes: Processes) -> None:
    opening = start(frames=9, shape=SHAPE, type="uint16", compression="bslz4")
    limits = resource.prlimit(processes[1].pid, resource.RLIMIT_FSIZE)
    resource.prlimit(processes[1].pid, resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(WriterError, match="File too large"):
            series(path, opening, processes)
    finally:
        resource.prlimit(processes[1].pid, resource.RLIMIT_FSIZE, limits)
    assert list(path.parent.iterdir()) == []
    held = [os.readlink(link) for link in Path(f"/proc/{processes[0].pid}/fd").iterdir() if link.is_symlink()]
    assert not [name for name in held if "x_data_" in name], "who had begun already has closed its file"
    written = series(path, opening, processes)
    written.add(*(packed(number) for number in range(9)))
    written.close(triggered=9)
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["entry/data/data"][()], [array(n) for n in range(9)])


@pytest.mark.parametrize("torn", [b"", bytes(100), SIGNATURE + b"torn"], ids=["empty", "zeros", "begun"])
def test_data_files_are_replaced_when_that_was_asked_for(
    path: Path, processes: Processes, torn: bytes
) -> None:
    path.with_name("x_data_0002.h5").write_bytes(torn)
    written = series(path, start(frames=9, overwrite=True), processes)
    written.add(*(packed(number) for number in range(9)))
    written.close(triggered=9)
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["entry/data/data"][()], [array(n) for n in range(9)])


def test_another_file_with_the_name_of_a_data_file_is_not_replaced(path: Path, processes: Processes) -> None:
    precious = path.with_name("x_data_0002.h5")
    precious.write_text("a text of the user")
    with pytest.raises(WriterError, match=r"x_data_0002\.h5 exists and is no data file of a series; move it"):
        series(
            path, start(frames=9, overwrite=True, shape=SHAPE, type="uint16", compression="bslz4"), processes
        )
    assert precious.read_text() == "a text of the user"
    assert [file.name for file in path.parent.iterdir()] == [precious.name]


def test_a_frame_can_be_read_while_the_series_runs(path: Path, processes: Processes) -> None:
    written = series(path, start(frames=50), processes)
    written.add(*(packed(number, trigger=number + 7) for number in range(20)), frame(20))
    for number in (0, 5, 19):
        found = written.writer.read(number)
        assert (found.image.compression, found.image.trigger) == ("bslz4", number + 7)
        assert bytes(found.blobs[0]) == bytes(packed(number).blobs[0])
    assert written.writer.read(20).image.compression == "none"
    written.close("stopped")


def test_the_file_verifies_against_the_checksums_of_the_stream(path: Path, processes: Processes) -> None:
    written = series(path, start(frames=30, checksum="crc32"), processes)
    written.add(*(packed(number) for number in range(30)))
    written.close(triggered=30)
    with SeriesFile(path) as file:
        assert verify(file).is_sound
    with h5py.File(data_files(path)[1], "r+") as file:
        file["entry/data/data"].id.write_direct_chunk((1, 0, 0), bytes(packed(99).blobs[0]))
    with SeriesFile(path) as file:
        assert verify(file).wrong == "5"


def test_flushed_frames_are_in_the_files_when_flush_returns(
    path: Path, processes: Processes, tmp_path: Path
) -> None:
    written = series(path, start(frames=50), processes)
    written.add(*(packed(number) for number in range(20)))
    written.writer.flush()
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in tmp_path.glob("*.h5"):
        shutil.copy(file, copy)
    written.close("stopped")
    with h5py.File(copy / "x.h5") as file:
        np.testing.assert_array_equal(file["entry/data/data"][:20], [array(n) for n in range(20)])
        assert status_of(file)[:20] == [1] * 20


def test_while_the_series_runs_its_frames_are_refused_to_readers_rather_than_half_there(
    path: Path, processes: Processes
) -> None:
    written = series(path, start(frames=50), processes)
    written.add(*(packed(number) for number in range(20)))
    written.writer.flush()
    # Another process: this one has the file of the series open, and HDF5 would take what it knows of it.
    read = f"import h5py; f = h5py.File({str(path)!r}); print(list(f)); f['entry/data/data'][0]"
    reader = subprocess.run([sys.executable, "-c", read], capture_output=True, text=True, timeout=60)
    assert "entry" in reader.stdout
    assert "unable to lock file" in reader.stderr
    written.close("stopped")


def test_a_writer_that_dies_is_noticed_without_a_frame_and_what_it_had_not_flushed_is_missing(
    path: Path, processes: Processes
) -> None:
    written = series(path, start(frames=50), processes)
    written.add(*(packed(number) for number in range(20)))
    written.writer.flush()
    written.add(*(packed(number) for number in range(20, 24)))
    os.kill(processes[2].pid, signal.SIGKILL)
    os.waitid(os.P_PID, processes[2].pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(
        WriterError, match=r"writer process 3 was killed by SIGKILL .*; 20 of 50 frames are in the file"
    ):
        written.writer.flush()
    with pytest.raises(WriterError, match="writer process 3"):
        written.close("a writer died")
    counts = written.series.account.counts()
    assert (counts.stored, counts.flushed, counts.missing) == (20, 20, 30)
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["entry/data/data"][:20], [array(n) for n in range(20)])
        assert status_of(file) == [1] * 20 + [0] * 4
        assert len(file["entry/data/data"]) == 24, "the file of the dead one is cut too"
        assert file[f"{DETECTOR}/series/state"].asstr()[()] == "incomplete"
    following = series(path.with_name("y.h5"), start(frames=9), processes)
    following.add(*(packed(number) for number in range(9)))
    following.close(triggered=9)
    with h5py.File(following.writer.path) as file:
        np.testing.assert_array_equal(file["entry/data/data"][()], [array(n) for n in range(9)])


def test_a_disk_that_is_full_for_one_writer_ends_the_series_with_everything_that_was_written(
    path: Path, processes: Processes
) -> None:
    written = series(path, start(frames=300), processes)
    limits = resource.prlimit(processes[2].pid, resource.RLIMIT_FSIZE)
    resource.prlimit(processes[2].pid, resource.RLIMIT_FSIZE, (RESERVE_BYTES + 500_000, limits[1]))
    try:
        with pytest.raises(WriterError, match=r"could not write .* File too large"):
            written.add(*map(large, range(300)))
    finally:
        # What `storage.Reserve` keeps back is given free meanwhile.
        resource.prlimit(processes[2].pid, resource.RLIMIT_FSIZE, limits)
    with pytest.raises(WriterError, match="File too large"):
        written.close("the disk is full")
    with h5py.File(path) as file:
        status = np.array(status_of(file))
        stored = np.flatnonzero(status == FrameStatus.STORED)
        assert len(stored) == written.series.account.counts().stored > 10
        for index in range(len(status)):
            expected = pixels(index, LARGE) if index in stored else np.full(LARGE, FILL)
            np.testing.assert_array_equal(file["entry/data/data"][index], expected)


def test_a_writer_that_may_write_no_longer_files_leaves_one_that_opens(
    path: Path, processes: Processes
) -> None:
    written = series(path, start(frames=300), processes)
    limits = resource.prlimit(processes[1].pid, resource.RLIMIT_FSIZE)
    resource.prlimit(processes[1].pid, resource.RLIMIT_FSIZE, (600_000, limits[1]))
    try:
        with pytest.raises(WriterError, match=r"could not write .* File too large"):
            written.add(*map(large, range(300)))
        with pytest.raises(WriterError, match="File too large"):
            written.close("the limit is reached")
    finally:
        resource.prlimit(processes[1].pid, resource.RLIMIT_FSIZE, limits)
    with h5py.File(path) as file:
        stored = np.flatnonzero(np.array(status_of(file)) == FrameStatus.STORED)
        assert len(stored) == written.series.account.counts().stored > 10
        assert any(index // 4 % 3 == 1 for index in stored), "its file has frames too"
        data = file["entry/data/data"][()]
    for index in range(len(data)):
        expected = pixels(index, LARGE) if index in stored else np.full(LARGE, FILL)
        np.testing.assert_array_equal(data[index], expected)


@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_a_data_file_that_is_no_longer_there_is_an_error(path: Path, processes: Processes, how: str) -> None:
    written = series(path, start(frames=9), processes)
    written.add(packed(0))
    data_files(path)[0].unlink()
    if how == "replaced":
        path.with_name("x_data_0001.h5").write_text("somebody else's")
    with pytest.raises(WriterError, match=r"x_data_0001\.h5 was removed, moved or replaced"):
        written.writer.flush()
    assert written.series.account.counts().stored == 0, "what went with a file is not stored"
    with pytest.raises(WriterError):
        written.close("it is gone")


@pytest.mark.slow
def test_kill_9_of_all_processes_leaves_files_that_open_with_every_flushed_frame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "MOST_BLOCK", 4)
    dice = random.Random(12)
    for trial in range(6):
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
            for other in np.frombuffer(found[:16], np.int64).tolist():
                os.kill(other, signal.SIGKILL)
        os.waitpid(pid, 0)
        flushed.close()
        count = max(flushed.count, 1)
        for file in data_files(path):
            with store._locked(file):  # a writer that notices ends by itself
                pass
        _holds(path, count)
        mark_interrupted(str(path), "it was killed")
        _holds(path, count)
        with h5py.File(path) as file:
            assert len(file["entry/data/data"]) == len(file[f"{DETECTOR}/frame_status"])


def _write_until_killed(path: Path, tell: int) -> None:
    """In a child: frames without end, a flush after every few; tells who writes, and what is flushed."""
    try:
        processes = WriterProcess(1, MEMORY), WriterProcess(2, MEMORY)
        written = series(path, start(frames=10**6), processes)
        written.add(packed(0))
        written.writer.flush()
        os.write(tell, np.array([*(process.pid for process in processes), 1]).tobytes())
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
