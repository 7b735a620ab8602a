"""The states of a detector that streams by itself, as its engine sees them: one table."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from enum import StrEnum
from threading import Lock

from penstock.streamer.camera.driver import Refused

log = logging.getLogger(__name__)


class State(StrEnum):
    """The state of the engine; the value is that of `StreamerStatus.state`."""

    CONFIGURING = "configuring"
    """The box is being reached or reset, or takes new settings; the message says which."""
    IDLE = "idle"
    PREPARED = "prepared"
    """The box has the settings of a series."""
    ARMING = "arming"
    ACQUIRING = "acquiring"
    """The box takes triggers, or frames; the start message has been sent."""
    ENDING = "ending"
    """Stop or Abort was requested; the box has not come to rest."""
    FAULT = "fault"
    """The message says why; only `reset` leads out."""


class Event(StrEnum):
    """An event that changes the state."""

    CONFIGURE = "configure"
    CONFIGURED = "configured"
    PREPARE = "prepare"
    CANCEL = "cancel"
    ARM = "arm"
    ARMED = "armed"
    END = "end"
    """Stop or Abort."""
    ENDED = "ended"
    """The box is idle again."""
    FAIL = "fail"
    RESET = "reset"


_S, _E = State, Event

TABLE: Mapping[tuple[State, Event], State] = {
    (_S.IDLE, _E.CONFIGURE): _S.CONFIGURING,
    (_S.CONFIGURING, _E.CONFIGURED): _S.IDLE,
    (_S.CONFIGURING, _E.FAIL): _S.FAULT,
    (_S.IDLE, _E.PREPARE): _S.PREPARED,
    (_S.IDLE, _E.FAIL): _S.FAULT,
    (_S.PREPARED, _E.PREPARE): _S.PREPARED,
    (_S.PREPARED, _E.CANCEL): _S.IDLE,
    (_S.PREPARED, _E.ARM): _S.ARMING,
    (_S.PREPARED, _E.FAIL): _S.FAULT,
    (_S.ARMING, _E.ARMED): _S.ACQUIRING,
    (_S.ARMING, _E.END): _S.ENDING,
    (_S.ARMING, _E.FAIL): _S.FAULT,
    (_S.ACQUIRING, _E.END): _S.ENDING,
    (_S.ACQUIRING, _E.ENDED): _S.IDLE,
    (_S.ACQUIRING, _E.FAIL): _S.FAULT,
    (_S.ENDING, _E.END): _S.ENDING,
    (_S.ENDING, _E.ENDED): _S.IDLE,
    (_S.ENDING, _E.FAIL): _S.FAULT,
    (_S.FAULT, _E.RESET): _S.CONFIGURING,
    (_S.IDLE, _E.RESET): _S.CONFIGURING,
}

IN_SERIES = frozenset({_S.ARMING, _S.ACQUIRING, _S.ENDING})


class Machine:
    """The state and its message; thread-safe."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._lock = Lock()
        self._changed = changed
        self.state = State.CONFIGURING
        self.message = "the detector is being reached"
        self.moves = 0
        """Number of transitions, which tells whether a snapshot of the box is outdated."""

    def fire(self, event: Event, cause: str, *, seen: int | None = None) -> bool:
        """Make the transition of `event`.

        Args:
            event: event of the table.
            cause: message of the new state.
            seen: `moves` when the cause was found; the event is ignored if the state has changed since.

        Returns:
            True if it was made; false if `seen` is outdated, or for a second fault: the first one stays.

        Raises:
            Refused: the table has no such transition; nothing changed.
        """
        with self._lock:
            if seen is not None and seen != self.moves:
                return False
            if event is Event.FAIL and self.state is State.FAULT:
                return False
            before = self.state
            self.state = self.after(event)
            self.message = cause
            self.moves += 1
        level = logging.ERROR if self.state is State.FAULT else logging.INFO
        log.log(level, "%s -> %s (%s): %s", before, self.state, event, cause)
        self._changed()
        return True

    def after(self, event: Event) -> State:
        """Return the state that `event` would lead to.

        Raises:
            Refused: the event is illegal now.
        """
        try:
            return TABLE[self.state, event]
        except KeyError:
            raise Refused(
                "illegal_state", f"the detector's control is {self.state}: {self.message or event}"
            ) from None
