"""What it takes to process recorded frames: a distributor on a file, with one, two and four workers.

The file is as a receiver writes it, and is in the kernel's cache. The workers' class looks at one pixel, so
that each frame is read, and unpacked if it is packed. Until all workers have begun, none gets frames.
"""

from __future__ import annotations

import hashlib
import socket
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np

from penstock.bench.contenders import process_seconds
from penstock.codecs import bslz4
from penstock.hosts.child import PYTHON
from penstock.processing.config.pipeline_config import PipelineConfig, StepConfig
from penstock.processing.distributor.link import Command, Setup, Snapshot
from penstock.processing.wire import Step, local
from penstock.receiver.files.writer import SeriesWriter
from penstock.receiver.models import FrameStatus
from penstock.receiver.series.running_series import RunningSeries
from penstock.stins.messages import Frame, Header, Image, SeriesEnd, Start

SHAPE, FRAMES = (1448, 1448), 240
"""Pixels of 2 bytes."""
NBYTES = 2 * SHAPE[0] * SHAPE[1]
WORKERS = (1, 2, 4)
KINDS = ("none", "bslz4")
DISTRIBUTOR_BAR = 500.0
"""Most µs of the distributor's processor time per plain frame, with however many workers."""
DEADLINE = 60.0
SOURCE = """\
import time
from pathlib import Path

from penstock.processing import Processor


class Bench(Processor):
    go: str = ""

    def start(self, series):
        while not Path(self.go).exists():
            time.sleep(0.001)

    def process(self, frame):
        return {"last": int(frame.pixels[-1, -1])}
"""


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """One kind of frames and one number of workers; one entry per round."""

    compression: str
    workers: int
    stored_bytes: int
    """Of a frame in the file."""
    distributor: list[float] = field(default_factory=list)
    """µs of processor time per frame."""
    processing: list[float] = field(default_factory=list)
    """That of all workers."""
    rate: list[float] = field(default_factory=list)
    """GB of pixels per second."""

    @property
    def distributor_time(self) -> float:
        """Return the median of the distributor's time, in µs per frame."""
        return statistics.median(self.distributor)


def recorded(
    folder: Path, rounds: int, progress: Callable[[str], None], frames: int = FRAMES
) -> Iterator[Recorded]:
    """Measure each kind of frames, with each number of workers.

    Raises:
        ProcessFailed: a process did not start.
        RuntimeError: the series was not processed.
    """
    for compression in KINDS:
        path = folder / f"recorded-{compression}.h5"
        progress(f"{compression}: the file is written")
        stored = write(path, compression, frames)
        found = [Recorded(compression=compression, workers=n, stored_bytes=stored) for n in WORKERS]
        for number in range(1, rounds + 1):
            for each in found:
                progress(f"{compression}, {each.workers} workers, round {number} of {rounds}")
                _turn(folder, path, frames, each)
        path.unlink()
        yield from found


def write(path: Path, compression: str, frames: int) -> int:
    """Write a series as a receiver does; return the stored bytes of a frame."""
    image = np.random.default_rng(1).poisson(1.0, SHAPE).astype(np.uint16)
    blob = bslz4.compress(image) if compression == "bslz4" else image.tobytes()
    header = Header(
        filename=str(path), series=path.stem, frames=frames, shape=SHAPE, type="uint16",
        compression=compression,
    )  # fmt: skip
    series = RunningSeries(Start(header, {}))
    writer = SeriesWriter(path, "bench", series, "bench")
    for index in range(frames):
        head = Image(shape=SHAPE, type="uint16", compression=compression, frame=index, series=path.stem)
        writer.add(index, Frame(head, [blob]))
        series.account.take(index, FrameStatus.STORED)
    series.end = SeriesEnd()
    writer.close(series.close(None), synced=False)
    return len(blob)


def _turn(folder: Path, path: Path, frames: int, found: Recorded) -> None:
    go = folder / "go"
    go.unlink(missing_ok=True)
    step = Step(
        name="Bench", file="bench.py", source=SOURCE, sha256=hashlib.sha256(SOURCE.encode()).hexdigest()
    )
    config = PipelineConfig(
        name="bench",
        steps=(StepConfig(processor="bench.py:Bench", parameters={"go": str(go)}),),
        overwrite=True,
    )
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.settimeout(DEADLINE)
    with ExitStack() as processes, ours:
        module = "penstock.processing.distributor.distributor"
        with theirs:
            distributor = _start(processes, module, str(theirs.fileno()), descriptor=theirs.fileno())
        ours.send(msgspec.json.encode(Setup(config=config, steps=(step,), since=time.time(), file=str(path))))
        snapshot = _next(ours)
        processes.callback(local.remove, snapshot.status.address)
        module = "penstock.processing.worker.worker"
        workers = [_start(processes, module, snapshot.status.address) for _ in range(found.workers)]
        while [each.state for each in snapshot.status.workers] != ["preparing"] * found.workers:
            snapshot = _next(ours)
        before, began = _seconds(distributor, *workers), time.monotonic()
        go.touch()
        while not snapshot.finished:
            snapshot = _next(ours)
        seconds = time.monotonic() - began
        spent = [each - first for each, first in zip(_seconds(distributor, *workers), before, strict=True)]
        found.distributor.append(spent[0] / frames * 1e6)
        found.processing.append(sum(spent[1:]) / frames * 1e6)
        found.rate.append(frames * NBYTES / seconds / 1e9)
        if snapshot.status.totals["done"] != frames:
            raise RuntimeError(f"not all of {frames} frames were processed: {snapshot.status.series}")
        ours.send(msgspec.json.encode(Command(number=1, action="quit")))
        for process in (distributor, *workers):
            process.wait(DEADLINE)


def _seconds(*processes: subprocess.Popen[bytes]) -> list[float]:
    """Return the processor time of processes so far."""
    return [process_seconds(process.pid) for process in processes]


def _start(
    processes: ExitStack, module: str, argument: str, *, descriptor: int | None = None
) -> subprocess.Popen[bytes]:
    """Start a process that is killed at the end, if it has not ended."""
    fds = () if descriptor is None else (descriptor,)
    process = subprocess.Popen([*PYTHON, "-m", module, argument], pass_fds=fds)
    processes.callback(process.wait)
    processes.callback(process.kill)
    return process


def _next(link: socket.socket) -> Snapshot:
    """Wait for the next word of the distributor.

    Raises:
        RuntimeError: there is none.
    """
    try:
        message = link.recv(2**22)
    except TimeoutError:
        message = b""
    if not message:
        raise RuntimeError("the distributor has ended, or does not say anything")
    return msgspec.json.decode(message, type=Snapshot)
