"""What a user can do with a detector, and when: a table, nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Action(StrEnum):
    """An action, named by the Tango command that it calls."""

    ARM = "Arm"
    TRIGGER = "SoftwareTrigger"
    STOP = "Stop"
    ABORT = "Abort"
    LIVE = "Live"
    RESET = "Reset"
    RESTART_RECEIVER = "RestartReceiver"


POSSIBLE_IN: Mapping[Action, frozenset[str]] = {
    Action.ARM: frozenset({"ON"}),
    Action.LIVE: frozenset({"ON"}),
    Action.TRIGGER: frozenset({"RUNNING"}),
    Action.STOP: frozenset({"MOVING", "RUNNING"}),
    Action.ABORT: frozenset({"MOVING", "RUNNING"}),
    Action.RESET: frozenset({"FAULT"}),
    Action.RESTART_RECEIVER: frozenset({"ON", "FAULT"}),
}
"""Tango states in which each action is possible."""
AT_ONCE = frozenset({Action.STOP, Action.ABORT})
"""Actions that do not wait for a call under way: they end it."""
WHY_NOT: Mapping[Action, str] = {
    Action.ARM: "Arm is possible in state ON only.",
    Action.LIVE: "Live is possible in state ON only.",
    Action.TRIGGER: "No series takes triggers now.",
    Action.STOP: "No series runs.",
    Action.ABORT: "No series runs.",
    Action.RESET: "Reset leaves the state FAULT; there is none.",
    Action.RESTART_RECEIVER: "A receiver is restarted between two series.",
}


def why_not(action: Action, *, here: bool, state: str, mode: str, ready: bool, busy: Action | None) -> str:
    """Return why an action is not possible now, in a sentence; "" if it is.

    Args:
        action: that the user might want.
        here: whether the device answers.
        state: of the device, as Tango names it.
        mode: TriggerMode of the series.
        ready: ReadyForSwTrigger.
        busy: what is under way.
    """
    if not here:
        return "The device does not answer."
    if busy is not None and action not in AT_ONCE:
        return f"{busy} is under way."
    if state not in POSSIBLE_IN[action]:
        return WHY_NOT[action]
    if action is Action.TRIGGER and mode != "SOFTWARE":
        return f"Triggers come from the button in TriggerMode SOFTWARE only; this series is {mode}."
    if action is Action.TRIGGER and not ready:
        return "The detector is not ready for a trigger yet."
    return ""
