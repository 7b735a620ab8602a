"""Beside PvaPy 5.6, in an environment that `make judges` makes.

PvaPy's programs are unmodified: its simulated area detector, and consumers whose class passes every frame on.
On both sides: frames of the same size, type and rate, made before the first one is sent, live only; neither
reads a pixel. What counts is spent within a series, not by its begin and end, by all threads that a process
has had: PvaPy's source starts one for each frame.

What consumers have missed is by their own word: each tells how many frames it has taken, and the `uniqueId`
of the last one. A consumer asks for a queue in which it misses none: in the one that it has by itself it
misses a quarter of 1,500 frames per second, and says so only in its statistics.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from penstock.hosts.child import Child
from penstock_bench.cases import Chain
from penstock_bench.consumers import NOTHING, pipeline_of
from penstock_bench.epics import alone, start_bridge
from penstock_bench.receivers import (
    DEADLINE,
    Pipeline,
    Receiver,
    line_with,
    per_frame,
    poll,
    process_seconds,
    says,
    since,
)
from penstock_bench.results import Frames, Turn, Turns
from penstock_bench.runner import Bench, packages_with, program_of_others

MOST_MISSED, LEAST_RATE = 0.01, 0.8
"""Share of frames that PvaPy's consumers have missed, and of the rate that a sender has kept, beyond which
figures say nothing."""
DIFFERENT = 16
"""Frames that PvaPy's source makes, and sends in turn."""
AROUND = 1.0
"""Seconds of a series before and after what counts."""
QUEUE, TOLD = 64, 10.0
"""Frames that may wait for PvaPy's consumer; times per second that it tells what it has taken."""
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
        say("PassOn started")

    def getOutputPvObjectType(self, pvObject):
        say("PassOn connected")
        return pvObject

    def process(self, pvObject):
        self.count += 1
        if self.count % self.every == 0:
            say('{"count": %d, "id": %d}' % (self.count, pvObject["uniqueId"]))
        self.updateOutputChannel(pvObject)
        return pvObject
"""


def pvapy(bench: Bench, frames: Frames) -> Turns:
    """Let PvaPy's source and one consumer, and generator, receiver and a pipeline of one worker, take the
    same frames."""
    program_of_others("pvapy-hpc-consumer")
    with ExitStack() as processes:
        receiver, pipeline = pipeline_of(bench.folder, frames, NOTHING, 1, processes)
        theirs = partial(_pvapy, bench.folder, Chain(frames, 1, 1), QUEUE, round(AROUND * frames.rate), 10)
        return bench.in_turn({"PvaPy": theirs, "penstock": partial(_penstock, receiver, pipeline, frames)})


def streaming(bench: Bench, chain: Chain) -> Turns:
    """Let PvaPy's consumers take frames of PvaPy's source, and of generator, receiver and bridge. Several
    share the frames out by PvaPy's distributor; with a second stage, as many again take what the first put
    out."""
    packages = bench.folder / "packages"  # the bridge finds PvaPy, and nothing else of its environment
    packages.mkdir(exist_ok=True)
    if not (packages / "pvaccess").exists():
        (packages / "pvaccess").symlink_to(packages_with("pvaccess") / "pvaccess")
    mark, every = chain.frames.mark, max(1, round(chain.frames.rate / TOLD))
    with ExitStack() as processes:
        theirs = partial(_pvapy, bench.folder, chain, mark, mark, every)
        ours = _behind_a_bridge(bench.folder, packages, chain, every, processes)
        return bench.in_turn({"PvaPy": theirs, "penstock": ours})


def _pvapy(folder: Path, chain: Chain, queue: int, lead: int, every: int) -> Turn:
    environment, channel = alone(), "bench:image"
    with ExitStack() as processes:
        server = source(channel, chain.frames, environment, processes)
        stages = consumers(folder, chain, channel, queue, every, environment, processes)
        return within(stages, lambda: {"source": process_seconds(server)}, chain.frames, lead)


def _penstock(receiver: Receiver, pipeline: Pipeline, frames: Frames) -> Turn:
    sent = frames.of(frames.count + round(2 * AROUND * frames.rate))

    def seconds() -> Turn:
        generator = {"generator": process_seconds(taking.sender)}
        return generator | receiver.processes_seconds() | pipeline.seconds()

    with receiver.taking(sent) as taking:
        time.sleep(AROUND)  # it is asked nothing meanwhile, which would cost time
        spent, began = since(seconds), time.monotonic()
        time.sleep(frames.count / frames.rate)
        took, passed = spent(), time.monotonic() - began
    pipeline.over(sent.count)
    return _all(took, passed, passed * taking.rate, frames)


def _behind_a_bridge(
    folder: Path, packages: Path, chain: Chain, every: int, processes: ExitStack
) -> Callable[[], Turn]:
    """Start a receiver, a bridge and its consumers; return a function that takes a series."""
    frames, environment = chain.frames, alone()
    receiver = Receiver(folder, frames, processes, forward={"queue_mb": 256})
    around = environment | {"PYTHONPATH": str(packages)}
    bridge = start_bridge(folder, receiver, processes, around, {"server": "pvapy"})["pid"]
    stages = consumers(folder, chain, "BENCH:IMAGE", frames.mark, every, environment, processes)
    sent = frames.of(frames.count + frames.mark * chain.consumers + round(AROUND * frames.rate))

    def take() -> Turn:
        with receiver.taking(sent) as taking:

            def seconds() -> Turn:
                ours = sum(receiver.processes_seconds().values())
                spent = {"generator": process_seconds(taking.sender), "receiver": ours}
                return spent | {"bridge": process_seconds(bridge)}

            return within(stages, seconds, frames, frames.mark)

    return take


def source(channel: str, frames: Frames, environment: dict[str, str], processes: ExitStack) -> int:
    """Start PvaPy's source, which makes its frames before it sends the first one; return its process id."""
    rows, columns = frames.shape
    argv = (
        program_of_others("pvapy-ad-sim-server"), "-cn", channel, "-nx", str(columns), "-ny", str(rows),
        "-dt", frames.dtype, "-nf", str(DIFFERENT), "-fps", f"{frames.rate:g}",
        "-rt", f"{frames.count / frames.rate + 2 * DEADLINE:g}", "-std", "1", "-dc", "-rp", "100000",
    )  # fmt: skip
    child = Child("PvaPy's source", argv, says(""), deadline=DEADLINE, environment=environment)
    return processes.enter_context(child).pid


