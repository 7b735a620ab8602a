"""Free space on the disk of the data root: never waited for, and never older than it seems."""

from __future__ import annotations

import queue
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Semaphore

import pytest

from penstock.receiver.files import storage
from penstock.receiver.process.supervisor.free_space import HANGS_SECONDS, STEP, FreeSpace
from tests.receiver.disks import small_file_system
from tests.receiver.processes import ReceiverProcess

DEADLINE = 20.0


class Disk:
    """A disk that answers when the test lets it, and its figure; a look is always under way."""

    def __init__(self) -> None:
        self.now = 0.0
        self._answers: queue.Queue[int | OSError] = queue.Queue()
        self._asked = Semaphore(0)
        self.space = FreeSpace(self._look, lambda: self.now)
        self.space.start()
        assert self._asked.acquire(timeout=DEADLINE)

    def answer(self, answer: int | OSError) -> None:
        """Answer the look that is under way, and wait until the next one is."""
        self._answers.put(answer)
        self.space.refresh()
        assert self._asked.acquire(timeout=DEADLINE)

    def close(self) -> None:
        """End it."""
        self.space.close()
        self._answers.put(0)

    def _look(self) -> int:
        self._asked.release()
        answer = self._answers.get(timeout=DEADLINE)
        if isinstance(answer, OSError):
            raise answer
        return answer


@pytest.fixture
def disk() -> Iterator[Disk]:
    made = Disk()
    yield made
    made.close()


def test_it_is_told_in_whole_mebibytes_and_anew_with_each_refresh(disk: Disk) -> None:
    assert disk.space.value is None
    disk.answer(7 * STEP + 12345)
    assert disk.space.value == 7 * STEP
    disk.answer(5 * STEP - 1)
    assert disk.space.value == 4 * STEP


def test_a_disk_that_hangs_holds_nobody_up_and_its_old_figure_is_not_told_for_ever(disk: Disk) -> None:
    disk.answer(7 * STEP)
    disk.now = HANGS_SECONDS
    assert disk.space.value == 7 * STEP
    disk.now = HANGS_SECONDS + 1
    assert disk.space.value is None
    disk.answer(6 * STEP)
    assert disk.space.value == 6 * STEP


def test_a_disk_that_cannot_be_reached_has_no_figure(disk: Disk) -> None:
    disk.answer(7 * STEP)
    disk.answer(OSError(116, "Stale file handle"))
    assert disk.space.value is None


def test_the_figure_is_that_of_the_disk_even_of_a_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    found = storage.free_bytes(str(tmp_path / "not" / "there"))
    assert found == pytest.approx(shutil.disk_usage(tmp_path).free, rel=0.05)


@pytest.mark.slow
def test_what_others_write_on_the_disk_is_seen_and_wakes_nobody_who_waits_for_a_change(
    tmp_path: Path,
) -> None:
    with small_file_system(tmp_path / "disk", 64) as disk:
        receiver = ReceiverProcess(tmp_path, "tcp://127.0.0.1:1", data_root=str(disk))
        try:
            before = receiver.wait(lambda status: status.free_bytes is not None)
            assert before.free_bytes is not None
            (disk / "others").write_bytes(bytes(10 * STEP))
            due = time.monotonic() + DEADLINE
            after = before
            while after.free_bytes == before.free_bytes:
                assert time.monotonic() < due
                after = receiver.client.status(seen=before.version, wait=1.0)
                assert after.version == before.version
            assert after.free_bytes == before.free_bytes - 10 * STEP
        finally:
            receiver.close()
