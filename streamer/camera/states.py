"""The states of the acquisition engine: one table."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from penstock.stins.table import Table
from penstock.streamer.camera.machine import Machine


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


TABLE = Table({
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
})  # fmt: skip
"""A failing acquisition also passes through ENDING: its queued frames and its end message are sent."""


def machine(changed: Callable[[], None] = lambda: None) -> Machine[State, Event]:
    """Return the machine of an engine, in IDLE.

    Args:
        changed: called after each transition.
    """
    return Machine(TABLE, State.IDLE, State.FAULT, _refusal, changed)


def _refusal(machine: Machine[State, Event], event: Event) -> str:
    allowed = ", ".join(sorted(TABLE.allowed(machine.state)))
    return f"the streamer is {machine.state}: {event} is not possible; possible are {allowed}"
