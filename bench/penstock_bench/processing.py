"""What live processing costs: processor time per frame that is added to a receiver's; and how workers work.

Receivers take the same series in turn, live only: one without a consumer, one with a plain PULL loop, one
with a pipeline that gets frames by reference, and one with a pipeline that gets them by TCP. Pipelines have
two workers whose class does nothing. What is added is the receiver's time more than without a consumer, and
that of the loop, or of the distributor and its workers.
"""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from penstock.codecs import bslz4
from penstock.hosts.child import PYTHON
from penstock.processing.config.pipeline_config import PipelineConfig, StepConfig
from penstock.processing.distributor.link import Command, Setup, Snapshot
from penstock.processing.results.read import Results
from penstock.processing.wire import Step, local
from penstock.receiver.files.writer import SeriesWriter
from penstock.receiver.models import FrameStatus
from penstock.receiver.series.running_series import RunningSeries
from penstock.stins.messages import Frame, Header, Image, SeriesEnd, Start
from penstock_bench.receivers import (
    DEADLINE,
    Loop,
    Pipeline,
    Receiver,
    difference,
    per_frame,
    process_seconds,
)
from penstock_bench.results import Frames, Turn, Turns, add_difference
from penstock_bench.runner import Bench

NONE, LOOP, BY_REFERENCE, BY_TCP = "none", "loop", "by reference", "by TCP"
QUEUE_MB = 512
SHARED: dict[str, Any] = {"shared": True, "queue_mb": QUEUE_MB}
BLOCKING: dict[str, Any] = {"when_full": "block", "queue_mb": QUEUE_MB}
"""Full speed is that of the slowest: nothing is dropped."""
MOST_DROPPED = 0.01
"""Share of dropped frames from which on figures say nothing."""
WAITERS, WAIT, COMPUTE = 8, 0.020, 0.004
"""Workers that wait; seconds per frame that workers wait, or compute."""
KILLED, EVERY = 3, 0.5
"""Workers of which one is killed every so many seconds; the pipeline starts another one each time."""
ANSWERED = 0.001
"""Seconds: frames done so soon after each other may be of one bunch, whose answer follows the last."""
HEAD = "import time\n\nfrom penstock.processing import Processor\n\n\nclass Bench(Processor):\n"
PROCESS = f"{HEAD}    def process(self, frame):\n        "
NOTHING = f"{PROCESS}return None\n"
TELLS = f"{PROCESS}return {{'sent': frame.timestamp, 'done': time.time()}}\n"
COMPUTES = f"""{PROCESS}due = time.thread_time() + {COMPUTE}
        while time.thread_time() < due:
            pass
"""
WAITS_TO_START = f"""\
from pathlib import Path

{HEAD}    go: str = ""

    def start(self, series):
        while not Path(self.go).exists():
            time.sleep(0.001)

    def process(self, frame):
        return {{"last": int(frame.pixels[-1, -1])}}
"""


def cost(bench: Bench, frames: Frames, kinds: tuple[str, ...] = (NONE, LOOP, BY_REFERENCE, BY_TCP)) -> Turns:
    """Let each kind of consumer take part in the same series."""
    with ExitStack() as processes:
        turns = bench.in_turn({kind: _consumed(bench.folder, frames, kind, processes) for kind in kinds})
    add_difference(turns, NONE, "receiver, µs+loop, µs+distributor, µs+workers, µs", "added, µs")
    return turns


def paced(bench: Bench, frames: Frames) -> Turns:
    """Do the same at the rate of a detector, which leaves time to sleep: then each message that wakes a
    process up costs more than what it brings. Delays are measured in another series."""
    turns = cost(bench, frames, (NONE, LOOP, BY_REFERENCE))
    bench.say("delays")
    late = delays(bench.folder, frames)
    turns["results"] = [
        {"late, ms": float(np.median(late)), "late, 99 %, ms": float(np.percentile(late, 99))}
    ]
    return turns


