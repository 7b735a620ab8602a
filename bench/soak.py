"""`make soak`: a receiver whose file system is slower than the source, for ten minutes.

Its memory must stay under the budget, and every frame must be in the file. A file system is made slow by
the attribute S of its folder (chattr +S): every write waits for the disk, as on a file system mounted with
-o sync. That needs no privileges, and works on ext4, XFS and Btrfs; nothing makes a RAM disk slow.

Series follow each other, each about a minute long; a file is removed once its series is accounted for. The
queue of ZeroMQ and that of a consumer that does not read are full all the time: that is where memory goes.

Examples:
  python -m penstock.bench.soak                        ten minutes, in the current folder
  python -m penstock.bench.soak --seconds 20 --dir /data
"""

from __future__ import annotations

import argparse
import fcntl
import json
import math
import os
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import zmq

from penstock.bench.contenders import line_with
from penstock.hosts.child import PENSTOCK, Child, free_port
from penstock.receiver.client import ReceiverClient
from penstock.receiver.config import ReceiverConfig
from penstock.receiver.models import SeriesCheck, Status
from penstock.receiver.process import memory

FRAME_BYTES = 20_000
RATE = 4_000
"""Offered frames per second: 80 MB/s."""
MARK = 4_000
"""Messages that ZeroMQ may queue: 80 MB."""
QUEUE_MB = 50.0
"""Queue of the consumer that does not read."""
SERIES_SECONDS = 60.0
"""Length of a series, by the speed of the one before; at most a quarter of the whole."""
CALIBRATION = 400
"""Frames of the first series, which measures the speed of the file system."""
SAMPLE_SECONDS = 0.25
SLOWER = 0.7
"""Maximum share of the offered rate that is written; else the file system is not slow enough."""
GROWTH = 1.05
"""Maximum ratio of the second half's greatest memory to the first half's: nothing leaks. It is checked after
`SETTLED` seconds at least: until then queues fill."""
SETTLED = 120.0

FS_IOC_GETFLAGS, FS_IOC_SETFLAGS, FS_SYNC_FL = 0x80086601, 0x40086602, 0x8
"""ioctl_iflags(2), on 64-bit Linux."""


class SoakError(Exception):
    """The soak cannot be run here, or a frame is unaccounted for; the sentence says what and what to do."""


@dataclass
class Memory:
    """Samples of a process: proportional set size in bytes, by the time they were taken."""

    samples: list[tuple[float, int]] = field(default_factory=list)

    @property
    def most(self) -> int:
        """The greatest, in bytes."""
        return max(nbytes for _, nbytes in self.samples)

    @property
    def growth(self) -> float:
        """Ratio of the greatest of the second half to that of the first."""
        middle = (self.samples[0][0] + self.samples[-1][0]) / 2
        early = max(nbytes for moment, nbytes in self.samples if moment <= middle)
        late = max(nbytes for moment, nbytes in self.samples if moment > middle)
        return late / early


@dataclass(frozen=True, kw_only=True)
class Report:
    """The outcome."""

    seconds: float
    series: int
    frames: int
    """Sent; all of them are in files."""
    rate: float
    """Frames per second that were written."""
    consumer_lost: int
    """Frames that the consumer that does not read has lost: counted, and nothing waited for it."""
    budget: int
    data: Memory
    http: Memory

    @property
    def failures(self) -> list[str]:
        """Requirements that were not met."""
        found = []
        if self.data.most > self.budget:
            found.append(f"the data process took {_mb(self.data.most)}, its budget is {_mb(self.budget)}")
        if self.seconds >= SETTLED and self.data.growth > GROWTH:
            found.append(f"memory grew by {self.data.growth - 1:.0%} from the first half to the second")
        if self.rate > SLOWER * RATE:
            found.append(
                f"{self.rate:,.0f} frames/s were written of {RATE:,} offered: this file system is not slower "
                "than the source, so this proves nothing; give --dir on another disk"
            )
        return found

    def __str__(self) -> str:
        return (
            f"{self.seconds:.0f} s, {self.series} series, {self.frames:,} frames of "
            f"{FRAME_BYTES / 1000:g} kB, each accounted for and stored; "
            f"{self.rate:,.0f} frames/s written of {RATE:,} offered\n"
            f"data process: {_mb(self.data.most)} at most (PSS), budget {_mb(self.budget)}; "
            f"second half {self.data.growth:.3f} times the first\n"
            f"HTTP process: {_mb(self.http.most)} at most\n"
            f"consumer that does not read: {self.consumer_lost:,} frames dropped and counted"
        )


