"""Memory shared with a process that writes: what lies where, and what happens when nothing is written."""

from __future__ import annotations

import os
import random
import signal
from collections import deque
from pathlib import Path

import pytest

from penstock.receiver.files.stores.messages import OpenPlaces
from penstock.receiver.files.stores.shared_memory import SharedMemory
from penstock.receiver.files.stores.writer_process import HOT_BYTES, WriterProcess

SIZE = 2**16
BLOB = 2**20


@pytest.mark.parametrize("seed", range(5))
def test_no_blob_is_touched_while_it_waits_and_every_byte_comes_back(seed: int) -> None:
    chance = random.Random(seed)
    memory = SharedMemory("a test", SIZE)
    most = chance.choice([100, 3000, SIZE // 2])
    waiting: deque[tuple[int, int, bytes]] = deque()
    refused = 0
    for index in range(3000):
        blob = chance.randbytes(chance.randint(1, most))
        if waiting and chance.random() < 0.5:
            number, start, content = waiting.popleft()
            assert os.pread(memory.descriptor, len(content), start) == content
            assert memory.pop() == number
        if (start := memory.put(index, blob)) is None:
            refused += 1
        else:
            waiting.append((index, start, blob))
        assert memory.waiting_bytes == sum(len(content) for _, _, content in waiting)
        assert memory.indices == {number for number, _, _ in waiting}
    while memory:
        memory.pop()
    assert refused > 0 or most == 100
    assert memory.put(0, bytes(SIZE)) == 0
    assert memory.put(1, b"x") is None
    memory.close()


@pytest.mark.parametrize("size", [0, SIZE + 1])
def test_a_blob_that_no_frame_can_be_is_refused(size: int) -> None:
    memory = SharedMemory("a test", SIZE)
    with pytest.raises(ValueError, match=f"a blob of {size} bytes: a frame of this series has 1 to {SIZE}"):
        memory.put(0, bytes(size))
    memory.close()


def test_a_writer_that_keeps_up_works_in_the_lowest_part() -> None:
    memory = SharedMemory("a test", SIZE)
    starts = set()
    for index in range(100):
        starts.add(memory.put(index, bytes(5000)))
        if index > 1:
            memory.pop()
    assert starts == {0, 5000, 10000}
    memory.close()


def test_a_writer_that_stands_still_is_waited_for_once_and_the_memory_takes_the_rest(tmp_path: Path) -> None:
    frames = 3 * HOT_BYTES // BLOB
    writer = WriterProcess(1, 4 * HOT_BYTES)
    blobs = [bytes([index]) * BLOB for index in range(frames)]
    with (tmp_path / "places").open("wb") as file:
        writer.begin(OpenPlaces(), file.fileno(), BLOB)
        os.kill(writer.pid, signal.SIGSTOP)
        try:
            for index, blob in enumerate(blobs):
                writer.put(index, index * BLOB, blob)
            assert writer.waiting_bytes == frames * BLOB
        finally:
            os.kill(writer.pid, signal.SIGCONT)
        writer.finish()
    assert not writer.lost
    writer.close()
    assert (tmp_path / "places").read_bytes() == b"".join(blobs)