def _consumed(folder: Path, frames: Frames, kind: str, processes: ExitStack) -> Callable[[], Turn]:
    forward = None if kind == NONE else SHARED if kind == BY_REFERENCE else BLOCKING
    receiver = Receiver(folder, frames, processes, forward=forward)
    consumer: Loop | Pipeline | None = None
    if kind == LOOP:
        consumer = Loop(receiver, processes)
    elif kind != NONE:
        consumer = Pipeline(folder, receiver, NOTHING, 2, processes)

    def seconds() -> Turn:
        ours = receiver.seconds()
        ours = {"receiver": ours["receiver"], "receiver's HTTP": ours["HTTP"]}
        return ours | ({} if consumer is None else consumer.seconds())

    def take() -> Turn:
        lost, before = receiver.dropped, seconds()
        with receiver.taking(frames):
            pass
        if consumer is not None:
            consumer.over(frames.count)
        spent, dropped = difference(seconds(), before), receiver.dropped - lost
        if dropped > MOST_DROPPED * frames.count:
            raise RuntimeError(f"{dropped} frames were dropped: is something else using this machine?")
        return per_frame(spent, frames.count) | {"dropped": float(dropped)}

    return take


def delays(folder: Path, frames: Frames) -> Any:
    """Return the ms from when each frame was sent until the bunch was done to which it belongs."""
    with ExitStack() as processes:
        receiver, pipeline = pipeline_of(folder, frames, TELLS, 2, processes, results_root=str(folder))
        with receiver.taking(frames):
            pass
        pipeline.over(frames.count)
        series = pipeline.client.status().series
        assert series is not None and series.result_file is not None
        found = Results(Path(series.result_file))
        sent, done = (found.rows(name, 0, frames.count).values for name in ("sent", "done"))
    order = np.argsort(done)
    answered = done[order].copy()
    for place in range(len(order) - 2, -1, -1):
        if done[order[place + 1]] - done[order[place]] < ANSWERED:
            answered[place] = answered[place + 1]
    late = np.empty(len(order))
    late[order] = answered
    return (late - sent) * 1e3


def pipeline_of(
    folder: Path, frames: Frames, source: str, workers: int, processes: ExitStack, **keys: Any
) -> tuple[Receiver, Pipeline]:
    """Return a receiver, and a pipeline that gets its frames by reference."""
    receiver = Receiver(folder, frames, processes, forward=SHARED)
    return receiver, Pipeline(folder, receiver, source, workers, processes, **keys)


def sharing(bench: Bench, frames: Frames) -> Turns:
    """Let eight workers that wait take the frames that come faster than they take them, beside one that does;
    and workers compute, beside which receiver and distributor shall take little."""
    few = frames.count // 10
    with ExitStack() as processes:
        takers: dict[str, Callable[[], Turn]] = {}
        for workers in (1, WAITERS):
            source, load = f"{PROCESS}time.sleep({WAIT})\n", frames.of(few * workers)
            receiver, pipeline = pipeline_of(bench.folder, load, source, workers, processes)
            name = f"{workers} workers that wait" if workers > 1 else "1 worker that waits"
            takers[name] = partial(_waiting, receiver, pipeline, load)
        turns = bench.in_turn(takers)
    with ExitStack() as processes:
        number = min(2, os.cpu_count() or 1)
        receiver, pipeline = pipeline_of(bench.folder, frames, COMPUTES, number, processes)
        return turns | bench.in_turn(
            {"workers that compute": partial(_computing, receiver, pipeline, frames)}
        )


def _waiting(receiver: Receiver, pipeline: Pipeline, frames: Frames) -> Turn:
    def processed() -> dict[str, int]:
        return {each.name: each.frames for each in pipeline.client.status().workers}

    before = processed()
    with receiver.taking(frames) as taking:
        pass
    pipeline.over(frames.count)
    rate, after = frames.count / (time.monotonic() - taking.began), processed()
    equal = frames.count / len(after)
    unlike = max(abs((after[name] - before[name]) / equal - 1) for name in after)
    return {"frames/s": rate} | ({"unlike an equal share, %": 100 * unlike} if len(after) > 1 else {})


