"""The rule that gives each frame of a series its index, and which of its messages were received."""

from __future__ import annotations

from penstock.receiver.connection.message_numbers import MessageNumbers
from penstock.stins.messages import Header, Image, IndexSource, SeriesEnd


class Numbering:
    """The numbers of one series.

    Args:
        header: of its start message.
        origin: number of the first frame, if it is configured.
        resumed: whether the receiver was killed in the series: nobody knows then how many frames it has had.
    """

    def __init__(self, header: Header, origin: int | None = None, *, resumed: bool = False) -> None:
        self.messages = 0
        """Frame messages of this series that were counted, whatever was in them."""
        self.index_source: str = header.index_source or "unknown"
        """How frames are known to be of their triggers."""
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
        """Return the place of a frame that was counted: its number less the origin; out of range (-1) where
        nobody can know it.

        Without a number, `msg_number` gives the place; without both, the order of arrival does, and
        `index_source` says so.
        """
        number, start = image.msg_number, self._start
        after_header = None if number is None or start is None else number - start - 1
        if image.frame is not None:
            if self._origin is None:
                # A frame that was lost before this one shifts both numbers alike.
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
        """Greatest msg_number of the series' messages; -1 where they have none."""
        return max(-1 if self._start is None else self._start, self._numbers.highest)

    def is_whole(self, end: SeriesEnd, duplicates: int = 0) -> bool:
        """Whether every frame message that was sent before the end message was received.

        Args:
            end: the end message.
            duplicates: frames that were received twice.
        """
        if self._resumed:
            return False
        if end.msg_number is not None and self._start is not None:
            return self._numbers.count >= end.msg_number - self._start - 1
        return end.sent is not None and self.messages - duplicates >= end.sent
