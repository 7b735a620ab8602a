"""What live processing costs: processor time per frame that is added to a receiver's.

Four receivers take the same series in turn, live only: one without a consumer, one with a plain PULL loop,
one with a pipeline that gets frames by reference, and one with a pipeline that gets them by TCP. Pipelines
have two workers whose class does nothing. What is added is the receiver's time more than without a consumer,
and that of the loop, or of the distributor and its workers. Ratios are those of one round; medians count.

And how workers share the work: eight that wait beside one, and what receiver and distributor take beside
workers that compute.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.bench.pipeline import Frames, Loop, Pipeline, Receiver, difference

KINDS = ("none", "loop", "by reference", "by TCP")
QUEUE_MB = 512
LARGE = 2_000_000
"""Bytes of a frame from which the second bar holds."""
ADDED_BAR, LARGE_BAR, TCP_BAR = 0.5, 0.65, 3.0
"""Most that a pipeline may add, by reference and by TCP, times what the loop adds."""
RECEIVER_BAR = 1.6
"""Most that frames by reference may cost the receiver, times without, of the smallest frames."""
WAITERS, SPEED_BAR, SHARE_BAR = 8, 7.5, 0.02
"""Workers that wait; how many times as fast as one they are; how unlike an equal share that of one may be."""
WAIT, COMPUTE = 0.020, 0.004
"""Seconds per frame that workers wait, or compute."""
AROUND_BAR = 0.06
"""Most that receiver and distributor may take, as a share of the time of workers that compute."""
ADDED = ("loop", "distributor", "workers")
"""Processes that a consumer adds."""
MOST_DROPPED = 0.01
"""Share of dropped frames from which on figures say nothing."""

CASES = (
    Frames(name="20 kB", shape=(100, 100), count=30_000),
    Frames(name="262 kB", shape=(362, 362), count=4_000),
    Frames(name="4.2 MB", shape=(1448, 1448), count=400),
    Frames(name="16.8 MB", shape=(2896, 2896), count=100),
)

HEAD = "import time\n\nfrom penstock.processing import Processor\n\n\nclass Bench(Processor):\n"
NOTHING = f"{HEAD}    def process(self, frame):\n        return None\n"
WAITS = f"{HEAD}    def process(self, frame):\n        time.sleep({WAIT})\n"
COMPUTES = (
    f"{HEAD}    def process(self, frame):\n"
    f"        due = time.thread_time() + {COMPUTE}\n"
    "        while time.thread_time() < due:\n"
    "            pass\n"
)


@dataclass(frozen=True, kw_only=True)
class Cost:
    """One size of frames: processor time in µs per frame, by kind of consumer, one entry per round."""

    frames: Frames
    spent: dict[str, list[dict[str, float]]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    """By process: receiver, receiver's HTTP, loop, distributor, workers, pipeline's HTTP."""
    dropped: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    """All rounds together."""

    def median(self, kind: str, *processes: str) -> float:
        """Return the median of the time of some processes together."""
        return statistics.median(sum(each.get(name, 0.0) for name in processes) for each in self.spent[kind])

    def added(self, kind: str) -> list[float]:
        """Return what a consumer adds, in µs per frame, of each round."""
        return [
            there["receiver"] - none["receiver"] + sum(there.get(name, 0.0) for name in ADDED)
            for there, none in zip(self.spent[kind], self.spent["none"], strict=True)
        ]  # fmt: skip

    def ratio(self, kind: str) -> float:
        """Return what a pipeline adds, times what the loop adds: median of the rounds."""
        return statistics.median(
            pipeline / loop for pipeline, loop in zip(self.added(kind), self.added("loop"), strict=True)
        )

    @property
    def receiver_ratio(self) -> float:
        """Return the receiver's time with frames by reference, times that without a consumer."""
        pairs = zip(self.spent["by reference"], self.spent["none"], strict=True)
        return statistics.median(there["receiver"] / none["receiver"] for there, none in pairs)

    def bar(self, kind: str) -> float:
        """Return the most that the ratio may be."""
        if kind == "by TCP":
            return TCP_BAR
        return LARGE_BAR if self.frames.nbytes >= LARGE else ADDED_BAR


def costs(
    folder: Path, rounds: int, progress: Callable[[str], None], cases: tuple[Frames, ...] = CASES
) -> Iterator[Cost]:
    """Measure each size of frames: per round one series with each kind of consumer.

    Raises:
        ProcessFailed: a process did not start.
        RuntimeError: a series was not complete, or frames were dropped, so that the figures say nothing.
    """
    for frames in cases:
        yield cost(folder, frames, KINDS, rounds, progress)


def cost(
    folder: Path, frames: Frames, kinds: Sequence[str], rounds: int, progress: Callable[[str], None]
) -> Cost:
    """Measure one size of frames with each kind of consumer, in turns; raises what `costs` raises."""
    found = Cost(frames=frames)
    with ExitStack() as processes:
        progress(f"{frames.name}: receivers and pipelines start")
        there = {kind: started(kind, folder, frames, processes) for kind in kinds}
        for number in range(1, rounds + 1):
            for kind, (receiver, consumer) in there.items():
                progress(f"{frames.name}, {kind}, round {number} of {rounds}")
                turn(kind, receiver, consumer, found)
    return found


