"""The numbers of received messages, as ranges, so that a duplicate does not make up for a lost message."""

from __future__ import annotations

from bisect import bisect_right

MOST_RANGES = 10_000
"""Most gaps: with more, the numbers themselves are wrong. New gaps are then not recorded, so that the series
does not count as whole."""


class MessageNumbers:
    """Numbers of received messages, in any order."""

    def __init__(self) -> None:
        self.count = 0
        """Count of distinct numbers received."""
        self.first: int | None = None
        """The number that was received first."""
        self._starts: list[int] = []
        self._stops: list[int] = []
        self._next: int | None = None  # one past the last range

    @property
    def highest(self) -> int:
        """Highest number received; -1 before the first."""
        return self._stops[-1] - 1 if self._stops else -1

    def first_gap(self, first: int) -> int:
        """Return the first number from `first` on that was not received."""
        place = bisect_right(self._starts, first) - 1
        return max(first, self._stops[place]) if place >= 0 else first

    def take(self, number: int) -> None:
        """Count a message with this number."""
        if number == self._next:  # almost always
            self._next = self._stops[-1] = number + 1
            self.count += 1
        else:
            self._insert(number)

    def take_run(self, first: int, count: int) -> None:
        """Count messages with so many consecutive numbers."""
        if first == self._next:  # almost always
            self._next = self._stops[-1] = first + count
            self.count += count
        else:
            for number in range(first, first + count):
                self.take(number)

    def _insert(self, number: int) -> None:
        starts, stops = self._starts, self._stops
        if not starts:
            self.first = number
        place = bisect_right(starts, number)  # of the range after it
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
