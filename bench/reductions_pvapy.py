"""A class of PvaPy behind a worker: processor time per frame of 512² that is ours, not the class'.

PvaPy 5.6 is in an environment of its own, which `make judges` makes. The class is its `AdImageProcessor`,
which publishes what it gets. What is ours is what a worker takes with it, less the time in the class, less
what a worker takes with a class of `Processor` that returns the image: the frame's header, and the image as a
result of its bunch. (A class that makes objects of its own has them freed in the worker, too, which takes as
long as to make them, and is not ours.)
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from penstock.bench.in_child import beside
from penstock.bench.in_worker import InWorker, parts_of
from penstock.bench.reductions import Figure, Progress

SHAPE, FRAMES, BUNCH = (512, 512), 320, 16
BAR = 100.0
"""Most that is ours, in µs."""
CLASS_OF_PVAPY = "pvapy:pvapy.hpc.adImageProcessor:AdImageProcessor"
ALL, CLASS, PLAIN = "in a worker", "of this the class", "a Processor's image"
RETURNS = """
from penstock.processing import Processor


class Returns(Processor):
    def process(self, frame):
        return {"image": frame.pixels, "output_count": 1}
"""


def measure(rounds: int, progress: Progress) -> Iterator[Figure]:
    """Measure in a child process, which imports PvaPy."""
    progress(f"pvapy, {rounds} rounds of {FRAMES} frames")
    values = beside("pvapy", __name__, rounds)
    rounds_of = zip(values[ALL], values[CLASS], values[PLAIN], strict=True)
    yield Figure(
        part="pvapy", text="512², uint16, AdImageProcessor: ours per frame", unit="µs", bar=BAR,
        found=statistics.median(found - inside - plain for found, inside, plain in rounds_of),
        values=values,
    )  # fmt: skip


def each(packages: str, rounds: int) -> dict[str, list[float]]:
    """Return processor time per frame in µs in a worker, in the class, and of a class of ours, by round."""
    sys.path.append(packages)  # behind ours
    parts = parts_of(np.random.default_rng(1).integers(0, 1000, (BUNCH, *SHAPE)).astype(np.uint16))
    worker = InWorker(CLASS_OF_PVAPY, {}, SHAPE, "uint16")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "returns.py")
        path.write_text(RETURNS)
        plain = InWorker(f"{path}:Returns", {}, SHAPE, "uint16")
    inside = _Inside(worker.steps[0])
    found: dict[str, list[float]] = {ALL: [], CLASS: [], PLAIN: []}
    for _ in range(rounds):
        for name, each_worker in ((ALL, worker), (PLAIN, plain)):
            each_worker.process(parts)
            inside.seconds, begun = 0.0, time.process_time()
            for _ in range(FRAMES // BUNCH):
                each_worker.process(parts)
            found[name].append((time.process_time() - begun) / FRAMES * 1e6)
            if name == ALL:
                found[CLASS].append(inside.seconds / FRAMES * 1e6)
    return found


class _Inside:
    """The time in a class of PvaPy, without that in which what it publishes is taken."""

    def __init__(self, step: Any) -> None:
        self.seconds = 0.0
        self._process, self._publish = step._made.process, step._publisher.updateOutputChannel
        step._made.process, step._publisher.updateOutputChannel = self._processed, self._published

    def _processed(self, pv_object: Any) -> None:
        begun = time.thread_time()
        self._process(pv_object)
        self.seconds += time.thread_time() - begun

    def _published(self, pv_object: Any) -> None:
        begun = time.thread_time()
        self._publish(pv_object)
        self.seconds -= time.thread_time() - begun


if __name__ == "__main__":
    print(json.dumps(each(sys.argv[1], int(sys.argv[2]))))
