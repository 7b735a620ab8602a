"""How many frames a series must have had, by all that is known of it at its end.

A pure function: facts go in, a number and its certainty come out. Whoever calls a series complete, or a frame
lost, asks here (`series.running_series`, `merge.ending`).

What tells how many frames were sent; the row with the most lost ones counts:

| known                                                    | frames that were sent             | certainty |
|----------------------------------------------------------|-----------------------------------|-----------|
| `sent` in the end message                                | so many                           | exactly   |
| numbers of the start and the end message                 | the numbers between them          | exactly   |
| no number in the start message, one in the end message   | those from the first frame's on   | at least  |
| no number in the end message, or no end message          | those up to the highest           | at least  |
| none of these, or fewer different numbers than frames    | those that have arrived           | unknown   |

What tells how many there were to send, in this order:

| known                                | frames that were triggered                                         |
|--------------------------------------|--------------------------------------------------------------------|
| `triggered` in the end message       | so many, and at least those sent                                   |
| `lost` in the end message            | those sent, and those that it counts                               |
| how many were sent, or an early end  | those up to the last one sent: its end message follows it          |
| none of these                        | all that were planned, or else those up to the last one sent       |

After a kill of the receiver its file knows how many frames have arrived, and not the numbers of their
messages; so `sent` alone counts then, and the numbers only without it.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from penstock.stins.messages import SeriesEnd

FALLS_BACK = 2**15
"""A `msg_number` that is lower than the highest by so much is not late: its counter has wrapped."""
WRAPS = (2**16, 2**32)
"""Counters of so many numbers are known to wrap."""


class Certainty(Enum):
    """How well it is known how many frames were sent."""

    EXACTLY = "exactly"
    AT_LEAST = "at least"
    UNKNOWN = "unknown"


class Facts(NamedTuple):
    """What is known of a series, or of one module's part of it, at its end."""

    arrived: int
    """Number of different frames that have arrived, whatever their status; also those out of range."""
    planned: int | None = None
    """Announced number of frames."""
    highest: int = -1
    """Highest index."""
    absent: int = 0
    """Number of indices below the highest of which no frame has arrived."""
    absent_since: int = 0
    """Number of such indices above that of the first frame that was counted by its number."""
    start: int | None = None
    """`msg_number` of the start message."""
    first: int | None = None
    """`msg_number` of the first frame received, since the last kill if the series was resumed."""
    last: int = -1
    """Highest `msg_number` received."""
    numbers: int = 0
    """Count of different numbers of frames received, since the last kill if the series was resumed."""
    resumed: bool = False
    """True if the receiver was killed in the series."""
    frames_before: int = 0
    """Number of different frames received before the last kill, according to the file."""
    messages_before: int = 0
    """The same with duplicates."""
    end: SeriesEnd | None = None
    """The end message; `None` if it has not arrived."""
    as_sent: bool = True
    """True if the series ends because of its end message."""
    early: bool = False
    """True if its sender is known to end it early."""


class Expected(NamedTuple):
    """How many frames a series must have had."""

    frames: int
    """Number of frames, those that were not triggered included."""
    certainty: Certainty
    """Certainty of the number of frames that were sent."""
    lost: int | None
    """Number of messages that never arrived; `None` if it is unknown."""
    tail: int
    """Number of them behind the highest index."""
    triggered: int | None
    """Number of frames that were triggered; `None`: all of them, as far as is known."""


class _Evidence(NamedTuple):
    lost: int
    tail: int
    certainty: Certainty


def expected_frames(facts: Facts) -> Expected:
    """Return how many frames a series must have had; see the tables above."""
    found = [evidence for row in _ROWS if (evidence := row(facts)) is not None]
    if facts.resumed:
        found = found[:1]
    lost = max((each.lost for each in found), default=None)
    tail = max((each.tail for each in found), default=0)
    is_exact = any(each.certainty is Certainty.EXACTLY for each in found)
    certainty = Certainty.EXACTLY if is_exact else Certainty.AT_LEAST if found else Certainty.UNKNOWN
    upto = facts.highest + 1 + tail
    triggered = triggered_frames(facts.end, facts.arrived + (lost or 0))
    if triggered is not None:
        triggered = max(triggered, upto) if tail else triggered
    elif facts.as_sent and (facts.early or (is_exact and (not lost or _says_sent(facts)))):
        triggered = upto
    frames = facts.planned if facts.planned is not None else max(upto, triggered or 0)
    return Expected(frames, certainty, lost, tail, triggered)


def triggered_frames(end: SeriesEnd | None, sent: int) -> int | None:
    """Return how many frames were triggered as an end message says; `None` if it does not.

    Args:
        end: the end message; `None` without one.
        sent: number of frames that were sent, if it does not say that either.
    """
    if end is None or end.triggered is not None:
        return None if end is None else end.triggered
    not_sent = sum(max(0, count) for count in (end.lost or {}).values())
    if not not_sent:
        return None
    return (sent if end.sent is None else end.sent) + not_sent


def _says_sent(facts: Facts) -> bool:
    return facts.end is not None and facts.end.sent is not None


def _by_sent(facts: Facts) -> _Evidence | None:
    if facts.end is None or facts.end.sent is None:
        return None
    lost = max(0, facts.end.sent - facts.arrived)
    return _Evidence(lost, max(0, lost - facts.absent), Certainty.EXACTLY)


def _by_numbers(facts: Facts) -> _Evidence | None:
    # Fewer numbers than frames: some streamers repeat theirs, or have none.
    if facts.numbers < facts.arrived - facts.frames_before:
        return None
    start, first = facts.start, facts.first
    # Some number their frames as they do their images, so that the start message's number is none of them.
    is_none_of_them = start is not None and first is not None and 0 <= start - first < FALLS_BACK
    from_first = start is None or is_none_of_them
    if from_first:
        if first is None:
            return None
        start = first - 1
    assert start is not None
    stop = None if facts.end is None else facts.end.msg_number
    before = 0 if from_first else facts.messages_before
    if stop is None:
        # What came before the last kill has no numbers.
        if facts.resumed and not from_first:
            return None
        lost = facts.last - start - facts.numbers
    else:
        lost = _between(start, stop, facts.last) - before - facts.numbers
        if lost < 0:  # they do not count messages
            return None
    absent = facts.absent_since if from_first else facts.absent
    is_exact = stop is not None and not from_first
    certainty = Certainty.EXACTLY if is_exact else Certainty.AT_LEAST
    return _Evidence(max(0, lost), max(0, lost - absent), certainty)


def _between(start: int, stop: int, last: int) -> int:
    """Return the count of numbers between two messages; the counter may have wrapped once."""
    count = stop - start - 1
    if max(start, last) - stop >= FALLS_BACK:
        count += next((size for size in WRAPS if max(start, last) < size), 0)
    return count


_ROWS: tuple[Callable[[Facts], _Evidence | None], ...] = (_by_sent, _by_numbers)
"""Both rows, the one that is decisive after a kill first."""
