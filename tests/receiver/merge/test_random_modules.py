"""Random module streams under random faults: account and module statuses equal the log of who made them.

Each module's messages keep their order, as in one connection; between modules anything may happen: one runs
ahead, stops for longer than the gap clock allows, dies, or loses its end. Three series follow each other.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field

import numpy as np
import pytest

from penstock.receiver.models import FrameStatus
from penstock.receiver.series.module_status import frame_status
from penstock.stins.messages import Message
from tests.receiver.merge.streams import GAP, GONE, HEADERS, ModuleBench, corrupt, end, frame, start

CASES = 400
FATES = ("sound", "lost", "corrupt", "corrupt, then sound", "twice", "far away")
WEIGHTS = (16, 2, 1, 1, 2, 1)
STORED, MISSING, CORRUPT = FrameStatus.STORED, FrameStatus.MISSING, FrameStatus.CORRUPT


@dataclass
class Log:
    """What was done to one series."""

    planned: int
    status: np.ndarray
    duplicate: int = 0
    out_of_range: set[int] = field(default_factory=set)


class Detector:
    """Streams series after series of several modules, badly."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.modules = self.chance.choice([2, 3, 4])
        self.named = self.chance.random() < 0.7
        self.bench = ModuleBench(self.modules, hold_mb=self.chance.choice([256, 0.02]))
        self.logs: list[Log] = []

    def series(self, number: int) -> None:
        """One series from its start messages to whatever ends it."""
        chance, bench = self.chance, self.bench
        planned = chance.randrange(1, 30)
        log = Log(planned, np.full((planned, self.modules), MISSING, np.uint8))
        self.logs.append(log)
        name = f"s{number}" if self.named else None
        for module in chance.sample(range(self.modules), self.modules):
            bench.say(module, start(name, frames=planned, number=0, trigger_mode="SOFTWARE"))
        dies = {module for module in range(self.modules) if chance.random() < 0.08}
        loses_end = {module for module in range(self.modules) if chance.random() < 0.1}
        streams = [self.stream(name, module, log, module in dies) for module in range(self.modules)]
        waiting = list(range(self.modules))
        ahead = chance.choice([1, 3, 30])
        while waiting:
            module = chance.choice(waiting)
            for _ in range(chance.randrange(1, ahead + 1)):
                if streams[module]:
                    bench.say(module, streams[module].popleft())
            if not streams[module]:
                waiting.remove(module)
                if module not in dies | loses_end:
                    bench.say(module, end(name, triggered=planned))
                elif module in dies:
                    bench.connected[module] = False
            elif chance.random() < 0.03 and bench.running:
                bench.wait(chance.choice([0.5, 1.5]) * GAP)
        bench.wait(2 * GONE + HEADERS)
        bench.connected = [True] * self.modules

    def stream(self, name: str | None, module: int, log: Log, dies: bool) -> deque[Message]:
        """The frame messages of one module that reach the receiver, in their order."""
        made: list[Message] = []
        triggered = self.chance.randrange(log.planned) if dies else log.planned
        window = self.chance.choice([0, 0, 3])
        for number in sorted(range(triggered), key=lambda place: place + self.chance.random() * window):
            sound, broken = frame(number, module, name), corrupt(number, name)
            fate = self.chance.choices(FATES, WEIGHTS)[0]
            log.status[number, module] = {"lost": MISSING, "corrupt": CORRUPT}.get(fate, STORED)
            match fate:
                case "lost":
                    continue
                case "corrupt":
                    made.append(broken)
                case "corrupt, then sound":
                    made += [broken, sound]
                case "twice":
                    made += [sound, sound]
                    log.duplicate += 1
                case "far away":
                    beyond = log.planned + 10**6 + number
                    made += [sound, frame(beyond, module, name)]
                    log.out_of_range.add(beyond)
                case _:
                    made.append(sound)
        return deque(made)


@pytest.mark.parametrize(
    "block", [*range(5), *(pytest.param(block, marks=pytest.mark.slow) for block in range(5, 20))]
)
def test_account_and_module_statuses_equal_the_log(block: int) -> None:
    for seed in range(block * CASES // 20, (block + 1) * CASES // 20):
        detector = Detector(seed)
        for number in range(3):
            detector.series(number)
        bench = detector.bench
        bench.collector.stop("the test is over")
        assert len(bench.sink.ended) == 3, f"seed {seed}"
        for (series, outcome), log in zip(bench.sink.ended, detector.logs, strict=True):
            counts, told = series.account.counts(), f"seed {seed}: {outcome.reason}"
            assert series.modules is not None
            np.testing.assert_array_equal(series.modules.table(log.planned), log.status, told)
            frames = [frame_status(row) for row in log.status.tolist()]
            assert [series.account.status(index) for index in range(log.planned)] == frames, told
            assert (counts.planned, counts.duplicate) == (log.planned, log.duplicate), told
            # Far-off numbers of several modules are one frame, or several if they did not meet in time.
            assert len(log.out_of_range) <= counts.out_of_range <= len(log.out_of_range) * detector.modules
            assert counts.stored + counts.partial + counts.corrupt + counts.missing == log.planned, told
            good = counts.stored == log.planned and not log.out_of_range
            assert outcome.complete == good, told
