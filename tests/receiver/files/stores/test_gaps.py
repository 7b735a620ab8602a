"""Plain frames of which some are missing, on a disk that has no space for the fill value in their places."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from penstock.checks.verify import verify
from penstock.receiver.files.recovery.interrupted import mark_interrupted
from penstock.receiver.files.stores.preallocated import PreallocatedStore
from penstock.receiver.files.writer import WriterError
from penstock.receiver.models import FrameStatus
from penstock.receiver.reading.reader import SeriesFile
from penstock.stins.checksums import checksums
from penstock.stins.messages import Frame
from tests.receiver.disks import small_file_system
from tests.receiver.files.stores.written import DETECTOR, Written, status_of
from tests.receiver.sample_series import start
from tests.streams import image, pixels

SHAPE = (514, 257)
"""264 kB a frame: large ones."""
PLANNED = 45
MISSING = (3, 4, 5, 11)


def frame(number: int) -> Frame:
    array = pixels(number, SHAPE)
    blobs = [array.tobytes()]
    return Frame(image(number, array, series="a", checksums=checksums("crc32", blobs)), blobs)


def fill_up(disk: Path) -> None:
    """Somebody else needs the rest of the disk."""
    with (disk / "other").open("ab", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_file_system(tmp_path / "disk", 20) as place:
        yield place


@pytest.fixture(params=[0, 2**24], ids=["the loop", "a thread"])
def series(disk: Path, request: pytest.FixtureRequest) -> Callable[..., Written]:
    """Begins a series of which all frames would fit."""

    def begin(space_seconds: float = 0.0, **keys: Any) -> Written:
        keys = {"frames": PLANNED, "shape": SHAPE, "type": "uint16", "compression": "none", **keys}
        written = Written(
            disk / "x.h5", start(**keys), queue_bytes=request.param, space_seconds=space_seconds
        )
        assert isinstance(written.store, PreallocatedStore)
        return written

    return begin


def holds(path: Path, stored: list[int], length: int) -> None:
    """Every stored frame has its pixels, every other one the fill value, for whoever knows HDF5 only."""
    with h5py.File(path) as file:
        data = file["entry/data/data"]
        assert data.shape == (length, *SHAPE)
        assert np.flatnonzero(np.array(status_of(file)) == FrameStatus.STORED).tolist() == stored
        for index in range(length):
            expected = pixels(index, SHAPE) if index in stored else np.full(SHAPE, 65535)
            np.testing.assert_array_equal(data[index], expected, f"frame {index}")
        assert file[f"{DETECTOR}/data"] == data
        assert data.attrs["units"] == "counts"


def test_on_a_full_disk_missing_frames_read_as_the_fill_value_and_every_stored_one_is_there(
    disk: Path, series: Callable[..., Written]
) -> None:
    def take_and_flush() -> None:
        for number in range(20, PLANNED):
            written.add(frame(number))  # the loop itself notices here
        written.writer.flush()  # a thread shows it here

    written = series()
    written.add(*(frame(number) for number in range(20) if number not in MISSING))
    written.writer.flush()
    fill_up(disk)
    with pytest.raises(WriterError, match="No space left on device"):
        take_and_flush()
    with contextlib.suppress(WriterError):
        written.close("the disk is full")
    counts = written.series.account.counts()
    last = written.series.account.highest
    stored = [
        index for index in range(last + 1) if written.series.account.status(index) == FrameStatus.STORED
    ]
    assert set(range(20)) - set(MISSING) <= set(stored)
    assert counts.flushed == counts.stored == len(stored)
    holds(disk / "x.h5", stored, last + 1)


def test_a_disk_that_is_full_only_at_the_end_costs_no_frame(
    disk: Path, series: Callable[..., Written]
) -> None:
    written = series(checksum="crc32")
    present = [number for number in range(30) if number not in MISSING]
    written.add(*(frame(number) for number in present))
    assert written.store is not None
    written.store.flush()  # a thread has written them
    fill_up(disk)
    with pytest.raises(WriterError, match="No space left on device"):
        written.close("stopped")
    assert written.series.account.counts().flushed == len(present)
    holds(disk / "x.h5", present, 30)
    with SeriesFile(disk / "x.h5") as file:
        assert file.state == "incomplete"
        np.testing.assert_array_equal(file.frame(7), pixels(7, SHAPE))
        assert file.blobs(7) == [pixels(7, SHAPE).tobytes()]
        assert verify(file).is_sound


def test_space_that_was_set_aside_behind_the_last_frame_is_used_for_missing_ones(
    disk: Path, series: Callable[..., Written]
) -> None:
    written = series(space_seconds=5.0)
    present = [number for number in range(20) if number not in MISSING]
    written.add(*(frame(number) for number in present))
    fill_up(disk)
    written.close("stopped")
    holds(disk / "x.h5", present, 20)
    with h5py.File(disk / "x.h5") as file:
        assert not file["entry/data/data"].is_virtual


def test_a_disk_that_others_fill_while_frames_go_into_space_set_aside_leaves_a_file_that_closes(
    disk: Path, series: Callable[..., Written]
) -> None:
    written = series(space_seconds=5.0)
    written.add(*(frame(number) for number in range(10)))
    fill_up(disk)
    written.add(*(frame(number) for number in range(10, 30)))
    with pytest.raises(WriterError, match=r"The disk of .* is full: free some space, then reset"):
        written.writer.flush()  # not of the frames: of what the file says of them
    written.close("the disk is full")
    assert written.series.account.counts().flushed == 30
    holds(disk / "x.h5", list(range(30)), 30)


def test_the_file_of_a_killed_writer_is_marked_on_a_full_disk(
    disk: Path, series: Callable[..., Written]
) -> None:
    present = [number for number in range(20) if number not in MISSING]
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            written = series()
            written.add(*(frame(number) for number in present))
            written.writer.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    killed = disk / "x.h5"
    fill_up(disk)
    counts = mark_interrupted(killed, "it was killed").counts()
    assert (counts.stored, counts.missing) == (len(present), PLANNED - len(present))
    holds(killed, present, 20)
    with h5py.File(killed) as file:
        assert "damaged" not in file[f"{DETECTOR}/series/reason"].asstr()[()]
