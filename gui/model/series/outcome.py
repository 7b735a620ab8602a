"""How a series ended, in one word with a sign and in a sentence; and who armed it."""

from __future__ import annotations

import os
import re
import socket
from dataclasses import dataclass
from enum import Enum

from penstock.gui.model.tango.answers import LastSeries, lost_in_words
from penstock.gui.words import duration, when

THIS_PANEL = "this panel"
_CLIENT = re.compile(r"PID (\d+) on (\S+)$")


def is_this_process(armed_by: str) -> bool:
    """Return whether the attribute ArmedBy names this process: "Python or C++ client, PID 4321 on daq-1"."""
    found = _CLIENT.search(armed_by)
    if found is None or int(found[1]) != os.getpid():
        return False
    return found[2].partition(".")[0] == socket.gethostname().partition(".")[0]  # with or without its domain


def who(armed_by: str) -> str:
    """Return the client in words, "this panel" for this process; "" if unknown."""
    return THIS_PANEL if is_this_process(armed_by) else armed_by


class Outcome(Enum):
    """Sign and word; the sign is for readers who cannot tell the colours apart."""

    COMPLETE = ("✓", "Complete")
    ENDED = ("✓", "Ended")
    """For looking only, and stopped: there was no end to reach."""
    INCOMPLETE = ("▲", "Incomplete")
    NOT_TAKEN = ("✕", "Not taken")

    @property
    def sign(self) -> str:
        """One character."""
        return self.value[0]

    @property
    def word(self) -> str:
        """One or two words."""
        return self.value[1]

    @property
    def good(self) -> bool:
        """True if nothing is missing."""
        return self in (Outcome.COMPLETE, Outcome.ENDED)


@dataclass(frozen=True, kw_only=True)
class Ending:
    """The last series as a panel shows it."""

    outcome: Outcome
    sentence: str
    file: str
    """As the receiver sees it; "" if there is none."""
    time: str
    """When, and how long it took."""
    lost: str
    """Lost frames, in words; "" if none are."""
    armed_by: str


def outcome(last: LastSeries) -> Outcome:
    """Return the outcome of a device's last series."""
    if last.complete:
        return Outcome.COMPLETE if last.file else Outcome.ENDED
    if not last.file and not last.counts.received:
        return Outcome.NOT_TAKEN
    return Outcome.INCOMPLETE


def ending(last: LastSeries, now: float) -> Ending:
    """Return the texts to show.

    Args:
        last: the last series.
        now: seconds since 1970.
    """
    return Ending(
        outcome=outcome(last), sentence=last.verdict, file=last.file,
        time=span(last.started, last.ended, now), lost=lost_in_words(last.lost, most=12),
        armed_by=who(last.armed_by),
    )  # fmt: skip


def span(started: float, ended: float, now: float) -> str:
    """When it was, and how long it took: "yesterday 14:02:11, took 20 s"."""
    if not started:
        return when(ended, now) if ended else ""
    took = f", took {duration(ended - started)}" if ended > started else ""
    return f"{when(started, now)}{took}"
