"""PvaPy's programs, unmodified, as processes: its simulated area detector, and consumers that pass frames on.

What consumers have missed is by their own word: each tells how many frames it has taken, and the `uniqueId`
of the last one. A consumer asks for a queue in which it misses none. In the one that it has by itself it
misses a quarter of 1,500 frames per second here, and says so only in its statistics.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from penstock.bench.pipeline import DEADLINE, Frames, difference
from penstock.hosts.child import Child, free_port

MOST_MISSED, LEAST_RATE = 0.01, 0.8
"""Share of frames that PvaPy's consumers have missed, and of the rate that a source has kept, beyond which
figures say nothing."""
DIFFERENT = 16
"""Frames that PvaPy's source makes, and sends in turn."""
PASS_ON = """
import os

from pvapy.hpc.userDataProcessor import UserDataProcessor


def say(line):  # at once: other threads of PvaPy print as well
    os.write(1, (line + chr(10)).encode())


class PassOn(UserDataProcessor):
    def __init__(self, configDict):
        super().__init__(configDict)
        self.count, self.every = 0, configDict["every"]

    def start(self):
        say("started")

    def getOutputPvObjectType(self, pvObject):
        say("connected")
        return pvObject

    def process(self, pvObject):
        self.count += 1
        if self.count % self.every == 0:
            say('{"count": %d, "id": %d}' % (self.count, pvObject["uniqueId"]))
        self.updateOutputChannel(pvObject)
        return pvObject
"""

Spent = dict[str, float]
"""Processor time by process, in µs per frame."""


def alone() -> dict[str, str]:
    """Return the variables of servers and clients that find each other, and nobody else."""
    search = str(free_port())
    return {
        "EPICS_PVA_ADDR_LIST": "127.0.0.1", "EPICS_PVA_AUTO_ADDR_LIST": "NO",
        "EPICS_PVAS_INTF_ADDR_LIST": "127.0.0.1", "EPICS_PVAS_AUTO_BEACON_ADDR_LIST": "NO",
        "EPICS_PVA_BROADCAST_PORT": search, "EPICS_PVAS_BROADCAST_PORT": search, "PYTHONUNBUFFERED": "1",
    }  # fmt: skip


def source(
    programs: Path, channel: str, frames: Frames, environment: dict[str, str], processes: ExitStack
) -> int:
    """Start PvaPy's source, which makes its frames before it sends the first one; return its process id.

    Args:
        programs: the folder with PvaPy's programs.
        channel: that has the frames.
        frames: sent until it is ended.
        environment: from `alone`.
        processes: in which it is started, and ended with.

    Raises:
        ProcessFailed: it did not start.
    """
    rows, columns = frames.shape
    argv = (
        str(programs / "pvapy-ad-sim-server"), "-cn", channel, "-nx", str(columns), "-ny", str(rows),
        "-dt", frames.dtype, "-nf", str(DIFFERENT), "-fps", f"{frames.rate:g}",
        "-rt", f"{frames.count / frames.rate + 2 * DEADLINE:g}", "-std", "1", "-dc", "-rp", "100000",
    )  # fmt: skip
    child = Child(
        "PvaPy's source", argv, lambda line: True if line else None,
        deadline=DEADLINE, environment=environment,
    )  # fmt: skip
    return processes.enter_context(child).pid


class Consumer:
    """One of PvaPy's consumers, whose class passes every frame on.

    Args:
        folder: for the class.
        programs: the folder with PvaPy's programs.
        channel: whose frames it takes.
        queue: frames that may wait for it.
        environment: from `alone`.
        processes: in which it is started, and ended with.
        share: how many consumers PvaPy's distributor shares the frames out among.
        output: channel that it serves them on; "": none.
        every: number of frames after which it tells.

    Raises:
        ProcessFailed: it did not start.
    """

    def __init__(
        self, folder: Path, programs: Path, channel: str, queue: int, environment: dict[str, str],
        processes: ExitStack, *, share: int = 1, output: str = "", every: int = 10,
    ) -> None:  # fmt: skip
        file = folder / "pass_on.py"
        file.write_text(PASS_ON)
        argv = [
            str(programs / "pvapy-hpc-consumer"), "-ic", channel, "-pf", str(file), "-pc", "PassOn",
            "-pa", json.dumps({"every": every}), "-dc", "-sqs", str(queue),
        ]  # fmt: skip
        if share > 1:
            argv += ["-du", "1", "-oo", str(share)]
        if output:
            argv += ["-oc", output]
        ready = "connected" if output else "started"  # before the first frame it prints nothing by itself
        self.taken = (0, 0)
        """Frames, and the number of the last one, as it has told."""
        self._news = threading.Event()
        child = Child(
            "PvaPy's consumer", argv, lambda line: True if line == ready else None,
            deadline=DEADLINE, environment=environment, relay=self._line,
        )  # fmt: skip
        self.pid = processes.enter_context(child).pid

    def wait(self, count: int, due: float) -> None:
        """Wait until it has taken so many.

        Raises:
            RuntimeError: it has not in time.
        """
        while self.taken[0] < count:
            if time.monotonic() > due:
                raise RuntimeError(f"PvaPy's consumer has taken {self.taken[0]} frames in time, not {count}")
            self._news.wait(1.0)
            self._news.clear()

    def _line(self, line: str) -> None:
        if line.startswith('{"count"'):
            told = json.loads(line)
            self.taken = int(told["count"]), int(told["id"])
            self._news.set()


def within(
    stages: Sequence[Sequence[Consumer]], seconds: Callable[[], dict[str, float]], frames: Frames, lead: int
) -> tuple[Spent, float]:
    """Return what each process takes within a series, not by its begin; and the share of frames missed.

    Args:
        stages: consumers that share the frames of a source out, and those that take what these put out.
        seconds: returns the processor time so far, by process.
        frames: how many count, and their rate.
        lead: frames that each consumer takes before.

    Raises:
        RuntimeError: consumers have missed too many, or the source was too slow, so that figures say nothing.
    """
    due = time.monotonic() + DEADLINE + frames.count / frames.rate
    consumers = [each for stage in stages for each in stage]
    for each, first in [(each, each.taken[0] + lead) for each in consumers]:
        each.wait(first, due)
    began, earlier, before = time.monotonic(), [each.taken for each in consumers], seconds()
    for each, (count, _) in zip(consumers, earlier, strict=True):
        each.wait(count + frames.count // len(stages[0]), due)
    spent, told = difference(seconds(), before), [each.taken for each in consumers]
    took = time.monotonic() - began
    pairs = list(zip(earlier, told, strict=True))
    taken = sum(count - first_count for (first_count, _), (count, _) in pairs)
    sent = [(last - first) / len(stages[0]) for (_, first), (_, last) in pairs]
    missed = max(0.0, 1 - taken / sum(sent))
    if missed > MOST_MISSED:
        raise RuntimeError(
            f"{frames.name}: PvaPy's consumers have missed {missed:.1%} of the frames, so the figures say "
            "nothing; is something else using this machine?"
        )
    total = sum(sent[: len(stages[0])])
    if total / took < LEAST_RATE * frames.rate:
        raise RuntimeError(
            f"{frames.name}: {total / took:.0f} frames per second were sent, not {frames.rate:g}, so the "
            "figures say nothing; is something else using this machine?"
        )
    return {name: each / total * 1e6 for name, each in spent.items()}, missed
