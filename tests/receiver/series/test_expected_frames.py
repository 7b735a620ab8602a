"""Never complete while frames were lost: every combination of what the messages of a series may say.

A sender sends ten frames. What of it can be known is counted here by hand, from what was left out on the way.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations, islice, product
from typing import NamedTuple

import pytest

from penstock.receiver.connection.expected_frames import Certainty, Facts, expected_frames
from penstock.receiver.models import FrameStatus
from penstock.receiver.series.account import Account
from penstock.receiver.series.kills import Interruption
from penstock.receiver.series.running_series import ResumedSeries
from tests.receiver.sample_series import Bench, end, frame, start

SENT = 10
NOT_SENT = 2
"""Frames that were triggered and lost before they were sent, if the end message tells of them."""
FIRST = 7
"""Number of the start message, if it has one."""
ON_THE_WAY = ((), (0, 1), (4,), (7, 8, 9), (0, 9), (4, 5, 6, 7, 8, 9))
"""Indices of frames that are sent and never arrive."""
COUNTS = ("sent", "triggered", "lost")
NUMBERED = ("all", "all, two sockets", "not the start", "not the end", "none")


class Case(NamedTuple):
    """What the messages of a series say, and what happens to them."""

    numbered: str
    """Which messages have a msg_number."""
    counts: tuple[str, ...]
    """Keys of the end message."""
    named: bool
    indexed: bool
    """Whether the frames have `frame`."""
    planned: int | None
    killed_after: int | None
    """Number of sent frames after which the receiver is killed; `None`: it is not."""
    lost: tuple[int, ...]

    @property
    def came(self) -> list[int]:
        return [index for index in range(SENT) if index not in self.lost]

    @property
    def after(self) -> list[int]:
        """Frames that come after the kill, or all."""
        return [index for index in self.came if index >= (self.killed_after or 0)]

    @property
    def has_strays(self) -> bool:
        """Whether frames come that have no place: neither index nor the number of the start message, and the
        one who knew the first of them was killed."""
        is_placed = self.indexed or self.numbered.startswith("all") or self.numbered == "not the end"
        return self.killed_after is not None and not is_placed and bool(self.after)

    @property
    def is_proven(self) -> bool:
        """Whether anything says that frames were lost, or left out."""
        if self.planned == SENT + NOT_SENT:
            return True
        if ("lost" in self.counts or "triggered" in self.counts) and self.planned is None:
            return True  # twelve were triggered; of ten that were planned, no more can be missing
        if self.has_strays:
            return True
        if "sent" in self.counts or self.planned is not None or self.numbered.startswith("all"):
            return bool(self.lost)
        below = any(index < max(self.came) for index in self.lost)  # the highest that has come
        behind = any(index > self.after[0] for index in self.lost) if self.after else False
        if self.numbered == "not the end":
            return below  # the numbers are places, too
        if self.numbered == "not the start":
            return (self.indexed and below) or behind
        return self.indexed and below

    @property
    def is_unknown(self) -> bool:
        """Whether nothing came after a kill, and nobody says how many were sent."""
        says = "sent" in self.counts or self.planned is not None or self.numbered.startswith("all")
        return self.killed_after is not None and not self.after and not says


def cases(numbered: str) -> Iterator[Case]:
    ends = chain.from_iterable(combinations(COUNTS, size) for size in range(4))
    for counts, (named, killed), indexed, planned, lost in product(
        ends,
        ((True, None), (False, None), (True, 4), (True, SENT)),
        (True, False),
        (None, SENT, SENT + NOT_SENT),
        ON_THE_WAY,
    ):
        yield Case(numbered, counts, named, indexed, planned, killed, lost)


def played(case: Case) -> Bench:
    """The series through a collector, from its start to its end message."""
    bench = Bench(source={"sockets": 2} if "sockets" in case.numbered else {}, gap={"seconds": 2.0})
    series = "a" if case.named else None
    has = case.numbered != "none"
    opening = start(FIRST if has and case.numbered != "not the start" else None, series, frames=case.planned)
    if case.killed_after is None:
        bench.say(opening)
    else:
        account = Account(case.planned)
        for index in case.came:
            if index < case.killed_after:
                account.take(index, FrameStatus.STORED)
        kill = Interruption(account.gap_start, account.highest)
        bench.collector.resume(opening, ResumedSeries(account, (kill,), "/x.h5", 0.0), bench.now)
        if bench.buffer is not None:
            bench.buffer.resume(FIRST)
    for index in case.after:
        bench.say(frame(index if case.indexed else None, FIRST + 1 + index if has else None, series))
    counts = {"sent": SENT, "triggered": SENT + NOT_SENT, "lost": {"overrun": NOT_SENT}}
    number = FIRST + 1 + SENT if has and case.numbered != "not the end" else None
    bench.say(end(number, series, **{key: counts[key] for key in case.counts}))
    if bench.buffer is not None:
        bench.wait(10.0, steps=5)  # for what never comes
    return bench


@pytest.mark.parametrize("numbered", NUMBERED)
@pytest.mark.parametrize(
    "every", [pytest.param(1, marks=pytest.mark.slow), 7], ids=["every case", "some cases"]
)
def test_a_series_is_complete_exactly_if_nothing_says_that_frames_were_lost(
    numbered: str, every: int
) -> None:
    seen = 0
    for case in islice(cases(numbered), 0, None, every):
        bench = played(case)
        assert not bench.running and len(bench.sink.ended) == 1, case
        (series, outcome), counts = bench.sink.ended[0], bench.sink.counts
        assert outcome.complete == (not case.is_proven and not case.is_unknown), (case, outcome.reason)
        assert counts.pending == 0, case
        if not outcome.complete:
            told = ("missing", "not triggered", "lost", "how many more", "out of range", "planned frames")
            assert any(word in outcome.reason for word in told), (case, outcome.reason)
        if case.has_strays:
            continue
        assert counts.stored == len(case.came), case
        if "sent" in case.counts:
            before = NOT_SENT if len(case.counts) > 1 and case.planned != SENT else 0
            assert counts.missing == len(case.lost) + before, (case, counts)
            assert counts.lost_messages == len(case.lost), (case, counts)
        if numbered == "not the start" and case[1:5] == ((), case.named, True, None) and case.after:
            assert counts.missing == len(case.lost), (case, counts)
        is_derived = numbered == "not the start" and not case.indexed and case.killed_after is None
        if is_derived:
            assert series.index_source == "arrival, uncertain", case
        elif case.indexed:
            assert series.index_source == "unknown", case
        seen += 1
    assert seen > 500 // every


# -- the table, row by row -------------------------------------------------------------------------


def test_what_is_known_exactly_at_least_and_not_at_all() -> None:
    ended = end(18, None)
    numbers = {"start": 7, "first": 8, "last": 14, "numbers": 7, "highest": 6}
    found = expected_frames(Facts(7, end=ended, **numbers))
    assert found == (10, Certainty.EXACTLY, 3, 3, None)
    found = expected_frames(Facts(7, end=ended, **{**numbers, "start": None}))
    assert found == (10, Certainty.AT_LEAST, 3, 3, None)
    found = expected_frames(Facts(7, end=end(None, None), **numbers))
    assert found == (7, Certainty.AT_LEAST, 0, 0, None)
    found = expected_frames(Facts(7, end=end(None, None), highest=6))
    assert found == (7, Certainty.UNKNOWN, None, 0, None)


def test_frames_before_the_first_that_was_numbered_do_not_make_up_for_those_behind_the_last() -> None:
    # Of ten frames the first and the last never arrive, and the start message has no number.
    facts = Facts(8, highest=8, absent=1, absent_since=0, first=9, last=16, numbers=8, end=end(18))
    assert expected_frames(facts) == (10, Certainty.AT_LEAST, 1, 1, None)


def test_after_a_kill_the_numbers_count_only_if_nobody_says_how_many_were_sent() -> None:
    # The file does not tell how often a frame was sent.
    facts = Facts(10, highest=9, start=7, resumed=True, frames_before=10, messages_before=10)
    assert expected_frames(facts._replace(end=end(20, sent=10))).lost == 0
    assert expected_frames(facts._replace(end=end(20))).lost == 2
    assert expected_frames(facts._replace(end=end(20), messages_before=12)).lost == 0


@pytest.mark.parametrize(("start", "size"), [(65530, 2**16), (2**32 - 6, 2**32)])
def test_a_counter_that_wraps_in_a_series_with_a_name_still_counts(start: int, size: int) -> None:
    facts = Facts(7, highest=6, start=start, first=start + 1, last=size - 1, numbers=7)
    assert expected_frames(facts._replace(end=end((start + 8) % size))).lost == 0
    assert expected_frames(facts._replace(end=end((start + 11) % size))).lost == 3


@pytest.mark.parametrize(
    ("counts", "triggered"),
    [
        ({"sent": 5, "lost": {"overrun": 2, "disk": 1}}, 8),
        ({"lost": {"overrun": 3}}, 8),
        ({"sent": 5, "lost": {"overrun": 3}, "triggered": 6}, 6),
        ({"sent": 5, "lost": {"overrun": -3}}, 5),
        ({"sent": 7, "triggered": 5}, 7),
    ],
)
def test_frames_that_were_triggered_and_not_sent(counts: dict, triggered: int) -> None:
    assert expected_frames(Facts(5, highest=4, end=end(**counts))).triggered == triggered
