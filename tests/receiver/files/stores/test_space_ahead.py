"""The thread that allocates space ahead of the loop."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from penstock.receiver.files.stores import space_ahead
from penstock.receiver.files.stores.allocation import BLOCK_BYTES
from penstock.receiver.files.stores.space_ahead import AHEAD_BYTES, SpaceAhead
from tests.receiver.processes import DEADLINE

END = 10 * AHEAD_BYTES
FRAME = 2**15


@pytest.fixture
def descriptor(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path / "x", os.O_RDWR | os.O_CREAT)
    yield descriptor
    os.close(descriptor)


@pytest.fixture
def space(descriptor: int) -> Iterator[SpaceAhead]:
    space = SpaceAhead(descriptor, 0, END, FRAME)
    yield space
    space.close()


def eventually(condition: Callable[[], bool]) -> None:
    due = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < due
        time.sleep(0.005)


def allocated(descriptor: int) -> int:
    return os.fstat(descriptor).st_blocks * 512


def rests(descriptor: int, space: SpaceAhead) -> Callable[[], bool]:
    return lambda: space.wake_at < END and allocated(descriptor) > 0


def test_it_stays_a_little_ahead_of_the_loop(descriptor: int, space: SpaceAhead) -> None:
    eventually(rests(descriptor, space))
    assert AHEAD_BYTES <= allocated(descriptor) < AHEAD_BYTES + 2 * BLOCK_BYTES
    space.reached = int(space.wake_at)
    space.wake()
    eventually(lambda: allocated(descriptor) >= space.reached + AHEAD_BYTES)
    eventually(rests(descriptor, space))
    assert allocated(descriptor) < space.reached + AHEAD_BYTES + 2 * BLOCK_BYTES


def test_where_the_loop_was_faster_it_goes_on_from_there(descriptor: int, space: SpaceAhead) -> None:
    eventually(rests(descriptor, space))
    before = allocated(descriptor)
    space.reached = END - 2 * BLOCK_BYTES
    space.wake()
    eventually(lambda: os.fstat(descriptor).st_size == END)
    assert allocated(descriptor) < before + 4 * BLOCK_BYTES  # nothing behind the loop


def test_large_frames_have_space_for_the_next_ones(descriptor: int) -> None:
    space = SpaceAhead(descriptor, 0, END, AHEAD_BYTES)
    try:
        eventually(rests(descriptor, space))
        assert allocated(descriptor) >= space_ahead.AHEAD_FRAMES * AHEAD_BYTES
    finally:
        space.close()


def test_it_ends_with_its_store_and_where_nothing_can_be_allocated(descriptor: int) -> None:
    space = SpaceAhead(descriptor, 0, END, FRAME)
    space.close()
    reading, writing = os.pipe()
    SpaceAhead(writing, 0, END, FRAME).close()
    os.close(reading)
    os.close(writing)
    assert "space ahead" not in {thread.name for thread in threading.enumerate()}