def soak(folder: Path, seconds: float, progress: Callable[[str], None]) -> Report:
    """Run it.

    Args:
        folder: on a disk; its files are made slow, and removed.
        seconds: after which no further series begins.
        progress: called with the progress.

    Raises:
        SoakError: the file system cannot be made slow, or a frame is unaccounted for.
        ProcessFailed: a process did not start.
    """
    _make_slow(folder)
    endpoint, consumer = (f"tcp://127.0.0.1:{free_port()}" for _ in range(2))
    entry: dict[str, Any] = {
        "source": {"endpoints": [endpoint], "high_water_mark": MARK},
        "data_root": str(folder),
        "forward": [{"name": "stuck", "endpoint": consumer, "queue_mb": QUEUE_MB}],
    }
    config = msgspec.convert(entry, ReceiverConfig)
    budget = memory.bound(memory.parts(config, memory.Sizes.of(FRAME_BYTES)))
    entry["memory_mb"] = math.ceil(budget / 1e6)
    with _receiver(folder, entry) as (client, pid), _stuck(consumer):
        _until(client, lambda status: status.consumers[0].connected == 1, 30.0)
        client.check(SeriesCheck(filename="", frames=1, frame_bytes=FRAME_BYTES))
        watched = Memory(), Memory()
        began = time.monotonic()
        with _watch(pid, watched):
            progress("measuring the file system")
            rate = CALIBRATION / _series(client, endpoint, folder, CALIBRATION)
            frames, writing, series = 0, 0.0, 0
            # One series at least: on a busy machine the measurement alone may take all the time.
            while (left := seconds - (time.monotonic() - began)) > 0 or not series:
                number = max(CALIBRATION, int(rate * min(SERIES_SECONDS, seconds / 4, left)))
                took = _series(client, endpoint, folder, number)
                frames, writing, series, rate = frames + number, writing + took, series + 1, number / took
                progress(
                    f"{time.monotonic() - began:.0f} of {seconds:.0f} s: {frames:,} frames stored, "
                    f"{rate:,.0f} of {RATE:,} per second; {_mb(watched[0].most)} of {_mb(budget)}"
                )
        status = client.status()
        if status.errors:
            raise SoakError(f"there were bad messages: {status.errors}")
        return Report(
            seconds=time.monotonic() - began, series=series, frames=frames, rate=frames / writing,
            consumer_lost=status.consumers[0].dropped, budget=budget, data=watched[0], http=watched[1],
        )  # fmt: skip


def _series(client: ReceiverClient, endpoint: str, folder: Path, frames: int) -> float:
    """Run one series of so many frames; return the seconds that it took."""
    file = folder / "soak.h5"
    argv = (
        *PENSTOCK, "generate", "--json", "--endpoint", endpoint, "--frame-bytes", str(FRAME_BYTES), "--rate",
        str(RATE), "--frames", str(frames), "--filename", str(file), "--linger", "600",
    )  # fmt: skip
    before = client.status().series
    began = time.monotonic()
    with Child("generator", argv, line_with("data"), deadline=60.0):
        status = _until(
            client,
            lambda status: (
                status.series is not None
                and not status.series.active
                and (before is None or status.series.id != before.id)
            ),
            max(60.0, frames / 10),
        )
    counts = status.counts
    if (counts.planned, counts.stored, counts.flushed) != (frames, frames, frames):
        raise SoakError(f"not all of {frames} frames are stored: {counts}; {status.error}")
    file.unlink()
    return time.monotonic() - began


