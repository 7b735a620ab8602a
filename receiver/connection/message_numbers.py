"""The numbers of received messages, as ranges: a duplicate does not stand for a lost one."""

from __future__ import annotations

from bisect import bisect_right

MOST_RANGES = 10_000
"""So many gaps are no stream that lost something: the count stands still then, nothing is called whole."""


class MessageNumbers:
    """Numbers that have come, in any order."""

    def __init__(self) -> None:
        self.count = 0
        """Different numbers that have come."""
        self._starts: list[int] = []
        self._stops: list[int] = []
        self._next = -1  # what follows the last range

    @property
    def highest(self) -> int:
        """Of those that have come; -1 before the first."""
        return self._stops[-1] - 1 if self._stops else -1

    def take(self, number: int) -> None:
        """Count a message of this number."""
        if number == self._next:  # nearly always
            self._next = self._stops[-1] = number + 1
            self.count += 1
        else:
            self._insert(number)

    def _insert(self, number: int) -> None:
        starts, stops = self._starts, self._stops
        place = bisect_right(starts, number)  # of the range behind it
        if place and number < stops[place - 1]:
            return
        before = place > 0 and stops[place - 1] == number
        behind = place < len(starts) and starts[place] == number + 1
        if before and behind:
            stops[place - 1] = stops.pop(place)
            del starts[place]
        elif before:
            stops[place - 1] = number + 1
        elif behind:
            starts[place] = number
        elif len(starts) < MOST_RANGES:
            starts.insert(place, number)
            stops.insert(place, number + 1)
        else:
            return
        self.count += 1
        self._next = stops[-1]