class Consumer:
    """One of PvaPy's consumers, whose class passes every frame on.

    Args:
        folder: for the class.
        channel: whose frames it takes.
        queue: frames that may wait for it.
        every: number of frames after which it tells.
        environment: from `alone`.
        processes: in which it is started, and ended with.
        share: how many consumers PvaPy's distributor shares the frames out among.
        output: channel that it serves them on; "": none.
    """

    def __init__(
        self, folder: Path, channel: str, queue: int, every: int, environment: dict[str, str],
        processes: ExitStack, *, share: int = 1, output: str = "",
    ) -> None:  # fmt: skip
        file = folder / "pass_on.py"
        file.write_text(PASS_ON)
        argv = [
            program_of_others("pvapy-hpc-consumer"), "-ic", channel, "-pf", str(file), "-pc", "PassOn",
            "-pa", json.dumps({"every": every}), "-dc", "-sqs", str(queue),
            *(("-du", "1", "-oo", str(share)) if share > 1 else ()), *(("-oc", output) if output else ()),
        ]  # fmt: skip
        self.taken = (0, 0)
        """Frames, and the number of the last one, as it has told."""
        self._read = line_with("count")
        # Before the first frame it prints nothing by itself.
        ready = says("PassOn connected" if output else "PassOn started")
        child = Child(
            "PvaPy's consumer", argv, ready, deadline=DEADLINE, environment=environment, relay=self._line
        )
        self.pid = processes.enter_context(child).pid

    def wait(self, count: int, due: float) -> None:
        """Wait until it has taken so many.

        Raises:
            RuntimeError: it has not in time.
        """
        complaint = f"PvaPy's consumer has not taken {count} frames"
        poll(lambda: self.taken, lambda taken: taken[0] >= count, complaint, due - time.monotonic(), 0.005)

    def _line(self, line: str) -> None:
        if (told := self._read(line)) is not None:
            self.taken = told["count"], told["id"]


def consumers(
    folder: Path, chain: Chain, channel: str, queue: int, every: int, environment: dict[str, str],
    processes: ExitStack,
) -> list[list[Consumer]]:  # fmt: skip
    """Start the consumers of a chain, by stage."""
    channels, found = [channel] * chain.consumers, []
    for stage in range(1, chain.stages + 1):
        outputs = [f"bench:{stage}:{number}" for number in range(chain.consumers)]
        found.append([
            Consumer(
                folder, taken, queue, every, environment, processes,
                share=chain.consumers if stage == 1 else 1, output=output if stage < chain.stages else "",
            )
            for taken, output in zip(channels, outputs, strict=True)
        ])  # fmt: skip
        channels = outputs
    return found


def within(
    stages: Sequence[Sequence[Consumer]], others: Callable[[], Turn], frames: Frames, lead: int
) -> Turn:
    """Return what each process takes within a series, not by its begin, and the share of frames missed.

    Args:
        stages: consumers that share the frames of a source out, and those that take what these put out.
        others: returns the processor time so far of the other processes.
        frames: how many count, and their rate.
        lead: frames that each consumer takes before: its queue is used then, and its memory there.

    Raises:
        RuntimeError: consumers have missed too many, or the source was too slow, so that figures say nothing.
    """

    def seconds() -> Turn:
        return others() | {
            f"consumers {number}": sum(process_seconds(each.pid) for each in stage)
            for number, stage in enumerate(stages, 1)
        }

    due = time.monotonic() + DEADLINE + frames.count / frames.rate
    all_of_them, sharing = [each for stage in stages for each in stage], len(stages[0])
    for each, first in [(each, each.taken[0] + lead) for each in all_of_them]:
        each.wait(first, due)
    began, earlier, spent = time.monotonic(), [each.taken for each in all_of_them], since(seconds)
    for each, (count, _) in zip(all_of_them, earlier, strict=True):
        each.wait(count + frames.count // sharing, due)
    took, told, passed = spent(), [each.taken for each in all_of_them], time.monotonic() - began
    pairs = list(zip(earlier, told, strict=True))
    taken = sum(count - before for (before, _), (count, _) in pairs)
    sent = [(last - first) / sharing for (_, first), (_, last) in pairs]
    missed = max(0.0, 1 - taken / sum(sent))
    if missed > MOST_MISSED:
        raise RuntimeError(
            f"PvaPy's consumers have missed {missed:.1%} of the frames, so figures say nothing"
        )
    return _all(took, passed, sum(sent[:sharing]), frames) | {"missed, %": 100 * missed}


def _all(spent: Turn, seconds: float, count: float, frames: Frames) -> Turn:
    if count / seconds < LEAST_RATE * frames.rate:
        raise RuntimeError(f"{count / seconds:.0f} frames per second were sent, not {frames.rate:g}")
    each = per_frame(spent, count)
    return {"all, µs": sum(each.values())} | each
