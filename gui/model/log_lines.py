"""The entries of logs for one display: merged in time, bounded, and filtered by words and kinds."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from penstock.gui.model.log import MOST, Entry, Kind, Log


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
    """Which entries are shown."""

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
