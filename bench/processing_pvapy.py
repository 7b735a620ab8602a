"""Live processing beside PvaPy 5.6: what each process takes, from the sender to the worker.

PvaPy's simulated area detector and one consumer that passes everything on; generator, receiver, and a
pipeline of one worker that does nothing. On both sides: frames of the same size, type and rate, made before
the first one is sent, live only, from sender to consumer by TCP; neither reads a pixel. What counts is spent
within a series, not by its begin and end, by all threads that a process has had: PvaPy's source starts one
for each frame.

PvaPy's consumer asks for a queue in which it misses none. In the one that it has by itself it misses a
quarter of 1,500 frames per second here, and says so only in its statistics.
"""

from __future__ import annotations

import json
import statistics
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from penstock.bench.contenders import process_seconds
from penstock.bench.pipeline import DEADLINE, Frames, Pipeline, Receiver, difference
from penstock.bench.processing import NOTHING, QUEUE_MB
from penstock.devices._base.processes import Child, free_port

CASES = (
    (Frames(name="4096²", shape=(4096, 4096), count=240, rate=60, dtype="uint8"), 0.7),
    (Frames(name="512²", shape=(512, 512), count=6_000, rate=1500, dtype="uint8"), 1.0),
)
"""Frames, and most that our time may be, times PvaPy's; its source makes uint8 by itself."""
MOST_MISSED, LEAST_RATE = 0.01, 0.8
"""Share of frames that PvaPy's consumer has missed, and of the rate that our generator has kept, beyond which
figures say nothing."""
AROUND = 1.0
"""Seconds of a series before and after what counts."""
QUEUE = 64
"""Frames that may wait for PvaPy's consumer."""
DIFFERENT = 16
"""Frames that PvaPy's source makes, and sends in turn."""
PASS_ON = """
from pvapy.hpc.userDataProcessor import UserDataProcessor


class PassOn(UserDataProcessor):
    count = 0

    def process(self, pvObject):
        self.count += 1
        if self.count % 10 == 0:
            print('{"count": %d, "id": %d}' % (self.count, pvObject["uniqueId"]), flush=True)
        return pvObject
"""

Spent = dict[str, float]
"""Processor time by process, in µs per frame."""


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


class _Counted:
    """How many frames PvaPy's consumer has taken, and the number of the last one, by its own word."""

    def __init__(self) -> None:
        self.count = self.last = 0
        self._news = threading.Event()

    def line(self, line: str) -> None:
        """Take a line of its output."""
        if line.startswith('{"count"'):
            told = json.loads(line)
            self.count, self.last = int(told["count"]), int(told["id"])
            self._news.set()

    def wait(self, count: int, due: float) -> tuple[int, int]:
        """Wait until it has taken so many; return how many these are, and the number of the last one.

        Raises:
            RuntimeError: it has not in time.
        """
        while self.count < count:
            if time.monotonic() > due:
                raise RuntimeError(f"PvaPy's consumer has taken {self.count} frames in time, not {count}")
            self._news.wait(1.0)
            self._news.clear()
        return self.count, self.last


def _pvapy(folder: Path, frames: Frames, programs: Path) -> Spent:
    file = folder / "pass_on.py"
    file.write_text(PASS_ON)
    counted = _Counted()
    seconds = frames.count / frames.rate
    channel = f"bench:image{free_port()}"
    rows, columns = frames.shape
    serve = (
        str(programs / "pvapy-ad-sim-server"), "-cn", channel, "-nx", str(columns), "-ny", str(rows),
        "-dt", frames.dtype, "-nf", str(DIFFERENT), "-fps", f"{frames.rate:g}",
        "-rt", f"{seconds + DEADLINE:g}", "-std", "1", "-dc", "-rp", "100000",
    )  # fmt: skip
    consume = (
        str(programs / "pvapy-hpc-consumer"), "-ic", channel, "-cc", f"{channel}:control", "-sc",
        f"{channel}:status", "-oc", f"{channel}:output", "-pf", str(file), "-pc", "PassOn", "-dc",
        "-sqs", str(QUEUE),
    )  # fmt: skip
    alone = {
        "EPICS_PVA_ADDR_LIST": "127.0.0.1", "EPICS_PVA_AUTO_ADDR_LIST": "NO",
        "EPICS_PVAS_INTF_ADDR_LIST": "127.0.0.1", "EPICS_PVA_BROADCAST_PORT": str(free_port()),
        "PYTHONUNBUFFERED": "1",
    }  # fmt: skip

    def started(line: str) -> bool | None:
        return True if line else None

    def first(line: str) -> bool | None:
        return True if line.startswith('{"count"') else None

    with (
        Child("PvaPy's server", serve, started, deadline=DEADLINE, environment=alone) as server,
        Child(
            "PvaPy's consumer", consume, first, deadline=DEADLINE, environment=alone, relay=counted.line
        ) as consumer,
    ):
        pids = {"source": server.pid, "consumer": consumer.pid}
        due = time.monotonic() + DEADLINE + seconds
        count, last = counted.wait(counted.count + round(frames.rate), due)
        before = {name: process_seconds(pid) for name, pid in pids.items()}
        taken, newest = counted.wait(count + frames.count, due)
        spent = difference({name: process_seconds(pid) for name, pid in pids.items()}, before)
    taken -= count
    missed = newest - last - taken
    if missed > MOST_MISSED * taken:
        raise RuntimeError(f"PvaPy's consumer has missed {missed} of {missed + taken} frames")
    return {name: each / taken * 1e6 for name, each in spent.items()}
