"""What the machine wants done: calls of both sides, and what is shown; `effects` does it, in order."""

from __future__ import annotations

import msgspec

from penstock.devices._series.machine.procedures import Step
from penstock.devices._series.machine.view import SeriesView


class Action(msgspec.Struct, frozen=True):
    """An action; each kind is a class of its own."""


class Show(Action, frozen=True):
    """Show this view: the state, or a sentence of it, has changed."""

    view: SeriesView
    instead: SeriesView | None = None
    """View that is not shown any more, if nobody has seen it: a device begins with what it takes over."""


class Log(Action, frozen=True):
    """Write a line to the log, at a level of `logging`."""

    level: int
    line: str


# Calls that return within a second


class StopStreamer(Action, frozen=True):
    """Have the streamer stop the series, or abort it, for this reason; "" for a client's command."""

    cause: str
    purpose: str
    """What it is for, in words, should it fail."""
    aborted: bool = False


class StopReceiver(Action, frozen=True):
    """Have the receiver end the series, with this reason in the file."""

    reason: str


class StopAtEnd(Action, frozen=True):
    """Tell the receiver why the series ends, before the detector's box ends it.

    The end message of a box gives no reason, and frames that were never taken would count as missing.
    """

    series: str
    why: str
    failed: bool


class Withdraw(Action, frozen=True):
    """Tell the receiver not to expect the series any more."""

    series: str


# Calls that may take minutes, and their answers


class RunStep(Action, frozen=True):
    """Do a step of Arm."""

    number: int
    step: Step


class Undo(Action, frozen=True):
    """Undo what Arm has begun, for this reason; "" after Stop or Abort."""

    number: int
    cause: str
    steps: tuple[Step, ...]
    refusal: Exception | None = None
    """The answer to Arm, if it is to be given once this is done."""


class Answer(Action, frozen=True):
    """Answer the client of Arm: with the refusal of the facts, or that triggers are taken, or will be."""

    number: int
    over: bool = True
    """True if nothing of this Arm is left to be done."""


class ReadBox(Action, frozen=True):
    """Read the values of the box, after this call; 0 if it was none of ours."""

    call: int
    ends: bool = True
    """True if it ends CONFIGURING."""
