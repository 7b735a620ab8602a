"""The reader's side of shared memory: who may hold it, what is refused, what is not overwritten unseen."""

from __future__ import annotations

import grp
import os
import pwd
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from penstock.processing.wire.shared_frames import SharedFrames, SharedMemoryError, StaleMemory, lock
from penstock.receiver.config import ForwardConfig
from penstock.receiver.forward.shared import CannotShare, SharedSlots
from penstock.stins.shared import Reference


def config(folder: Path, **keys: object) -> ForwardConfig:
    return ForwardConfig(
        name="live", endpoint="tcp://127.0.0.1:*", shared=True, queue_mb=1, shared_folder=str(folder), **keys
    )  # type: ignore[arg-type]


@pytest.fixture
def slots(tmp_path: Path) -> Iterator[SharedSlots]:
    """Memory as a receiver has it."""
    made = SharedSlots(config(tmp_path), "sim-1")
    made.lay_out(1000)
    yield made
    made.close()


def opened(slots: SharedSlots) -> SharedFrames:
    return SharedFrames(str(slots.path), slots.nonce.hex())


def test_a_frame_is_read_as_it_was_put_and_cannot_be_written(slots: SharedSlots) -> None:
    frames = opened(slots)
    slot = slots.put(b"header", [b"one", b"", b"three"])
    assert slot == 0
    reference = Reference(7, slot, 6, (3, 0, 5))

    header, blobs = frames.frame(slots.layout, reference)

    assert bytes(header) == b"header" and [bytes(blob) for blob in blobs] == [b"one", b"", b"three"]
    assert header.readonly and not np.frombuffer(blobs[0], np.uint8).flags.writeable
    del header, blobs
    frames.close()


def test_slots_that_were_freed_are_taken_again_the_lowest_first(slots: SharedSlots) -> None:
    frames = opened(slots)
    assert [slots.put(b"", []) for _ in range(5)] == [0, 1, 2, 3, 4]
    frames.free([3, 1])
    assert slots.taken == 3
    assert slots.find() and [slots.put(b"", []) for _ in range(3)] == [1, 3, 5]
    frames.close()


def test_when_all_slots_are_taken_there_is_none_until_one_is_freed(slots: SharedSlots) -> None:
    frames = opened(slots)
    assert [slots.put(b"", []) for _ in range(slots.layout.slots)] == list(range(slots.layout.slots))
    assert slots.put(b"", []) is None
    frames.free([slots.layout.slots - 1])
    assert slots.put(b"", []) == slots.layout.slots - 1
    frames.close()


def test_what_the_receiver_has_taken_back_is_neither_read_nor_freed_under_the_old_nonce(
    slots: SharedSlots,
) -> None:
    frames = opened(slots)
    slots.put(b"old", [])
    assert frames.is_current
    slots.take_back()
    assert slots.put(b"new", []) == 0
    assert not frames.is_current
    with pytest.raises(StaleMemory, match="has taken frame 5 back"):
        frames.frame(slots.layout, Reference(5, 0, 3, ()))
    frames.free([0])
    assert slots.taken == 1
    with pytest.raises(StaleMemory, match="lost the connection"):
        SharedFrames(str(slots.path), frames.nonce)
    frames.close()


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        (Reference(1, 10**6, 1, ()), "there is no slot 1000000"),
        (Reference(1, 0, 600, (600,)), "longer than its slot of 1,024 bytes"),
    ],
)
def test_a_reference_that_leads_elsewhere_is_refused(
    slots: SharedSlots, reference: Reference, why: str
) -> None:
    frames = opened(slots)
    with pytest.raises(SharedMemoryError, match=why):
        frames.frame(slots.layout, reference)
    frames.close()


def test_what_is_no_memory_of_a_receiver_is_refused(tmp_path: Path) -> None:
    nonce = bytes(16).hex()
    with pytest.raises(StaleMemory, match="another machine or in another container"):
        SharedFrames(str(tmp_path / "none"), nonce)
    (tmp_path / "short").write_bytes(b"x")
    with pytest.raises(SharedMemoryError, match="it has 1 bytes"):
        SharedFrames(str(tmp_path / "short"), nonce)
    (tmp_path / "other").write_bytes(bytes(10_000))
    with pytest.raises(SharedMemoryError, match="no memory shared by a receiver"):
        SharedFrames(str(tmp_path / "other"), nonce)


HOLDS = """
import sys
from penstock.processing.wire.shared_frames import lock
hold = lock(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""


def test_a_second_distributor_is_refused_with_process_and_host_of_the_first_until_that_is_killed(
    slots: SharedSlots,
) -> None:
    first = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(slots.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert first.stdout is not None and first.stdout.readline() == b"held\n"
        with pytest.raises(SharedMemoryError, match=f"held by process {first.pid} on {os.uname().nodename}"):
            lock(str(slots.path))
        token, holder = slots.token, slots.holder
        assert holder is not None and holder.pid == first.pid
    finally:
        first.kill()
        first.communicate()
    with lock(str(slots.path)):
        assert slots.token != token
        assert slots.holder is not None and slots.holder.pid == os.getpid()
    assert slots.holder is None


def test_who_may_not_open_the_memory_is_told_both_users_and_the_key() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        slots = SharedSlots(config(Path(folder)), "sim-1")
        os.seteuid(pwd.getpwnam("nobody").pw_uid)
        try:
            with pytest.raises(SharedMemoryError) as refused:
                lock(str(slots.path))
        finally:
            os.seteuid(0)
            slots.close()
    sentence = str(refused.value)
    assert "belongs to the receiver's user root, and nobody may not open it" in sentence
    assert "shared_group" in sentence


def test_a_group_may_read_and_free_and_one_that_is_not_there_is_refused(tmp_path: Path) -> None:
    group = grp.getgrgid(os.getegid()).gr_name
    slots = SharedSlots(config(tmp_path, shared_group=group), "sim-1")
    assert slots.path.stat().st_mode & 0o777 == 0o660
    assert slots.path.stat().st_gid == os.getegid()
    slots.close()
    with pytest.raises(CannotShare, match="shared_group no-such-group: there is no such group"):
        SharedSlots(config(tmp_path, shared_group="no-such-group"), "sim-1")
    with pytest.raises(CannotShare, match="no memory can be shared in .*absent: No such file"):
        SharedSlots(config(tmp_path / "absent"), "sim-1")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({"every": 2}, "every is 2; .* leave out every"),
        ({"when_full": "block"}, "when_full is block"),
        ({"queue_mb": 0.5}, "queue_mb is 0.5"),
        ({"shared_folder": "shm"}, "absolute path"),
        ({"shared": False, "shared_group": "staff"}, "shared_group is for memory that is shared"),
    ],
)
def test_what_does_not_go_with_shared_memory_is_refused(keys: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        ForwardConfig(**{"name": "live", "endpoint": "tcp://127.0.0.1:*", "shared": True, **keys})  # type: ignore[arg-type]
