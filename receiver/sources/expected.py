"""The series that a device has told this receiver to expect: one entry, which its first frame takes.

A stream without start messages (that of the SLS detector software) has no room for a file's name and a plan.
The device sends them here, over HTTP, before it arms the detector; frames only bear the id of the arming.

| event                                     | nothing | waiting | begun                            |
|-------------------------------------------|---------|---------|----------------------------------|
| another series is to be expected          | waiting | waiting | waiting                          |
| a series with its id begins at a port     | –       | begun   | begun: at another port, a module |
| it is to be forgotten, or its time is up  | –       | nothing | begun                            |

A series with any other id is somebody else's, and so is a second one with the same id at the same port.
"""

from __future__ import annotations

from enum import Enum, auto

from penstock.stins.table import Table
from penstock.stins.user_part import UserPart


class _Phase(Enum):
    NOTHING = auto()
    WAITING = auto()
    BEGUN = auto()


class _Event(Enum):
    EXPECT = auto()
    BEGIN = auto()
    FORGET = auto()


_P, _E = _Phase, _Event

TABLE = Table({
    (_P.NOTHING, _E.EXPECT): _P.WAITING,
    (_P.WAITING, _E.EXPECT): _P.WAITING,
    (_P.BEGUN, _E.EXPECT): _P.WAITING,
    (_P.WAITING, _E.BEGIN): _P.BEGUN,
    (_P.BEGUN, _E.BEGIN): _P.BEGUN,
    (_P.WAITING, _E.FORGET): _P.NOTHING,
})  # fmt: skip
"""What is not listed changes nothing."""


class ExpectedSeries:
    """The entry of one receiver, which all its decoders share; see the module."""

    def __init__(self) -> None:
        self._phase = _P.NOTHING
        self._part: UserPart | None = None
        self._until: float | None = None
        self._ports: set[object] = set()
        """Ports that have begun the series."""

    @property
    def waiting(self) -> str:
        """Id of the series that is expected and has not begun; "" for none."""
        return self._part.arm if self._part is not None and self._phase is _P.WAITING else ""

    def expect(self, part: UserPart, until: float | None = None) -> None:
        """Expect a series from now on, and no longer any other.

        Args:
            part: file and plan, under the id of the arming.
            until: time of `tick` at which it is forgotten unless it has begun; `None` for never.
        """
        self._move(_E.EXPECT)
        self._part, self._until = part, until
        self._ports.clear()

    def begin(self, arm: str, port: object) -> UserPart | None:
        """Return file and plan of a series that begins at a port; `None` if it is not the expected one.

        Args:
            arm: id that its frames bear.
            port: whatever tells the ports of one receiver apart.
        """
        part = self._part
        if part is None or part.arm != arm or port in self._ports or not self._move(_E.BEGIN):
            return None
        self._ports.add(port)
        return part

    def forget(self, arm: str) -> None:
        """Do not expect this series any more, unless it has begun."""
        if self.waiting == arm:
            self._move(_E.FORGET)

    def tick(self, now: float) -> None:
        """Forget a series whose time is up; `now` is a time of the same clock as `until`."""
        if self._until is not None and now >= self._until:
            self._move(_E.FORGET)

    def _move(self, event: _Event) -> bool:
        """Change the phase by the table; return whether the event was possible."""
        after = TABLE.get((self._phase, event))
        self._phase = after or self._phase
        return after is not None
