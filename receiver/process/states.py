"""The receiver's states: one table; an illegal event raises and changes nothing.

Error means that the receiver has failed: its disk, a file, its processing, or a configured policy. Bad start
messages, and those whose file name is taken, are refused in Idle, bad frames are counted in the account: see
the table in docs/reference/http.md.
"""

from __future__ import annotations

import logging
from enum import Enum, StrEnum, auto

from penstock.stins.table import Table
from penstock.stins.texts import quoted

log = logging.getLogger(__name__)

MAX_CAUSE = 2000
"""Most characters of a cause, which may contain names of files and series."""


class State(StrEnum):
    """States of a receiver, with the names that MAX IV's clients know."""

    IDLE = "idle"
    RUNNING = "running"
    ERROR = "error"


class Event(Enum):
    """Events that change the state."""

    BEGIN = auto()
    """A series begins: its file exists."""
    FINISH = auto()
    """The series has ended and its file is closed and as durable as configured."""
    FAIL = auto()
    """A failure that a person must see; the cause is kept until RESET."""
    RESET = auto()


TABLE = Table({
    (State.IDLE, Event.BEGIN): State.RUNNING,
    (State.RUNNING, Event.FINISH): State.IDLE,
    (State.IDLE, Event.FAIL): State.ERROR,
    (State.RUNNING, Event.FAIL): State.ERROR,
    (State.IDLE, Event.RESET): State.IDLE,
    (State.ERROR, Event.RESET): State.IDLE,
})  # fmt: skip


class StateMachine:
    """The only owner of a receiver's state and of the sentence that explains an error."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.state = State.IDLE
        self.error = ""

    def fire(self, event: Event, cause: str) -> None:
        """Change the state by `event`; log a transition once, with both states and the cause.

        Raises:
            IllegalEvent: the table has no such transition.
        """
        state = TABLE.after(self.state, event)
        cause = quoted(cause, MAX_CAUSE)
        self.error = cause if event is Event.FAIL else ""
        if state is not self.state:
            level = logging.ERROR if event is Event.FAIL else logging.INFO
            log.log(level, "%s: %s -> %s: %s", self.name, self.state, state, cause)
        self.state = state
