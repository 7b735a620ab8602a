"""How long frames wait while workers are killed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from penstock.bench.pipeline import Frames, Pipeline, Receiver
from penstock.bench.processing import HEAD, QUEUE_MB

FRAMES = Frames(name="20 kB", shape=(100, 100), count=10_000, rate=1000)
WORKERS = 3
EVERY = 0.5
"""Seconds between two kills; the pipeline starts another worker each time."""
PAUSE_BAR = 0.1
"""Longest time in seconds between two bunches that are given, while frames wait."""
WORKS = f"{HEAD}    def process(self, frame):\n        time.sleep(0.002)\n"


@dataclass(frozen=True, kw_only=True)
class Kills:
    """One series."""

    frames: int
    kills: int
    longest_pause: float
    """In seconds; see `processing.models.Status`."""


def kills(folder: Path, progress: Callable[[str], None], frames: Frames = FRAMES) -> Kills:
    """Kill a worker of a running series every `EVERY` seconds.

    Args:
        folder: for configurations.
        progress: told what is under way.
        frames: of the series.

    Raises:
        ProcessFailed: a process did not start.
        RuntimeError: not every frame was processed.
    """
    progress("workers that are killed start")
    killed = 0
    with ExitStack() as processes:
        receiver = Receiver(folder, frames, {"shared": True, "queue_mb": QUEUE_MB}, processes)
        pipeline = Pipeline(folder, receiver, WORKS, WORKERS, processes)
        progress("workers are killed")
        with receiver.taking(frames) as taking:
            end = taking.began + frames.count / frames.rate
            due = taking.began + EVERY
            while due < end:
                time.sleep(max(0.0, due - time.monotonic()))
                due += EVERY
                # Whoever has done most: in place of one that has worked, another is started at once.
                most = max(pipeline.client.status().workers, key=lambda each: each.frames, default=None)
                if most is not None and most.frames:
                    os.kill(most.pid, signal.SIGKILL)
                    killed += 1
        counts = pipeline.over(may_die=True)
        status = pipeline.client.status()
    if counts.done != frames.count:
        raise RuntimeError(f"of {frames.count} frames {counts.done} were processed: {counts}")
    return Kills(frames=frames.count, kills=killed, longest_pause=status.longest_pause)