def _until(client: ReceiverClient, condition: Callable[[Status], bool], seconds: float) -> Status:
    due = time.monotonic() + seconds
    status = client.status()
    while not condition(status):
        if time.monotonic() > due or status.state == "error":
            raise SoakError(f"waited in vain for {seconds:.0f} s: {status}")
        status = client.status(seen=status.version, wait=1.0)
    return status


def _make_slow(folder: Path) -> None:
    """Let every write in this folder wait for the disk: new files inherit the attribute."""
    with _directory(folder) as descriptor:
        try:
            flags = struct.unpack("l", fcntl.ioctl(descriptor, FS_IOC_GETFLAGS, struct.pack("l", 0)))[0]
            fcntl.ioctl(descriptor, FS_IOC_SETFLAGS, struct.pack("l", flags | FS_SYNC_FL))
        except OSError as error:
            raise SoakError(
                f"files in {folder} cannot be made slow ({error.strerror}): its file system has no attribute "
                "S; give --dir on ext4, XFS or Btrfs"
            ) from error


@contextmanager
def _directory(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _receiver(folder: Path, entry: dict[str, Any]) -> Iterator[tuple[ReceiverClient, int]]:
    config = folder / "soak.yaml"
    config.write_text(json.dumps({"receivers": {"soak": entry}}))  # JSON is YAML too
    argv = (*PENSTOCK, "receiver", "soak", "--config", str(config), "--http", "127.0.0.1:0", "--json")
    with Child("receiver", argv, line_with("http"), deadline=60.0) as process:
        yield ReceiverClient(process.answer["http"], timeout=10.0), int(process.answer["pid"])


@contextmanager
def _stuck(endpoint: str) -> Iterator[None]:
    """Connect a consumer that never reads."""
    with zmq.Context() as context, context.socket(zmq.PULL) as socket:
        socket.set(zmq.RCVHWM, 1)
        socket.connect(endpoint)
        yield


@contextmanager
def _watch(http: int, into: tuple[Memory, Memory]) -> Iterator[None]:
    """Sample the data process, the only child, and the HTTP process meanwhile."""
    data = int(Path(f"/proc/{http}/task/{http}/children").read_text().split()[0])
    ended = threading.Event()

    def sample() -> None:
        while not ended.wait(SAMPLE_SECONDS):
            for pid, watched in zip((data, http), into, strict=True):
                watched.samples.append((time.monotonic(), _pss(pid)))

    thread = threading.Thread(target=sample, name="memory", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _pss(pid: int) -> int:
    """Return the proportional set size in bytes: shared memory is divided among its users
    (proc_pid_smaps(5))."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise SoakError(f"process {pid} has no Pss")


def _mb(nbytes: int) -> str:
    return f"{nbytes / 1e6:,.0f} MB"


def main() -> int:
    """Entry point of `make soak`; return 0 if all requirements are met."""
    from penstock.hosts.child import ProcessFailed

    description, _, examples = (__doc__ or "").partition("\nExamples:")
    parser = argparse.ArgumentParser(
        prog="make soak", description=description, epilog="Examples:" + examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--seconds", type=float, default=600.0, help="length of the run (%(default)g)")
    parser.add_argument("--dir", type=Path, default=Path(), help="folder on the disk to use (this folder)")
    args = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory(dir=args.dir, prefix="penstock-soak-") as folder:
            report = soak(
                Path(folder).resolve(), args.seconds, lambda text: print(text, file=sys.stderr, flush=True)
            )
    except (SoakError, ProcessFailed, OSError) as error:
        print(f"no result: {error}", file=sys.stderr)
        return 1
    print(report)
    for failure in report.failures:
        print(f"failed: {failure}")
    if not report.failures:
        print("memory stayed under its budget, and every frame is accounted for")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
