"""After a write that failed: the file reads, the counts are its counts, and the next series is good."""

from __future__ import annotations

import errno
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers the filters)
import numpy as np
import pytest

from penstock.codecs import bslz4
from penstock.receiver.files.stores.disk.superblock import is_followed
from penstock.receiver.models import FrameStatus, Status
from tests.breadth import breadth
from tests.receiver.failing_disk import FailingDisk
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer

DETECTOR = "entry/instrument/sim_1"
SHAPE = (40, 60)
FRAMES = 120


@dataclass(frozen=True)
class Kind:
    """How a series is sent, and stored."""

    announced: bool = True
    packed: bool = False
    channels: tuple[str, ...] = ()
    out_of_order: bool = False
    keys: dict[str, Any] = field(default_factory=dict)


KINDS = {
    "plain, announced": Kind(),
    "plain": Kind(announced=False),
    "packed": Kind(announced=False, packed=True),
    "packed, out of order": Kind(packed=True, out_of_order=True),
    "channels": Kind(channels=("low", "high")),
    "segments": Kind(packed=True, keys={"frames_per_file": 25}),
    "swmr": Kind(packed=True, keys={"swmr": True}),
    "two files": Kind(keys={"files": 2}),
    "two files, packed": Kind(packed=True, keys={"files": 2}),
}


def sent(number: int) -> np.ndarray[Any, Any]:
    """Noise, which does not get smaller when it is packed."""
    return np.random.default_rng(number).integers(0, 2**16, SHAPE, np.uint16)


def send(streamer: Streamer, path: Path, kind: Kind, frames: int = FRAMES, seed: int = 0) -> str:
    more = {"channels": kind.channels} if kind.channels else {}
    shape = (len(kind.channels), *SHAPE) if kind.channels else SHAPE
    compression = "bslz4" if kind.packed else "none"
    if kind.announced:
        more |= {"frames": frames, "shape": shape, "type": "uint16", "compression": compression}
    series = streamer.start(str(path), **more)
    order = list(range(frames))
    if kind.out_of_order:
        random.Random(seed).shuffle(order)
    for number in order:
        one = sent(number)
        blob = bslz4.compress(one) if kind.packed else one.tobytes()
        blobs = [blob] * (len(kind.channels) or 1)
        streamer.frame(number, one, blobs=blobs, shape=shape, compression=compression)
    streamer.end(triggered=frames, sent=frames)
    return series


def check_file(path: Path, status: Status, data: str = "entry/data/data") -> None:
    """The file opens, and has the counts of the status; each frame that counts reads as it was sent."""
    if status.series is None or status.series.filename != str(path):
        assert not path.exists(), f"it could not be created, so nothing is left of it: {status}"
        return
    counts = status.counts
    parts = ("stored", "partial", "delivered", "discarded", "corrupt", "missing", "not_triggered", "pending")
    assert sum(getattr(counts, name) for name in parts) == counts.planned, counts
    assert "none missing" not in status.error
    with h5py.File(path, swmr=is_followed(path)) as file:
        record = file[f"{DETECTOR}/series"]
        state = record["state"].asstr()[()]
        known = file[f"{DETECTOR}/frame_status"][()]
        stored = np.flatnonzero(known == FrameStatus.STORED)
        assert len(stored) == counts.stored, (state, stored, counts, status.error)
        assert counts.flushed == counts.stored
        if state != "in progress":
            assert record["stored"][()] == counts.stored
            assert record["planned"][()] == counts.planned
        for index in stored.tolist():
            np.testing.assert_array_equal(file[data][index], sent(index), str((state, index, status.error)))


class Receiver:
    """A receiver whose disk may fail, and what it takes."""

    def __init__(self, disk: FailingDisk, process: ReceiverProcess, streamer: Streamer, kind: Kind) -> None:
        self.disk, self.process, self.streamer, self.kind = disk, process, streamer, kind
        self.pid = process.data_process()

    def series(self, name: str, seed: int = 0) -> tuple[Path, Status]:
        """Send one; returns its file, and the status when it has ended."""
        path = self.process.root / name
        series = send(self.streamer, path, self.kind, seed=seed)

        def over(status: Status) -> bool:
            mine = status.series is not None and status.series.id == series and not status.series.active
            return mine or status.state == "error"

        status = self.process.wait(over)
        return path, status

    def next_is_good(self, name: str) -> None:
        """The storage is sound again: the series after a reset is taken as ever, by the same process."""
        self.process.client.reset()
        self.drained()
        path, status = self.series(name)
        assert (status.state, status.counts.stored) == ("idle", FRAMES), status
        check_file(path, status)
        assert self.process.data_process() == self.pid

    def drained(self) -> None:
        """Wait until what was sent of the failed series has come."""
        marker = self.streamer.start(str(self.process.root / f"marker-{random.random()}.h5"), frames=1)
        self.streamer.frame(0)
        self.streamer.end(triggered=1, sent=1)
        self.process.ended(marker)


@pytest.fixture
def receiver(
    tmp_path: Path, streamer: Streamer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[Kind], Receiver]]:
    started: list[ReceiverProcess] = []

    def start(kind: Kind) -> Receiver:
        folder = tmp_path / "receiver"
        folder.mkdir()
        disk = FailingDisk(tmp_path, folder / "data", monkeypatch)
        process = ReceiverProcess(folder, streamer.endpoint, **{"flush_seconds": 0.02, **kind.keys})
        started.append(process)
        process.connected()
        return Receiver(disk, process, streamer, kind)

    yield start
    for process in started:
        process.close()


def strike(made: Receiver, seed: int) -> bool:
    """Let a write fail in a series; says whether one did."""
    dice = random.Random(seed)
    code = dice.choice((errno.EIO, errno.EIO, errno.EFBIG, errno.ENOSPC))
    made.disk.fail(
        code,
        dice.choice((dice.randrange(30), dice.randrange(300), dice.randrange(1000))),
        dice.choice((0, 0, 1, 3)),
    )
    path, status = made.series(f"x{seed}.h5", seed)
    failed = made.disk.mend()
    check_file(path, status)
    if status.state == "error":
        made.next_is_good(f"y{seed}.h5")
    return bool(failed)


@pytest.mark.slow
@pytest.mark.parametrize("kind", breadth(KINDS, often=("packed, out of order",)))
def test_a_write_that_fails_at_any_moment_costs_no_frame_that_counts_as_stored(
    kind: Kind, receiver: Callable[[Kind], Receiver]
) -> None:
    made = receiver(kind)
    struck = [strike(made, seed) for seed in (2, 3)]
    assert any(struck)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_many_writes_that_fail_cost_no_frame_that_counts_as_stored(
    kind: Kind, receiver: Callable[[Kind], Receiver]
) -> None:
    made = receiver(kind)
    struck = [strike(made, seed) for seed in range(100, 140)]
    assert any(struck)
