"""Which series follows which: what a start message does.

| runs now     | start message                                 | what it does                          |
|--------------|-----------------------------------------------|---------------------------------------|
| nothing      | new name, or none                             | begins                                |
| a series     | its name and header                           | nothing: it came twice                |
| a series     | the same, but the connection was lost between | begins, the end of the first was lost |
| a series     | its name, another header                      | the same                              |
| a series     | another, on one socket                        | the same                              |
| a series     | another, on several sockets                   | waits its turn                        |
| either       | name and header of one that is over           | begins with its first frame           |
| either       | name of one that is over, another header      | as a new one                          |

Detectors that number their series begin at 1 again when they are restarted, so a name that has been is no
proof. A start message that merely comes again must not put an empty file in the place of a complete one, so
that the first frame has to prove it.
"""

from __future__ import annotations

from collections import deque
from enum import Enum, auto

from penstock.receiver.past_series import PastSeries
from penstock.receiver.series import RunningSeries
from penstock.stins.errors import RemoteError
from penstock.stins.messages import Start

MOST_WAITING = 64
"""Series that may wait for the end of the running one; frames that wait with them are bounded in bytes."""


class Does(Enum):
    """What becomes of a start message."""

    BEGINS = auto()
    WAITS = auto()
    HAS_TO_PROVE = auto()
    """Begins with its first frame."""
    CAME_TWICE = auto()


class Succession:
    """The series that are over, and those that wait for the running one.

    Args:
        in_order: whether messages come in the order in which they were sent: by one socket.
    """

    def __init__(self, in_order: bool) -> None:
        self.in_order = in_order
        self._past = PastSeries()
        self._waiting: deque[Start] = deque()
        self._unproven: Start | None = None

    @property
    def waits(self) -> bool:
        """Whether a series waits for the end of the running one."""
        return bool(self._waiting)

    @property
    def next_number(self) -> int | None:
        """Number of the start message that waits first."""
        return self._waiting[0].header.msg_number if self._waiting else None

    def is_over(self, name: str | None) -> bool:
        """Whether a series of this name has been."""
        return name in self._past

    def judge(self, start: Start, running: RunningSeries | None, *, came_back: bool) -> Does:
        """What a start message does.

        Args:
            start: as it came.
            running: the series that runs now.
            came_back: whether the connection was lost since that began, and came back.
        """
        header, name = start.header, start.header.series
        if running is not None and name is not None and name == running.header.series:
            return Does.CAME_TWICE if header == running.sent.header and not came_back else Does.BEGINS
        if name is not None and any(header == waiting.header for waiting in self._waiting):
            return Does.CAME_TWICE
        if self._past.has_begun(header):
            return Does.HAS_TO_PROVE
        return Does.BEGINS if self.in_order or running is None else Does.WAITS

    def wait(self, start: Start, running: RunningSeries | None) -> None:
        """This one begins when its turn has come: in the order of their numbers, else as they came.

        Raises:
            RemoteError: too many wait.
        """
        if len(self._waiting) >= MOST_WAITING:
            raise RemoteError(
                "too_many_series",
                f"series {start.header.series or start.header.msg_number} is not taken: {MOST_WAITING} "
                "others wait for the end of the running one; are end messages lost?",
            )
        number, place = start.header.msg_number, len(self._waiting)
        first = running.header.msg_number if running is not None else None
        if number is not None and first is not None and number > first:
            while place and number < (self._waiting[place - 1].header.msg_number or 0):
                place -= 1
        self._waiting.insert(place, start)
        self._past.forget(start.header.series)

    def next(self) -> Start | None:
        """The series whose turn it is now."""
        return self._waiting.popleft() if self._waiting else None

    def doubt(self, start: Start) -> None:
        """This one begins with its first frame."""
        self._unproven = start

    def proven(self, name: str | None) -> Start | None:
        """The start message that a frame of this series proves."""
        start = self._unproven
        if start is None or name is None or name != start.header.series:
            return None
        self._unproven = None
        return start

    def begins(self, start: Start) -> None:
        """This one begins now."""
        self._unproven = None
        self._past.forget(start.header.series)

    def ended(self, series: RunningSeries) -> None:
        """This one is over."""
        self._past.add(series.id, [series.sent.header])

    def forget(self) -> None:
        """Drop what waits."""
        self._waiting.clear()
        self._unproven = None
