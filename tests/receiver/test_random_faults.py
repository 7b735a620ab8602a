"""Random series under random faults: the account equals the fault log of the generator that made them.

The generator writes down, for each message, what it did to it. The collector never sees that log; the
two must agree in every count and in the status of every frame, the statuses must sum to what was planned,
and every series must have an end. Through real sockets and processes: test_generated_faults.py.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import pytest

from penstock.receiver.models import Counts, FrameStatus
from penstock.stins.messages import Frame
from tests.receiver.sample_series import Bench, corrupt, end, frame, start

Item = TypeVar("Item")
GAP, GONE = 2.0, 3.0
CASES = 2000
"""Seeds; each is three series."""
BLOCKS = 20
QUICK = 8
"""Blocks of `make test`."""
FATES = (
    "sound", "overrun", "lost", "corrupt", "corrupt, then sound", "sent twice", "doubled on the way",
    "discarded", "far away",
)  # fmt: skip
WEIGHTS = (14, 1, 2, 1, 1, 1, 1, 1, 1)


@dataclass
class FaultLog:
    """What the generator did to one series."""

    planned: int
    status: dict[int, FrameStatus] = field(default_factory=dict)
    given_up: set[int] = field(default_factory=set)
    received: int = 0
    duplicate: int = 0
    late: int = 0
    out_of_range: int = 0
    stale: int = 0
    lost_on_the_way: int = 0
    lost_messages: int = 0
    triggered: int | None = None

    def arrived(self, index: int, status: FrameStatus) -> None:
        """A frame was handed to the collector."""
        if index >= self.planned:
            self.out_of_range += 1
            return
        self.received += 1
        if self.status.get(index, FrameStatus.CORRUPT) is not FrameStatus.CORRUPT:
            self.duplicate += 1
            return
        if index in self.given_up:
            self.given_up.remove(index)
            self.late += 1
        self.status[index] = status

    def paused(self) -> None:
        """The gap clock had all the time it wants."""
        self.given_up |= {index for index in range(self.highest) if index not in self.status}

    @property
    def highest(self) -> int:
        """Highest index that has arrived."""
        return max(self.status, default=-1)

    def statuses(self) -> list[FrameStatus]:
        """What became of each planned frame."""
        triggered = self.planned if self.triggered is None else self.triggered
        never = [FrameStatus.MISSING] * triggered + [FrameStatus.NOT_TRIGGERED] * (self.planned - triggered)
        return [self.status.get(index, never[index]) for index in range(self.planned)]

    def counts(self) -> Counts:
        """What every count has to be in the end."""
        of = self.statuses().count
        return Counts(
            planned=self.planned, received=self.received, stored=of(FrameStatus.STORED),
            discarded=of(FrameStatus.DISCARDED), corrupt=of(FrameStatus.CORRUPT),
            missing=of(FrameStatus.MISSING), not_triggered=of(FrameStatus.NOT_TRIGGERED),
            duplicate=self.duplicate, late=self.late, out_of_range=self.out_of_range, stale=self.stale,
            lost_messages=self.lost_messages,
        )  # fmt: skip


class Generator:
    """Streams series after series into a collector, badly."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.sockets = self.chance.choice([1, 2, 4])
        self.bench = Bench(source={"sockets": self.sockets}, gap={"seconds": GAP}, peer_gone=GONE)
        self.number = 0
        self.logs: dict[str, FaultLog] = {}

    def next_number(self) -> int:
        self.number += 1
        return self.number

    def series(self, name: str, previous: str | None) -> bool:
        """One series from its header to whatever ends it; false if it is the death of its streamer: what that
        one sent has all been read before the next is connected."""
        chance, bench = self.chance, self.bench
        planned = chance.randrange(1, 40)
        triggered = planned if chance.random() < 0.7 else chance.randrange(planned + 1)
        log = self.logs[name] = FaultLog(planned)
        first = self.next_number()
        bench.say(start(first, name, frames=planned, trigger_mode="SOFTWARE"))
        bench.wait(GAP + 0.1)  # for the one before it, where that still waits for its end
        messages = self.frames(name, planned, triggered, log)
        died = chance.random() < 0.15
        if died:
            messages = messages[: chance.randrange(len(messages) + 1)]
        last = self.next_number()
        for message, index, status in messages:
            if chance.random() < 0.03 and previous is not None:
                bench.say(frame(0, self.number, previous))
                log.stale += 1
            if chance.random() < 0.05 and len(log.status) < planned:
                bench.wait(3 * GAP)
                log.paused()
            bench.say(message)
            log.arrived(index, status)
        came = {message.image.msg_number or 0 for message, _, _ in messages}
        # Without the end message, nobody knows what was sent after the last one that has arrived.
        log.lost_messages = max(came, default=first) - first - len(came)
        if died:
            bench.lose()
            bench.wait(2 * GONE)
            bench.reconnect()
        elif chance.random() < 0.15:
            self.lose_end()
        else:
            log.lost_messages = last - first - 1 - len(came)
            self.end(name, log, last, triggered, len(came), first)
        return not died

    def frames(
        self, name: str, planned: int, triggered: int, log: FaultLog
    ) -> list[tuple[Frame, int, FrameStatus]]:
        """The frame messages that reach the receiver, in the order in which they do."""
        spread = self.chance.choice([0, 2, 8])
        made: list[list[tuple[Frame, int, FrameStatus]]] = []
        # One socket keeps the order of sending, so that only the sender can mix frames up.
        for index in self.mixed(range(triggered), spread if self.sockets == 1 else 0):
            fate = self.chance.choices(FATES, WEIGHTS)[0]
            sound = (frame(index, self.next_number(), name), index, FrameStatus.STORED)
            broken = (corrupt(index, name, self.number), index, FrameStatus.CORRUPT)
            match fate:
                case "overrun":
                    self.number -= 1  # never sent
                case "lost":
                    log.lost_on_the_way += 1
                case "corrupt":
                    made.append([broken])
                case "corrupt, then sound":
                    made.append([broken, (frame(index, self.next_number(), name), index, FrameStatus.STORED)])
                case "sent twice":
                    made.append([sound, (frame(index, self.next_number(), name), index, FrameStatus.STORED)])
                case "doubled on the way":
                    made.append([sound, sound])
                case "discarded":
                    made.append(
                        [(frame(index, self.number, name, discard=True), index, FrameStatus.DISCARDED)]
                    )
                case "far away":
                    beyond = planned + self.chance.randrange(10**6)
                    made.append(
                        [sound, (frame(beyond, self.next_number(), name), beyond, FrameStatus.STORED)]
                    )
                case _:
                    made.append([sound])
        # Copies of one frame stay together: their order is that of sending in any case.
        return [each for copies in self.mixed(made, 0 if self.sockets == 1 else spread) for each in copies]

    def mixed(self, items: Sequence[Item], spread: int) -> list[Item]:
        """Return them in another order: each may have got this many places ahead."""
        order = sorted(range(len(items)), key=lambda place: place + self.chance.random() * spread)
        return [items[place] for place in order]

    def lose_end(self) -> None:
        """No end message: a person stops the series, or the next header does."""
        if self.chance.random() < 0.5:
            self.bench.stop("stop requested")

    def end(self, name: str, log: FaultLog, last: int, triggered: int, arrived: int, first: int) -> None:
        """The end message, from a sender that says what was triggered or from one that does not."""
        says = self.chance.random() < 0.8
        if says:
            log.triggered = triggered
        elif arrived == last - first - 1:
            log.triggered = log.highest + 1  # every message is in, so nothing else was sent
        self.bench.say(end(last, name, triggered=triggered if says else None))
        self.bench.wait(2 * GAP)  # with two sockets, what was lost on the way is waited for


