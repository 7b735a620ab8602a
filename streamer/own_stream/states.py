"""The states of a detector with a stream of its own, as its engine sees them: one table."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from enum import StrEnum
from threading import Lock

from penstock.streamer.errors import Refused

log = logging.getLogger(__name__)


class State(StrEnum):
    """Where the engine stands; the value is what `StreamerStatus.state` says."""

    CONFIGURING = "configuring"
    """The box is being reached or reset, or takes new settings; the message says which."""
    IDLE = "idle"
    PREPARED = "prepared"
    """The box has the settings of a series."""
    ARMING = "arming"
    ACQUIRING = "acquiring"
    """The box takes triggers, or takes frames; the start message is out."""
    ENDING = "ending"
    """Stop or Abort was asked for; the box has not come to rest."""
    FAULT = "fault"
    """The message says why; only `reset` leads out."""


class Event(StrEnum):
    """What can happen to it."""

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
    """The state and the sentence that goes with it; safe to use from several threads."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._lock = Lock()
        self._changed = changed
        self.state = State.CONFIGURING
        self.message = "the detector is being reached"
        self.moves = 0
        """Grows with each transition: whoever has looked at the box knows by it whether that is history."""

    def fire(self, event: Event, cause: str, *, seen: int | None = None) -> bool:
        """Make the transition of `event`.

        Args:
            event: one of the table.
            cause: the sentence that goes with the new state.
            seen: `moves` when the cause was found; it counts for nothing once others have moved the state.

        Returns:
            Whether it was made; false where `seen` is history, and in a fault for another: the first stands.

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
        """The state that `event` would lead to.

        Raises:
            Refused: the event is illegal now.
        """
        try:
            return TABLE[self.state, event]
        except KeyError:
            raise Refused(
                "illegal_state", f"the detector's control is {self.state}: {self.message or event}"
            ) from None
