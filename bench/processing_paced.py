"""What live processing costs at the rate of a real detector, beside a plain loop, and how late results are.

At full speed whoever takes frames is never asleep. A detector leaves it time to sleep, and then each message
that wakes a process up costs more than what it brings. Receivers and consumers are those of `processing`;
delays are measured in another series, whose class says when it had each frame.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from penstock.bench.pipeline import Frames, Pipeline, Receiver
from penstock.bench.processing import HEAD, QUEUE_MB, Cost, cost
from penstock.processing.results.read import Results

SECONDS = 10
"""Of each series."""
PACED_KINDS = ("none", "loop", "by reference")
PACED_BAR, DELAY_BAR = 1.2, 50.0
"""Most that a pipeline may add, times what the loop adds; ms within which 99 of 100 frames have results."""
CASES = (
    Frames(name="16 kB at 600/s", shape=(90, 90), count=600 * SECONDS, rate=600),
    Frames(name="4.2 MB at 60/s", shape=(1448, 1448), count=60 * SECONDS, rate=60),
)
TELLS = (
    f"{HEAD}    def process(self, frame):\n        return {{'sent': frame.timestamp, 'done': time.time()}}\n"
)
ANSWERED = 0.001
"""Seconds: frames done so soon after each other may be of one bunch, whose answer follows the last."""


@dataclass(frozen=True, kw_only=True)
class Paced:
    """One size of frames at one rate."""

    cost: Cost
    delays: list[float] = field(default_factory=list)
    """Of each frame: ms from when it was sent until the bunch was done to which it belongs."""

    @property
    def ratio(self) -> float:
        """Return what a pipeline adds, times what the loop adds: median of the rounds."""
        return self.cost.ratio("by reference")

    @property
    def delay(self) -> float:
        """Return the ms within which 99 of 100 frames are done."""
        return float(np.percentile(self.delays, 99))

    @property
    def usual(self) -> float:
        """Return the median of the delays, in ms."""
        return statistics.median(self.delays)


def paced(
    folder: Path, rounds: int, progress: Callable[[str], None], cases: tuple[Frames, ...] = CASES
) -> Iterator[Paced]:
    """Measure each size of frames: per round one series with each kind of consumer.

    Raises:
        ProcessFailed: a process did not start.
        RuntimeError: a series was not complete, or frames were dropped, so that the figures say nothing.
    """
    for frames in cases:
        found = Paced(cost=cost(folder, frames, PACED_KINDS, rounds, progress))
        progress(f"{frames.name}: delays")
        found.delays.extend(_delays(folder, frames))
        yield found


def _delays(folder: Path, frames: Frames) -> list[float]:
    with ExitStack() as processes:
        receiver = Receiver(folder, frames, {"shared": True, "queue_mb": QUEUE_MB}, processes)
        pipeline = Pipeline(folder, receiver, TELLS, 2, processes, results_root=str(folder))
        receiver.take(frames)
        pipeline.over()
        series = pipeline.client.status().series
        assert series is not None and series.result_file is not None
        results = Results(Path(series.result_file))
        sent, done = (results.rows(name, 0, frames.count).values for name in ("sent", "done"))
    order = np.argsort(done)
    follows = np.append(np.diff(done[order]) < ANSWERED, False)
    answered = done[order].copy()
    for place in range(len(order) - 2, -1, -1):
        if follows[place]:
            answered[place] = answered[place + 1]
    late = np.empty(len(order))
    late[order] = answered
    return list(((late - sent) * 1e3).tolist())
