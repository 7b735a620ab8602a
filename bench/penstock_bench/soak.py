"""What runs for long: a receiver whose file system is slower than the source.

The receiver's memory must stay under its budget, and every frame must be in the file. A file system is made
slow by the attribute S of its folder (chattr +S): every write waits for the disk, as on a file system mounted
with -o sync. That needs no privileges, and works on ext4, XFS and Btrfs; nothing makes a RAM disk slow.
Series follow each other, each about a minute long; a file is removed once its series is accounted for. The
queue of ZeroMQ and that of a consumer that does not read are full all the time: that is where memory goes.
"""

from __future__ import annotations

import fcntl
import math
import os
import struct
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import zmq

from penstock.hosts.child import free_port
from penstock.receiver.config import ReceiverConfig
from penstock.receiver.models import SeriesCheck
from penstock.receiver.process import memory
from penstock_bench.receivers import DEADLINE, Receiver, pss, remove, sending, until
from penstock_bench.results import Frames, Turn, Turns
from penstock_bench.runner import Bench, NotMeasured

FRAMES = Frames(name="20 kB", shape=(100, 100), count=400, rate=4_000)
"""80 MB/s are offered; the first series, of so many frames, measures the speed of the file system."""
MARK, QUEUE_MB = 4_000, 50.0
"""Messages that ZeroMQ may queue: 80 MB; queue of the consumer that does not read."""
SERIES_SECONDS, SAMPLE_SECONDS = 60.0, 0.25
"""Length of a series, by the speed of the one before, at most a quarter of the whole; between two samples."""
SETTLED = 120.0
"""Seconds until which queues fill: before, growth says nothing."""
FS_IOC_GETFLAGS, FS_IOC_SETFLAGS, FS_SYNC_FL = 0x80086601, 0x40086602, 0x8
"""ioctl_iflags(2), on 64-bit Linux."""
Samples = list[tuple[float, int]]
"""Moments, and proportional set size in bytes."""


def receiver(bench: Bench, load: str) -> Turns:
    """Let a receiver write to the disk, slowly, for so many `seconds`."""
    return bench.in_turn(
        {"data process": partial(soak, bench.on_disk(), bench.options["seconds"], bench.say)}
    )


def soak(folder: Path, seconds: float, say: Callable[[str], None]) -> Turn:
    """Run it.

    Raises:
        NotMeasured: the file system cannot be made slow.
        RuntimeError: a frame is unaccounted for.
    """
    make_slow(folder)
    consumer = f"tcp://127.0.0.1:{free_port()}"
    source = {"endpoints": [f"tcp://127.0.0.1:{free_port()}"], "high_water_mark": MARK}
    forward = {"name": "stuck", "endpoint": consumer, "queue_mb": QUEUE_MB}
    entry: dict[str, Any] = {"source": source, "data_root": str(folder), "forward": [forward]}
    config = msgspec.convert(entry, ReceiverConfig)
    budget = memory.bound(memory.parts(config, memory.Sizes.of(FRAMES.nbytes)))
    with ExitStack() as processes:
        keys = {"memory_mb": math.ceil(budget / 1e6)}
        own = Receiver(folder, FRAMES, processes, source=source, forward=forward, entry=keys)
        context = processes.enter_context(zmq.Context())
        stuck = processes.enter_context(context.socket(zmq.PULL))
        stuck.set(zmq.RCVHWM, 1)
        stuck.connect(consumer)
        own.connected()
        own.client.check(SeriesCheck(filename="", frames=1, frame_bytes=FRAMES.nbytes))
        data = _watch(own.data, processes)
        began, frames, writing, series = time.monotonic(), 0, 0.0, 0
        say("measuring the file system")
        rate = FRAMES.count / _stored(own, folder, FRAMES.count)
        # One series at least: on a busy machine the measurement alone may take all the time.
        while (left := seconds - (time.monotonic() - began)) > 0 or not series:
            number = max(FRAMES.count, int(rate * min(SERIES_SECONDS, seconds / 4, left)))
            took = _stored(own, folder, number)
            frames, writing, series, rate = frames + number, writing + took, series + 1, number / took
            say(f"{time.monotonic() - began:.0f} of {seconds:.0f} s: {frames:,} frames, {rate:,.0f}/s")
        if errors := own.client.status().errors:
            raise RuntimeError(f"there were bad messages: {errors}")
    counts = {"frames": float(frames), "written, % of offered": 100 * frames / writing / FRAMES.rate}
    return figures(time.monotonic() - began, data, budget) | counts


def figures(seconds: float, data: Samples, budget: int) -> Turn:
    """Return the figures of the samples; before queues are full, there is no growth."""
    most, middle = max(nbytes for _, nbytes in data), (data[0][0] + data[-1][0]) / 2
    turn = {"memory, MB": most / 1e6, "of its budget, %": 100 * most / budget}
    if seconds >= SETTLED:
        early, late = (
            max(nbytes for moment, nbytes in data if (moment > middle) is is_late)
            for is_late in (False, True)
        )
        turn["second half, % of the first"] = 100 * late / early
    return turn


def make_slow(folder: Path) -> None:
    """Let every write in this folder wait for the disk: new files inherit the attribute."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        flags = struct.unpack("l", fcntl.ioctl(descriptor, FS_IOC_GETFLAGS, struct.pack("l", 0)))[0]
        fcntl.ioctl(descriptor, FS_IOC_SETFLAGS, struct.pack("l", flags | FS_SYNC_FL))
    except OSError as error:
        raise NotMeasured(
            f"files in {folder} cannot be made slow ({error.strerror}): its file system has no attribute S; "
            "give --disk on ext4, XFS or Btrfs"
        ) from error
    finally:
        os.close(descriptor)


def _stored(own: Receiver, folder: Path, frames: int) -> float:
    """Let it take one series of so many frames; return the seconds that it took."""
    file, before, began = folder / "soak.h5", own.client.status().series, time.monotonic()
    earlier, patience = before.id if before else None, max(DEADLINE, frames / 10)
    ended = lambda status: status.series and not status.series.active and status.series.id != earlier  # noqa: E731
    with sending(own.endpoint, FRAMES.of(frames), file, "--linger", "600", warms=False):
        status = until(own.client, ended, "the series does not end", patience)
    counts = status.counts
    if (counts.planned, counts.stored, counts.flushed) != (frames, frames, frames):
        raise RuntimeError(f"not all of {frames} frames are stored: {counts}; {status.error}")
    remove(folder, file.name)
    return time.monotonic() - began


def _watch(pid: int, processes: ExitStack) -> Samples:
    """Sample the memory of a process until the stack is closed."""
    ended, found = threading.Event(), Samples()

    def sample() -> None:
        while not ended.wait(SAMPLE_SECONDS):
            found.append((time.monotonic(), pss(pid)))

    thread = threading.Thread(target=sample, name="memory", daemon=True)
    thread.start()
    processes.callback(thread.join)
    processes.callback(ended.set)
    return found
