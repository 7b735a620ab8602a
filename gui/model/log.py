"""What happened and when: the bounded log of a panel, also as text."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from penstock.gui.model.words import date_and_clock

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
