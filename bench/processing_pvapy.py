"""Live processing beside PvaPy 5.6: what each process takes, from the sender to the worker.

PvaPy's simulated area detector and one consumer that passes everything on; generator, receiver, and a
pipeline of one worker that does nothing. On both sides: frames of the same size, type and rate, made before
the first one is sent, live only, from sender to consumer by TCP; neither reads a pixel. What counts is spent
within a series, not by its begin and end, by all threads that a process has had: PvaPy's source starts one
for each frame.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from penstock.bench.contenders import process_seconds
from penstock.bench.pipeline import Frames, Pipeline, Receiver, difference
from penstock.bench.processing import NOTHING, QUEUE_MB
from penstock.bench.pvapy_programs import LEAST_RATE, Consumer, Spent, alone, source, within

CASES = (
    (Frames(name="4096²", shape=(4096, 4096), count=240, rate=60, dtype="uint8"), 0.7),
    (Frames(name="512²", shape=(512, 512), count=6_000, rate=1500, dtype="uint8"), 1.0),
)
"""Frames, and most that our time may be, times PvaPy's; its source makes uint8 by itself."""
AROUND = 1.0
"""Seconds of a series before and after what counts."""
QUEUE = 64
"""Frames that may wait for PvaPy's consumer."""


@dataclass(frozen=True, kw_only=True)
class Chain:
    """One size of frames; one entry per round."""

    frames: Frames
    bar: float
    pvapy: list[Spent] = field(default_factory=list)
    penstock: list[Spent] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """Return our time, times PvaPy's: median of the rounds."""
        pairs = zip(self.penstock, self.pvapy, strict=True)
        return statistics.median(sum(ours.values()) / sum(theirs.values()) for ours, theirs in pairs)


def chains(folder: Path, rounds: int, progress: Callable[[str], None], programs: Path | None) -> list[Chain]:
    """Measure the processor time of the whole chain beside PvaPy's; nothing if it is not there.

    Args:
        folder: for configurations.
        rounds: how many.
        progress: told what is under way.
        programs: the folder with PvaPy's programs.

    Raises:
        ProcessFailed: a process did not start.
        RuntimeError: a series was not complete.
    """
    if programs is None:
        return []
    found = []
    for frames, bar in CASES:
        result = Chain(frames=frames, bar=bar)
        with ExitStack() as processes:
            progress(f"{frames.name}: a pipeline starts")
            receiver = Receiver(folder, frames, {"shared": True, "queue_mb": QUEUE_MB}, processes)
            pipeline = Pipeline(folder, receiver, NOTHING, 1, processes)
            for number in range(1, rounds + 1):
                progress(f"{frames.name}, PvaPy, round {number} of {rounds}")
                result.pvapy.append(_pvapy(folder, frames, programs))
                progress(f"{frames.name}, penstock, round {number} of {rounds}")
                result.penstock.append(_penstock(frames, receiver, pipeline))
        found.append(result)
    return found


def _penstock(frames: Frames, receiver: Receiver, pipeline: Pipeline) -> Spent:
    sent = frames.of(frames.count + round(2 * AROUND * frames.rate))

    def seconds() -> dict[str, float]:
        return {"generator": process_seconds(taking.pid)} | receiver.seconds() | pipeline.seconds()

    with receiver.taking(sent) as taking:
        time.sleep(AROUND)  # it is asked nothing meanwhile, which would cost time
        before, began = seconds(), time.monotonic()
        time.sleep(frames.count / frames.rate)
        spent, taken = difference(seconds(), before), time.monotonic() - began
    counts = pipeline.over()
    if counts.done < sent.count:
        raise RuntimeError(f"of {sent.count} frames {counts.done} were processed: {counts}")
    if taking.rate < LEAST_RATE * frames.rate:
        raise RuntimeError(f"the generator has sent {taking.rate:g} frames per second, not {frames.rate:g}")
    return {name: each / (taken * taking.rate) * 1e6 for name, each in spent.items()}


def _pvapy(folder: Path, frames: Frames, programs: Path) -> Spent:
    environment, channel = alone(), "bench:image"
    with ExitStack() as processes:
        server = source(programs, channel, frames, environment, processes)
        consumer = Consumer(folder, programs, channel, QUEUE, environment, processes)
        pids = {"source": server, "consumer": consumer.pid}

        def seconds() -> dict[str, float]:
            return {name: process_seconds(pid) for name, pid in pids.items()}

        spent, _ = within([[consumer]], seconds, frames, round(AROUND * frames.rate))
    return spent