def _computing(receiver: Receiver, pipeline: Pipeline, frames: Frames) -> Turn:
    def seconds() -> Turn:
        return {"receiver": receiver.seconds()["receiver"]} | pipeline.seconds()

    with receiver.taking(frames):
        before = seconds()
    pipeline.over(frames.count)
    spent = difference(seconds(), before)
    share = 100 * (spent["receiver"] + spent["distributor"]) / spent["workers"]
    return {"receiver and distributor, % of workers": share} | per_frame(spent, frames.count)


def kills(bench: Bench, frames: Frames) -> Turns:
    """Kill a worker of a running series now and then: whoever has done most, since in place of one that has
    worked another is started at once."""
    with ExitStack() as processes:
        source = f"{PROCESS}time.sleep(0.002)\n"
        receiver, pipeline = pipeline_of(bench.folder, frames, source, KILLED, processes)
        return bench.in_turn({f"{KILLED} workers": partial(_killing, receiver, pipeline, frames)})


def _killing(receiver: Receiver, pipeline: Pipeline, frames: Frames) -> Turn:
    killed = 0
    with receiver.taking(frames) as taking:
        due = taking.began + EVERY
        while due < taking.began + frames.count / frames.rate:
            time.sleep(max(0.0, due - time.monotonic()))
            due += EVERY
            most = max(pipeline.client.status().workers, key=lambda each: each.frames, default=None)
            if most is not None and most.frames:
                os.kill(most.pid, signal.SIGKILL)
                killed += 1
    pipeline.over(frames.count, may_die=True)
    pause = pipeline.client.status().longest_pause
    return {"longest pause, ms": pause * 1e3, "kills": float(killed)}


# -- recorded frames ---------------------------------------------------------------------------------------


def recorded(bench: Bench, frames: Frames, workers: tuple[int, ...] = (1, 2, 4)) -> Turns:
    """Let a distributor process a file as a receiver writes it, in the kernel's cache, with so many workers,
    whose class looks at one pixel: each frame is read, and unpacked if it is packed. Until all workers have
    begun, none gets frames."""
    path = bench.folder / f"recorded-{frames.compression}.h5"
    stored = write(path, frames)
    takers = {
        f"{number} worker{'s' * (number > 1)}": partial(_recorded, path, frames, number) for number in workers
    }
    turns = bench.in_turn(takers)
    for turn in (turn for found in turns.values() for turn in found):
        turn["MB stored"] = stored / 1e6
    return turns


def write(path: Path, frames: Frames) -> int:
    """Write a series as a receiver does; return the stored bytes of a frame."""
    image = np.random.default_rng(1).poisson(1.0, frames.shape).astype(frames.dtype)
    blob = bslz4.compress(image) if frames.compression == "bslz4" else image.tobytes()
    keys: dict[str, Any] = {
        "series": path.stem, "shape": frames.shape, "type": frames.dtype, "compression": frames.compression,
    }  # fmt: skip
    series = RunningSeries(Start(Header(filename=str(path), frames=frames.count, **keys), {}))
    writer = SeriesWriter(path, "bench", series, "bench")
    for index in range(frames.count):
        writer.add(index, Frame(Image(frame=index, **keys), [blob]))
        series.account.take(index, FrameStatus.STORED)
    series.end = SeriesEnd()
    writer.close(series.close(None), synced=False)
    return len(blob)


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

        before, began = seconds(), time.monotonic()
        go.touch()
        while not snapshot.finished:
            snapshot = _next(ours)
        took, spent = time.monotonic() - began, difference(seconds(), before)
        if snapshot.status.totals["done"] != frames.count:
            raise RuntimeError(f"not all of {frames.count} frames were processed: {snapshot.status.series}")
        ours.send(msgspec.json.encode(Command(number=1, action="quit")))
        for process in (distributor, *workers):
            process.wait(DEADLINE)
    return per_frame(spent, frames.count) | {"GB/s of pixels": frames.count * frames.nbytes / took / 1e9}


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
        message = link.recv(2**22)
    except TimeoutError:
        message = b""
    if not message:
        raise RuntimeError("the distributor has ended, or does not say anything")
    return msgspec.json.decode(message, type=Snapshot)
