"""Which series follows which: what a start message does.

| runs now | start message                                  | what it does                          |
|----------|------------------------------------------------|---------------------------------------|
| nothing  | new name, or none                              | begins                                |
| a series | its name and header                            | nothing: it came twice                |
| a series | its header, no name, before any frame          | the same                              |
| a series | the same, first of all after a lost connection | begins, the end of the first was lost |
| a series | another, and messages come in order            | the same                              |
| a series | another, on several sockets                    | waits its turn                        |
| a series | its name, but the numbers count anew           | begins, the end of the first was lost |
| either   | header of one that waits                       | nothing: it came twice                |
| either   | header of one that is over, name and number    | nothing: it came twice                |
| either   | header of one that is over, lacking one        | begins with its first frame           |
| either   | the same, behind a lost connection             | begins with its first frame           |

Detectors that number their series begin at 1 again when they are restarted, so a name that has been is no
proof. A start message that merely comes again must not put an empty file in the place of a complete one, so
that the first frame has to prove it.
"""

from __future__ import annotations

from collections import deque
from enum import Enum, auto

from penstock.receiver.series.past_series import PastSeries
from penstock.receiver.series.running_series import RunningSeries, held_bytes
from penstock.stins.errors import RemoteError
from penstock.stins.messages import Header, Start
from penstock.stins.texts import named, of_series


class Does(Enum):
    """What becomes of a start message."""

    BEGINS = auto()
    WAITS = auto()
    HAS_TO_PROVE = auto()
    """Begins with its first frame."""
    DUPLICATE = auto()


class Succession:
    """The series that are over, and those that wait for the running one."""

    def __init__(self) -> None:
        self._past = PastSeries()
        self._waiting: deque[Start] = deque()
        self.nbytes = 0
        """Memory of the start messages that wait."""
        self._unproven: Start | None = None

    @property
    def waits(self) -> bool:
        """Whether a series waits for the end of the running one."""
        return bool(self._waiting)

    def follows(self, name: str | None, number: int) -> bool:
        """Whether a message of this number, and of the name of the running series, is of one that waits."""
        first = [waiting.header.msg_number for waiting in self._waiting if waiting.header.series == name]
        return any(each is not None and number >= each for each in first)

    def is_over(self, name: str | None) -> bool:
        """Whether a series of this name has been."""
        return name in self._past

    def judge(
        self, start: Start, running: RunningSeries | None, *, in_order: bool, reconnected: bool
    ) -> Does:
        """What a start message does.

        Args:
            start: as it came.
            running: the series that runs now.
            in_order: whether the streamer's messages come in the order in which it sent them.
            reconnected: whether the connection was lost, and this is the first message since it came back.
        """
        header, named = start.header, start.header.series is not None
        if running is not None and header == running.sent.header and not reconnected:
            # Without a name it may be of a streamer that was restarted, and is set up alike.
            return Does.DUPLICATE if named or not running.messages else Does.BEGINS
        if any(header == waiting.header for waiting in self._waiting):
            return Does.DUPLICATE
        if self._past.has_begun(header):
            return Does.DUPLICATE if named and header.msg_number is not None else Does.HAS_TO_PROVE
        if self._past.had_begun(header):
            return Does.HAS_TO_PROVE
        if running is None or in_order or (reconnected and header.series == running.header.series):
            return Does.BEGINS
        if header.series == running.header.series and _restarts(header, running.header):
            return Does.BEGINS
        return Does.WAITS

    def wait(self, start: Start, most_bytes: float) -> None:
        """This one begins when its turn has come.

        Args:
            start: as it came.
            most_bytes: memory that all may take which wait.

        Raises:
            RemoteError: those that wait would take too much memory.
        """
        nbytes = held_bytes(start)
        if self.nbytes + nbytes > most_bytes:
            raise RemoteError(
                "hold_overflow",
                f"{named(start.header.filename)}: {len(self._waiting)} others wait for the end "
                "of the running one, and hold_mb has no room for more; are end messages "
                f"lost?{of_series(start.header.series)}",
            )
        self._waiting.append(start)
        self.nbytes += nbytes
        self._past.forget(start.header.series)

    def next(self) -> Start | None:
        """The series whose turn it is now."""
        if not self._waiting:
            return None
        start = self._waiting.popleft()
        self.nbytes -= held_bytes(start)
        return start

    def on_reconnect(self) -> None:
        """All connections were lost, and are made again: names that have been may come again."""
        self._past.on_reconnect()

    def doubt(self, start: Start) -> None:
        """This one begins with its first frame."""
        self._unproven = start

    def proven(self, name: str | None) -> Start | None:
        """The start message that a frame of this series proves."""
        start = self._unproven
        if start is None or name != start.header.series:
            return None
        self._unproven = None
        return start

    def begins(self, start: Start) -> None:
        """This one begins now."""
        self._unproven = None
        self._past.forget(start.header.series)

    def ended(self, series: RunningSeries) -> None:
        """This one is over."""
        self._past.add(series.header.series or "", [series.sent.header])

    def forget(self) -> None:
        """Drop what waits."""
        self._waiting.clear()
        self.nbytes = 0
        self._unproven = None


def _restarts(header: Header, running: Header) -> bool:
    """Whether a start message comes from a streamer that was restarted since."""
    number, before = header.msg_number, running.msg_number
    return number is None or before is None or number <= before
