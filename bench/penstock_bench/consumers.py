"""What consumers cost: processor time per frame that one adds to a receiver's, live processing among them.

Receivers take the same series in turn, live only: one without a consumer, one with a plain PULL loop, one
that lets frames be freed as they come, one with a pipeline that gets frames by reference, and one with a
pipeline that gets them by TCP. Pipelines have two workers whose class does nothing. What is added is the
receiver's time more than without a consumer, and that of the loop, or of the distributor and its workers.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from penstock.processing.results.read import Results
from penstock_bench.receivers import Loop, Pipeline, Receiver, per_frame, since
from penstock_bench.results import Frames, Turn, Turns, add_difference
from penstock_bench.runner import Bench

NONE, LOOP, BY_REFERENCE, BY_TCP, MESSAGES = "none", "loop", "by reference", "by TCP", "messages"
SHARED: dict[str, Any] = {"shared": True, "queue_mb": 512}
BLOCKING: dict[str, Any] = {"when_full": "block", "queue_mb": 512}
"""Full speed is that of the slowest: nothing is dropped."""
DROPPING: dict[str, Any] = {"queue_mb": 256}
MOST_DROPPED = 0.01
"""Share of dropped frames from which on figures say nothing."""
ANSWERED = 0.001
"""Seconds: frames done so soon after each other may be of one bunch, whose answer follows the last."""
HEAD = "import time\n\nfrom penstock.processing import Processor\n\n\nclass Bench(Processor):\n"
PROCESS = f"{HEAD}    def process(self, frame):\n        "
NOTHING = f"{PROCESS}return None\n"
TELLS = f"{PROCESS}return {{'sent': frame.timestamp, 'done': time.time()}}\n"
Consumer = Callable[[Receiver, ExitStack], Loop | Pipeline]


def pull(receiver: Receiver, processes: ExitStack) -> Loop:
    """Start a plain loop."""
    return Loop(processes, receiver.consumer.endpoint)


def free(receiver: Receiver, processes: ExitStack) -> Loop:
    """Start a loop that frees the memory of frames at once."""
    return Loop(processes, receiver.consumer.endpoint, "free", receiver.consumer.shared)


def nothing(receiver: Receiver, processes: ExitStack) -> Pipeline:
    """Start a pipeline whose class does nothing."""
    return Pipeline(receiver.folder, receiver, NOTHING, 2, processes)


CONSUMERS: dict[str, tuple[Consumer | None, dict[str, Any] | None]] = {
    NONE: (None, None), LOOP: (pull, BLOCKING), BY_REFERENCE: (nothing, SHARED), BY_TCP: (nothing, BLOCKING),
}  # fmt: skip
"""What each is, and the receiver's entry for it."""
LIGHT = {
    NONE: (None, None), BY_REFERENCE: (free, DROPPING | {"shared": True}), MESSAGES: (pull, DROPPING),
}  # fmt: skip


def consumers(bench: Bench, frames: Frames) -> Turns:
    """Let three receivers take the same series: without a consumer, with one that gets frames by reference
    and frees them at once, and with one that gets messages; of both some may be dropped."""
    with ExitStack() as processes:
        return bench.in_turn(
            {kind: _consumed(bench.folder, frames, *LIGHT[kind], processes, most=1.0) for kind in LIGHT}
        )


def cost(bench: Bench, frames: Frames, kinds: tuple[str, ...] = tuple(CONSUMERS)) -> Turns:
    """Let each kind of consumer take part in the same series."""
    with ExitStack() as processes:
        turns = bench.in_turn(
            {kind: _consumed(bench.folder, frames, *CONSUMERS[kind], processes) for kind in kinds}
        )
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


def _consumed(
    folder: Path, frames: Frames, start: Consumer | None, forward: dict[str, Any] | None,
    processes: ExitStack, most: float = MOST_DROPPED,
) -> Callable[[], Turn]:  # fmt: skip
    """Start a receiver and its consumer; return what lets them take a series."""
    receiver = Receiver(folder, frames, processes, forward=forward)
    consumer = start and start(receiver, processes)
    if consumer:
        receiver.connected()

    def take() -> Turn:
        lost = receiver.dropped
        spent = since(lambda: receiver.processes_seconds() | (consumer.seconds() if consumer else {}))
        receiver.take(frames)
        if consumer:
            consumer.over(frames.count)
        took, dropped = spent(), receiver.dropped - lost
        if dropped > most * frames.count:
            raise RuntimeError(f"{dropped} frames were dropped: is something else using this machine?")
        return per_frame(took, frames.count) | {"dropped": float(dropped)}

    return take


def delays(folder: Path, frames: Frames) -> np.ndarray[Any, Any]:
    """Return the ms from when each frame was sent until the bunch was done to which it belongs."""
    with ExitStack() as processes:
        receiver, pipeline = pipeline_of(folder, frames, TELLS, 2, processes, results_root=str(folder))
        receiver.take(frames)
        pipeline.over(frames.count)
        series = pipeline.client.status().series
        assert series is not None and series.result_file is not None
        found = Results(Path(series.result_file))
        sent, done = (np.asarray(found.rows(name, 0, frames.count).values) for name in ("sent", "done"))
    order = np.argsort(done)
    sent, done = sent[order], done[order]
    last_of_bunch = np.flatnonzero(np.append(np.diff(done) >= ANSWERED, True))
    answered = done[last_of_bunch[np.searchsorted(last_of_bunch, np.arange(len(done)))]]
    late: np.ndarray[Any, Any] = (answered - sent) * 1e3
    return late


def pipeline_of(
    folder: Path, frames: Frames, source: str, workers: int, processes: ExitStack, **keys: Any
) -> tuple[Receiver, Pipeline]:
    """Return a receiver, and a pipeline that gets its frames by reference."""
    receiver = Receiver(folder, frames, processes, forward=SHARED)
    return receiver, Pipeline(folder, receiver, source, workers, processes, **keys)