def started(
    kind: str, folder: Path, frames: Frames, processes: ExitStack
) -> tuple[Receiver, Loop | Pipeline | None]:
    """Return a receiver for frames, and its consumer."""
    if kind == "none":
        return Receiver(folder, frames, None, processes), None
    if kind == "by reference":
        forward: dict[str, Any] = {"shared": True, "queue_mb": QUEUE_MB}
    else:
        # Full speed is that of the slowest: nothing is dropped.
        forward = {"when_full": "block", "queue_mb": QUEUE_MB}
    receiver = Receiver(folder, frames, forward, processes)
    if kind == "loop":
        return receiver, Loop(receiver, processes)
    return receiver, Pipeline(folder, receiver, NOTHING, 2, processes)


def turn(kind: str, receiver: Receiver, consumer: Loop | Pipeline | None, found: Cost) -> None:
    """Let a receiver take one series, and take note of what was spent.

    Raises:
        RuntimeError: frames were dropped.
    """

    def seconds() -> dict[str, float]:
        return receiver.seconds() | ({} if consumer is None else consumer.seconds())

    frames, dropped = found.frames, receiver.dropped
    with receiver.taking(frames):
        before = seconds()
    if consumer is not None:
        consumer.over()
    spent = difference(seconds(), before)
    found.spent[kind].append({name: each / frames.count * 1e6 for name, each in spent.items()})
    found.dropped[kind] += receiver.dropped - dropped
    if found.dropped[kind] > MOST_DROPPED * frames.count * len(found.spent[kind]):
        raise RuntimeError(
            f"{frames.name}, {kind}: {found.dropped[kind]} frames were dropped: is something else using "
            "this machine?"
        )


# -- sharing the work ------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Sharing:
    """Workers that wait, and workers that compute; one entry per round."""

    rates: dict[int, list[float]] = field(default_factory=lambda: {1: [], WAITERS: []})
    """Frames per second, by number of workers that wait."""
    shares: list[list[float]] = field(default_factory=list)
    """Of each of the workers that wait, times an equal share."""
    around: list[dict[str, float]] = field(default_factory=list)
    """Processor time in ms per frame beside workers that compute, by process."""

    @property
    def speed(self) -> float:
        """Return how many times as fast as one the workers that wait are."""
        pairs = zip(self.rates[WAITERS], self.rates[1], strict=True)
        return statistics.median(many / one for many, one in pairs)

    @property
    def unlike(self) -> float:
        """Return how far the share of a worker was from an equal one, at most: median of the rounds."""
        return statistics.median(max(abs(share - 1) for share in shares) for shares in self.shares)

    @property
    def ratio(self) -> float:
        """Return the time of receiver and distributor as a share of the workers'."""
        return statistics.median(
            (each["receiver"] + each["distributor"]) / each["workers"] for each in self.around
        )


def sharing(folder: Path, rounds: int, progress: Callable[[str], None], scale: float = 1.0) -> Sharing:
    """Measure how workers share the work.

    Args:
        folder: for configurations.
        rounds: how many.
        progress: told what is under way.
        scale: of the number of frames.

    Raises:
        ProcessFailed: a process did not start.
        RuntimeError: a series was not complete, or frames were dropped.
    """
    found = Sharing()
    # All of them wait in the queue: workers never wait for frames, which come faster than they take them.
    counts = {1: round(200 * scale), WAITERS: round(200 * WAITERS * scale)}
    with ExitStack() as processes:
        waiting = {}
        for workers, count in counts.items():
            progress(f"{workers} workers that wait start")
            frames = Frames(name="20 kB", shape=(100, 100), count=count)
            receiver, pipeline = _pipeline(folder, frames, WAITS, workers, processes)
            waiting[workers] = frames, receiver, pipeline
        for number in range(1, rounds + 1):
            for workers, (frames, receiver, pipeline) in waiting.items():
                progress(f"{workers} workers that wait, round {number} of {rounds}")
                before = _processed(pipeline)
                began = time.monotonic()
                receiver.take(frames)
                _all_done(pipeline, frames)
                found.rates[workers].append(frames.count / (time.monotonic() - began))
                if workers == WAITERS:
                    after = _processed(pipeline)
                    equal = frames.count / workers
                    found.shares.append([(after[name] - before[name]) / equal for name in after])
    with ExitStack() as processes:
        progress("workers that compute start")
        frames = Frames(name="20 kB", shape=(100, 100), count=round(2000 * scale))
        receiver, pipeline = _pipeline(folder, frames, COMPUTES, min(2, os.cpu_count() or 1), processes)
        for number in range(1, rounds + 1):
            progress(f"workers that compute, round {number} of {rounds}")
            with receiver.taking(frames):
                first = receiver.seconds() | pipeline.seconds()
            _all_done(pipeline, frames)
            spent = difference(receiver.seconds() | pipeline.seconds(), first)
            found.around.append({name: each / frames.count * 1e3 for name, each in spent.items()})
    return found


def _pipeline(
    folder: Path, frames: Frames, source: str, workers: int, processes: ExitStack
) -> tuple[Receiver, Pipeline]:
    receiver = Receiver(folder, frames, {"shared": True, "queue_mb": QUEUE_MB}, processes)
    return receiver, Pipeline(folder, receiver, source, workers, processes)


def _processed(pipeline: Pipeline) -> dict[str, int]:
    return {each.name: each.frames for each in pipeline.client.status().workers}


def _all_done(pipeline: Pipeline, frames: Frames) -> None:
    counts = pipeline.over()
    if counts.done != frames.count:
        raise RuntimeError(f"of {frames.count} frames {counts.done} were processed: {counts}")