@pytest.mark.parametrize(
    "block",
    [block if block < QUICK else pytest.param(block, marks=pytest.mark.slow) for block in range(BLOCKS)],
)
def test_the_account_equals_the_generators_own_fault_log(block: int) -> None:
    for seed in range(block * CASES // BLOCKS, (block + 1) * CASES // BLOCKS):
        generator = Generator(seed)
        names = [f"{seed}-{number}" for number in range(3)]
        previous = None
        for name in names:
            previous = name if generator.series(name, previous) else None
        generator.bench.stop("the test is over")
        ended = generator.bench.sink.ended
        assert [series.id for series, _ in ended] == names, f"seed {seed}"
        for series, outcome in ended:
            counts, log = series.account.counts(), generator.logs[series.id]
            assert counts == log.counts(), f"seed {seed}, series {series.id}, {outcome.reason}"
            assert series.account.statuses(log.planned).tolist() == log.statuses(), f"seed {seed}"
            passed = [index for name, index, _ in generator.bench.sink.frames if name == series.id]
            assert len(passed) == len(set(passed)) == counts.stored + counts.discarded, f"seed {seed}"
            settled = counts.stored + counts.delivered + counts.discarded + counts.corrupt
            assert settled + counts.missing + counts.not_triggered == counts.planned == log.planned
            good = counts.stored + counts.discarded == counts.planned
            assert outcome.complete == (good and not log.out_of_range and not log.lost_messages)
