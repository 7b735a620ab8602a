"""What happened and when: the bounded log of a panel, the logs of one display, and their text."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

from penstock.gui.words import date_and_clock

MOST = 5000
"""Entries kept; the oldest go first."""


class Kind(StrEnum):
    """What an entry is about; the filter of the log."""

    STATE = "state"
    DONE = "done"
    """What the user of this panel did."""
    CHANGED = "changed"
    """Changes made by others."""
    SERIES = "series"
    """How a series ended."""
    TROUBLE = "trouble"


@dataclass(frozen=True)
class Entry:
    """One line."""

    number: int
    """Number of the entry, from 0."""
    time: float
    """Seconds since 1970 (UTC)."""
    kind: Kind
    source: str
    """Name of the device."""
    text: str

    def line(self) -> str:
        """As text: date, time, device, kind, words."""
        return f"{date_and_clock(self.time)}  {self.source}  {self.kind:8}{self.text}"


class Log:
    """Written from any thread."""

    def __init__(self, source: str, now: Callable[[], float] = time.time) -> None:
        self._source = source
        self._now = now
        self._lock = threading.Lock()
        self._entries: deque[Entry] = deque(maxlen=MOST)
        self._next = 0

    def add(self, kind: Kind, text: str) -> None:
        """Note what happened, now."""
        with self._lock:
            self._entries.append(Entry(self._next, self._now(), kind, self._source, " ".join(text.split())))
            self._next += 1

    def since(self, number: int = 0) -> list[Entry]:
        """Entries from this number on, oldest first."""
        with self._lock:
            if self._next <= number:
                return []
            return [entry for entry in self._entries if entry.number >= number]


@dataclass(frozen=True)
class KindWords:
    """How a kind is called on the screen."""

    word: str
    tip: str
    sign: str = ""
    """For what must not be overlooked: it says the same as the colour."""


KINDS: Mapping[Kind, KindWords] = {
    Kind.STATE: KindWords("State", "States of the device"),
    Kind.DONE: KindWords("Done", "Actions in this panel"),
    Kind.CHANGED: KindWords("Changed", "Changes made by others"),
    Kind.SERIES: KindWords("Series", "How each series has ended"),
    Kind.TROUBLE: KindWords("Trouble", "What was refused or has failed", "▲"),
}
"""In the order of the switches."""


@dataclass(frozen=True)
class Filter:
    """The choice of entries that are shown."""

    words: str = ""
    """All of them have to be in the entry, anywhere, in whatever case."""
    kinds: frozenset[Kind] = frozenset(Kind)

    def fits(self, entry: Entry) -> bool:
        """Return whether an entry is shown."""
        if entry.kind not in self.kinds:
            return False
        line = entry.line().casefold() if self.words else ""
        return all(word in line for word in self.words.casefold().split())


class LogLines:
    """What one display shows of `logs`; belongs to one thread."""

    def __init__(self, logs: Iterable[Log], most: int = MOST) -> None:
        self._logs = dict.fromkeys(logs, 0)
        """And the number of the next entry of each."""
        self._kept: deque[Entry] = deque()
        self._most = most
        self.filter = Filter()

    def read(self) -> tuple[int, list[Entry]]:
        """Take new entries; return how many of the oldest shown entries to drop, and which entries to
        append."""
        new: list[Entry] = []
        for log, number in self._logs.items():
            entries = log.since(number)
            if entries:
                self._logs[log] = entries[-1].number + 1
                new += entries
        new = sorted(new, key=lambda entry: entry.time)[-self._most :]
        too_many = max(0, len(self._kept) + len(new) - self._most)
        dropped = sum(self.filter.fits(entry) for entry in islice(self._kept, too_many))
        for _ in range(too_many):
            self._kept.popleft()
        self._kept += new
        return dropped, [entry for entry in new if self.filter.fits(entry)]

    def visible(self) -> list[Entry]:
        """Return all that fit the filter, oldest first, of what was read."""
        return [entry for entry in self._kept if self.filter.fits(entry)]


def as_text(entries: Sequence[Entry]) -> str:
    """Entries as lines: date, time, device, kind, words."""
    return "".join(f"{entry.line()}\n" for entry in entries)
