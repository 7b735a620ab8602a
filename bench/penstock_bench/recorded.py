"""How fast workers of live processing take the frames of a file."""

from __future__ import annotations

import hashlib
import socket
import subprocess
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import msgspec

from penstock.hosts.child import PYTHON
from penstock.processing.config.pipeline_config import PipelineConfig, StepConfig
from penstock.processing.distributor.link import Command, Setup, Snapshot
from penstock.processing.wire import Step, local
from penstock.receiver.reading.reader import SeriesFile
from penstock.stins.texts import plural
from penstock_bench.consumers import HEAD
from penstock_bench.receivers import DEADLINE, Receiver, per_frame, process_seconds, since
from penstock_bench.results import Frames, Turn, Turns
from penstock_bench.runner import Bench

WAITS_TO_START = f"""\
from pathlib import Path

{HEAD}    go: str = ""

    def start(self, series):
        while not Path(self.go).exists():
            time.sleep(0.001)

    def process(self, frame):
        return {{"last": int(frame.pixels[-1, -1])}}
"""


def recorded(bench: Bench, frames: Frames, workers: tuple[int, ...] = (1, 2, 4)) -> Turns:
    """Let a distributor process a file that a receiver has written, in the kernel's cache, with so many
    workers, whose class looks at one pixel: each frame is read, and unpacked if it is packed. Until all
    workers have begun, none gets frames."""
    path = bench.folder / f"recorded-{frames.compression}.h5"
    with ExitStack() as processes, Receiver(bench.folder, frames, processes).taking(frames, path):
        pass
    with SeriesFile(path) as series:
        stored = sum(map(len, series.blobs(0) or ()))
    takers = {plural(number, "worker"): partial(_recorded, path, frames, number) for number in workers}
    turns = bench.in_turn(takers)
    for turn in (turn for found in turns.values() for turn in found):
        turn["MB stored"] = stored / 1e6
    return turns


def _recorded(path: Path, frames: Frames, number: int) -> Turn:
    go = path.with_name("go.txt")
    go.unlink(missing_ok=True)
    digest = hashlib.sha256(WAITS_TO_START.encode()).hexdigest()
    step = Step(name="Bench", file="bench.py", source=WAITS_TO_START, sha256=digest)
    steps = (StepConfig(processor="bench.py:Bench", parameters={"go": str(go)}),)
    config = PipelineConfig(name="bench", steps=steps, overwrite=True)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.settimeout(DEADLINE)
    with ExitStack() as processes, ours:
        with theirs:
            distributor = _start(processes, "distributor.distributor", theirs.fileno())
        ours.send(msgspec.json.encode(Setup(config=config, steps=(step,), since=time.time(), file=str(path))))
        snapshot = _next(ours)
        processes.callback(local.remove, snapshot.status.address)
        workers = [_start(processes, "worker.worker", snapshot.status.address) for _ in range(number)]
        while [each.state for each in snapshot.status.workers] != ["preparing"] * number:
            snapshot = _next(ours)

        def seconds() -> Turn:
            spent = sum(process_seconds(each.pid) for each in workers)
            return {"distributor": process_seconds(distributor.pid), "workers": spent}

        spent, began = since(seconds), time.monotonic()
        go.touch()
        while not snapshot.finished:
            snapshot = _next(ours)
        rate, took = frames.count / (time.monotonic() - began), spent()
        if snapshot.status.totals["done"] != frames.count:
            raise RuntimeError(f"not all of {frames.count} frames were processed: {snapshot.status.series}")
        ours.send(msgspec.json.encode(Command(number=1, action="quit")))
        for process in (distributor, *workers):
            process.wait(DEADLINE)
    return per_frame(took, frames.count) | {"GB/s of pixels": rate * frames.nbytes / 1e9}


def _start(processes: ExitStack, module: str, argument: int | str) -> subprocess.Popen[bytes]:
    """Start a process that is killed at the end, if it has not ended; a number is a descriptor for it."""
    argv = [*PYTHON, "-m", f"penstock.processing.{module}", str(argument)]
    process = subprocess.Popen(argv, pass_fds=(argument,) if isinstance(argument, int) else ())
    processes.callback(process.wait)
    processes.callback(process.kill)
    return process


def _next(link: socket.socket) -> Snapshot:
    """Wait for the next word of the distributor.

    Raises:
        RuntimeError: there is none.
    """
    try:
        return msgspec.json.decode(link.recv(2**22), type=Snapshot)
    except (TimeoutError, msgspec.DecodeError) as error:
        raise RuntimeError("the distributor has ended, or does not say anything") from error
