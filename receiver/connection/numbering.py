"""The rule that gives each frame of a series its index, and the record of its received messages."""

from __future__ import annotations

from penstock.receiver.connection.message_numbers import MessageNumbers
from penstock.stins.messages import Header, Image, IndexSource, SeriesEnd


class Numbering:
    """The numbers of one series.

    Args:
        header: header of its start message.
        origin: number of the first frame, if configured.
        resumed: whether the series is resumed after a kill: the number of its earlier messages is then
            unknown.
    """

    def __init__(self, header: Header, origin: int | None = None, *, resumed: bool = False) -> None:
        self.messages = 0
        """Number of counted frame messages of this series, whatever their content."""
        self.index_source: str = header.index_source or "unknown"
        """How frames are assigned to triggers."""
        self._start = header.msg_number
        self._resumed = resumed
        self._numbers = MessageNumbers()
        # Streams that name their series number its frames from 0; others show their origin with the first
        # frame.
        self._origin = 0 if origin is None and header.series is not None else origin

    def count(self, number: int | None) -> None:
        """Count a frame message; `number` is its msg_number."""
        self.messages += 1
        if number is not None:
            self._numbers.take(number)

    def index(self, image: Image) -> int:
        """Return the index of a counted frame: its number minus the origin; -1 if it cannot be known.

        Without a frame number, `msg_number` gives the index; without both, the order of arrival does, as
        `index_source` says.
        """
        number, start = image.msg_number, self._start
        after_header = None if number is None or start is None else number - start - 1
        if image.frame is not None:
            if self._origin is None:
                # A frame lost before this one shifts both numbers alike.
                self._origin = 0 if after_header is None else image.frame - after_header
            return image.frame - self._origin
        if after_header is not None:
            return after_header
        if self._resumed:
            return -1
        self.index_source = IndexSource.ARRIVAL
        return self.messages - 1

    @property
    def highest(self) -> int:
        """Highest msg_number of the series; -1 if its messages have none."""
        return max(-1 if self._start is None else self._start, self._numbers.highest)

    def is_whole(self, end: SeriesEnd, duplicates: int = 0) -> bool:
        """Return whether all frame messages sent before the end message were received.

        Args:
            end: the end message.
            duplicates: number of frames received twice.
        """
        if self._resumed:
            return False
        if end.msg_number is not None and self._start is not None:
            return self._numbers.count >= end.msg_number - self._start - 1
        return end.sent is not None and self.messages - duplicates >= end.sent
