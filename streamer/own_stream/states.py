"""The states of a detector that streams by itself, as its engine sees them: one table."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from penstock.stins.table import Table
from penstock.streamer.camera.machine import Machine


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

TABLE = Table({
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
})  # fmt: skip

IN_SERIES = frozenset({_S.ARMING, _S.ACQUIRING, _S.ENDING})


def machine(changed: Callable[[], None]) -> Machine[State, Event]:
    """Return the machine of an engine, in CONFIGURING; of two faults the first one stays.

    Args:
        changed: called after each transition.
    """
    made = Machine(
        TABLE, State.CONFIGURING, State.FAULT, _refusal, changed, frozenset({(State.FAULT, Event.FAIL)})
    )
    made.message = "the detector is being reached"
    return made


def _refusal(machine: Machine[State, Event], event: Event) -> str:
    return f"the detector's control is {machine.state}: {machine.message or event}"
