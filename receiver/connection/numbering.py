"""The rule that gives each frame of a series its index, and the record of its received messages."""

from __future__ import annotations

from typing import Literal, TypeAlias

from penstock.receiver.connection.message_numbers import MessageNumbers
from penstock.stins.messages import Header, Image, IndexSource, SeriesEnd

Origin: TypeAlias = int | Literal["first"]
"""Number of the first frame of a series, or "first" for that of the first one that arrives."""


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

        Without a frame number, `msg_number` gives the index; without both, the order of arrival does, as
        `index_source` says.
        """
        if image.frame is not None:
            if self._origin is None:
                self._origin = image.frame
            return image.frame - self._origin
        number, start = image.msg_number, self._start
        if number is not None and start is not None:
            return number - start - 1
        if self._resumed:
            return -1
        self.index_source = IndexSource.ARRIVAL
        return self.messages - 1

    @property
    def highest(self) -> int:
        """Highest msg_number of the series; -1 if its messages have none."""
        return max(-1 if self._start is None else self._start, self._numbers.highest)

    def lost(self, end: SeriesEnd | None, distinct: int | None = None) -> int | None:
        """Return how many messages of the series were lost; `None` if that is unknown.

        Args:
            end: the end message; `None` if it was lost: then only gaps within what has arrived are known.
            distinct: number of different frames received; if not given, each message counts as one.
        """
        if self._resumed:
            return None
        found: list[int] = []
        numbers, start = self._numbers, self._start
        # Fewer numbers than frames: some streamers repeat theirs, or have none.
        if start is not None and numbers.count >= (distinct or 0):
            stop = numbers.highest + 1 if end is None else end.msg_number
            if stop is not None:
                found.append(stop - start - 1 - numbers.count)
        if end is not None and end.sent is not None:
            found.append(end.sent - (self.messages if distinct is None else distinct))
        return max(0, *found) if found else None

    @property
    def first_lost(self) -> int | None:
        """The first `msg_number` after that of the start message that did not arrive; `None` without
        numbers."""
        return None if self._start is None else self._numbers.first_gap(self._start + 1)
