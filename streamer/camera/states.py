"""The states of the acquisition engine: one table, and a state machine.

An illegal event raises an exception and changes nothing. Each transition is logged once, with both states and
the cause.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from enum import StrEnum
from threading import Lock

from penstock.streamer.camera.driver import Refused

log = logging.getLogger(__name__)


class State(StrEnum):
    """The state of the engine."""

    IDLE = "idle"
    PREPARED = "prepared"
    """The settings are checked and the hardware is configured; nothing has been sent."""
    ANNOUNCED = "announced"
    """The start message has been sent."""
    ACQUIRING = "acquiring"
    """The camera has been told to arm, or is taking frames."""
    ENDING = "ending"
    """No further frame begins; queued frames are being sent or dropped, then the end message is sent."""
    FAULT = "fault"
    """The last series failed; the message says why. A new series may be prepared."""


class Event(StrEnum):
    """An event that changes the state."""

    PREPARE = "prepare"
    ANNOUNCE = "announce"
    START = "start"
    FINISH = "finish"
    """The last frame is in, or Stop, Abort or a fault ends the series."""
    END = "end"
    """The end message has been sent, or given up."""
    CANCEL = "cancel"
    FAULT = "fault"
    RESET = "reset"


TABLE: Mapping[tuple[State, Event], State] = {
    (State.IDLE, Event.PREPARE): State.PREPARED,
    (State.PREPARED, Event.PREPARE): State.PREPARED,
    (State.FAULT, Event.PREPARE): State.PREPARED,
    (State.PREPARED, Event.ANNOUNCE): State.ANNOUNCED,
    (State.ANNOUNCED, Event.START): State.ACQUIRING,
    (State.ACQUIRING, Event.FINISH): State.ENDING,
    (State.ENDING, Event.END): State.IDLE,
    (State.PREPARED, Event.CANCEL): State.IDLE,
    (State.ANNOUNCED, Event.CANCEL): State.IDLE,
    (State.IDLE, Event.FAULT): State.FAULT,
    (State.PREPARED, Event.FAULT): State.FAULT,
    (State.ANNOUNCED, Event.FAULT): State.FAULT,
    (State.ENDING, Event.FAULT): State.FAULT,
    (State.FAULT, Event.RESET): State.IDLE,
    (State.IDLE, Event.RESET): State.IDLE,
}
"""A failing acquisition also passes through ENDING: its queued frames and its end message are sent."""


class Machine:
    """The engine's state and its message; thread-safe."""

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self._lock = Lock()
        self._changed = changed
        self.state = State.IDLE
        self.message = ""

    def fire(self, event: Event, cause: str) -> State:
        """Make the transition of `event`, and return the new state.

        Raises:
            Refused: the table has no such transition; nothing changed.
        """
        with self._lock:
            old = self.state
            new = self.after(event)
            self.state = new
            self.message = cause
        level = logging.ERROR if new is State.FAULT else logging.INFO
        log.log(level, "%s -> %s (%s): %s", old, new, event, cause)
        self._changed()
        return new

    def after(self, event: Event) -> State:
        """Return the state to which `event` would lead.

        Raises:
            Refused: the event is illegal now.
        """
        try:
            return TABLE[self.state, event]
        except KeyError:
            allowed = sorted(event for state, event in TABLE if state is self.state)
            raise Refused(
                "illegal_state",
                f"the streamer is {self.state}: {event} is not possible; possible are {', '.join(allowed)}",
            ) from None
