"""The thread that allocates space ahead of the loop."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.receiver.files.stores import preallocated
from penstock.receiver.files.stores.allocation import BLOCK_BYTES
from penstock.receiver.files.stores.contract import FrameFormat, Writing
from penstock.receiver.files.stores.disk import disk_file, space_ahead
from penstock.receiver.files.stores.disk.space_ahead import AHEAD_BYTES, SpaceAhead
from penstock.receiver.files.stores.preallocated import PreallocatedStore
from tests.receiver.processes import DEADLINE

END = 10 * AHEAD_BYTES
FRAME = 2**15


class Watched(SpaceAhead):
    """Tells when it is far enough ahead."""

    def __init__(self, descriptor: int, frame_bytes: int = FRAME) -> None:
        self.is_ahead = threading.Event()
        super().__init__(descriptor, 0, END, frame_bytes)

    def _wait(self) -> None:
        self.is_ahead.set()
        super()._wait()

    def go_on(self, reached: int) -> None:
        """The loop has come this far."""
        assert self.is_ahead.wait(DEADLINE)
        self.is_ahead.clear()
        self.reached = reached
        self.wake()


@pytest.fixture
def descriptor(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path / "x", os.O_RDWR | os.O_CREAT)
    yield descriptor
    os.close(descriptor)


@pytest.fixture
def space(descriptor: int) -> Iterator[Watched]:
    space = Watched(descriptor)
    yield space
    space.close()


def allocated(descriptor: int) -> int:
    return os.fstat(descriptor).st_blocks * 512


def test_it_stays_a_little_ahead_of_the_loop(descriptor: int, space: Watched) -> None:
    assert space.is_ahead.wait(DEADLINE)
    assert AHEAD_BYTES <= allocated(descriptor) < AHEAD_BYTES + 2 * BLOCK_BYTES
    space.go_on(AHEAD_BYTES)
    assert space.is_ahead.wait(DEADLINE)
    assert 2 * AHEAD_BYTES <= allocated(descriptor) < 2 * AHEAD_BYTES + 2 * BLOCK_BYTES


def test_where_the_loop_was_faster_it_goes_on_from_there(descriptor: int, space: Watched) -> None:
    assert space.is_ahead.wait(DEADLINE)
    before = allocated(descriptor)
    space.go_on(END - 2 * BLOCK_BYTES)
    space._thread.join(DEADLINE)
    assert os.fstat(descriptor).st_size == END
    assert allocated(descriptor) < before + 4 * BLOCK_BYTES  # nothing behind the loop


def test_large_frames_have_space_for_the_next_ones(descriptor: int) -> None:
    space = Watched(descriptor, AHEAD_BYTES)
    try:
        assert space.is_ahead.wait(DEADLINE)
        assert allocated(descriptor) >= space_ahead.AHEAD_FRAMES * AHEAD_BYTES
    finally:
        space.close()


def test_it_ends_with_its_store_and_where_nothing_can_be_allocated(descriptor: int) -> None:
    Watched(descriptor).close()
    reading, writing = os.pipe()
    SpaceAhead(writing, 0, END, FRAME).close()
    os.close(reading)
    os.close(writing)
    assert "space ahead" not in {thread.name for thread in threading.enumerate()}


@pytest.mark.parametrize(("cores", "runs"), [(2, False), (3, True)])
def test_it_runs_only_where_a_core_is_free_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cores: int, runs: bool
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(cores)))
    monkeypatch.setattr(preallocated, "allocate", lambda descriptor, start, end, seconds: start)
    path = tmp_path / "x.h5"
    file = disk_file.open_file(os.open(path, os.O_RDWR | os.O_CREAT), path, "w")
    frames = FrameFormat((100, 100), "uint16", "none", 10_000)
    store = PreallocatedStore(file.create_group("detector"), frames, Writing())
    names = {thread.name for thread in threading.enumerate()}
    store.close(synced=False)
    disk_file.close(file)
    assert ("space ahead" in names) == runs
