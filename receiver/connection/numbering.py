"""The rule that gives each frame of a series its index, and the record of its received messages."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, Literal, TypeAlias

from penstock.receiver.connection.expected_frames import WRAPS, Facts
from penstock.stins.messages import Header, Image, IndexSource, SeriesEnd

MOST_RANGES = 10_000
"""Most gaps: with more, the numbers themselves are wrong. New gaps are then not recorded, so that the series
does not count as whole."""


class MessageNumbers:
    """Numbers of received messages, in any order: a duplicate does not make up for a lost message."""

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


Origin: TypeAlias = int | Literal["first"]
"""Number of the first frame of a series, or "first" for that of the first one that arrives."""
UNCERTAIN = "arrival, uncertain"
"""Index source of a series of which frames may have been lost before the first one, or between others."""


class Numbering:
    """The numbers of one series.

    Args:
        header: header of its start message.
        origin: number of the first frame, or "first" for the number of the first one that arrives.
        resumed: whether the series is resumed after a kill: the number of its earlier messages is then
            unknown.
    """

    def __init__(self, header: Header, origin: Origin = 0, *, resumed: bool = False) -> None:
        self.messages = 0
        """Number of counted frame messages of this series, whatever their content."""
        self.index_source: str = header.index_source or "unknown"
        """How frames are assigned to triggers."""
        self._start = header.msg_number
        self._resumed = resumed
        self._numbers = MessageNumbers()
        self._origin: int | None = None if origin == "first" else origin
        self._first: int | None = None  # number of the first frame that arrived
        self._by_arrival = False

    @property
    def origin(self) -> int | None:
        """Number of the first frame; `None` if the first one that arrives says so, and none has."""
        return self._origin

    def count(self, number: int | None) -> None:
        """Count a frame message; `number` is its msg_number."""
        self.messages += 1
        if number is not None:
            self._numbers.take(number)

    def count_run(self, number: int | None, messages: int) -> None:
        """Count several frame messages; the msg_number of the first one is `number`, and each other's is one
        more than that before it."""
        self.messages += messages
        if number is not None:
            self._numbers.take_run(number, messages)

    def index(self, image: Image) -> int:
        """Return the index of a counted frame: its number minus the origin; -1 if it cannot be known.

        Without a frame number, `msg_number` gives the index: that of the start message comes before index 0;
        if it has none, the first frame that arrives is taken for index 0, which is uncertain. Without both,
        the order of arrival gives the index, as `index_source` says.
        """
        if image.frame is not None:
            if self._first is None:
                self._first = image.frame
                if self._origin is None:
                    self._origin = image.frame
            assert self._origin is not None
            return image.frame - self._origin
        number, start = image.msg_number, self._start
        if number is not None and start is not None:
            return number - start - 1
        if self._resumed:
            return -1
        first = self._numbers.first
        # A number that comes again at once is no counter.
        self._by_arrival |= number is None or (self.messages == 2 and self._numbers.count == 1)
        if not self._by_arrival and number is not None and first is not None:
            self.index_source = UNCERTAIN
            return number - first
        self.index_source = IndexSource.ARRIVAL
        return self.messages - 1

    @property
    def highest(self) -> int:
        """Highest msg_number of the series; -1 if its messages have none."""
        return max(-1 if self._start is None else self._start, self._numbers.highest)

    @property
    def first_index(self) -> int:
        """Index of the first frame counted."""
        return 0 if self._first is None or self._origin is None else self._first - self._origin

    def facts(self, end: SeriesEnd | None, arrived: int, **keys: Any) -> Facts:
        """Return what the numbers tell of the series at its end.

        Args:
            end: the end message; `None` if it was lost: then only gaps within what has arrived are known.
            arrived: number of different frames received.
            keys: further facts.
        """
        numbers = self._numbers
        return Facts(
            arrived=arrived, start=self._start, first=numbers.first, last=numbers.highest,
            numbers=numbers.count, resumed=self._resumed, end=end, **keys,
        )  # fmt: skip

    @property
    def first_lost(self) -> int | None:
        """The first `msg_number` of the series that did not arrive; `None` if that is not known."""
        if self._resumed:
            return None
        first = self._numbers.first if self._start is None else self._start + 1
        if first is None:
            return None
        gap = self._numbers.first_gap(first)
        return self._numbers.first_gap(0) if gap in WRAPS else gap
