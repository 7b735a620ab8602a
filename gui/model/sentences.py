"""What a panel's banner says."""

from __future__ import annotations

from penstock.gui.message import Message
from penstock.gui.model.view import DetectorView, Presence
from penstock.gui.model.words import clock

KIND = {
    "ON": "idle", "RUNNING": "running", "MOVING": "running", "FAULT": "fault", "INIT": "connecting",
    "ALARM": "notice",
}  # fmt: skip
"""Kind of the banner by Tango state; any other is a notice."""


def message(view: DetectorView) -> Message:
    """The one thing that the person in front of the screen has to know now."""
    if view.presence is Presence.WAITED_FOR:
        return Message(
            "connecting", "WAITING", view.waits_for or f"Asking the Tango database for {view.name}."
        )
    if view.presence is Presence.AWAY:
        return Message("away", "AWAY", f"Away since {clock(view.since)}: {view.waits_for}")
    status = view.status.strip() or "The device says nothing more."
    if view.running and not view.own and view.armed_by:
        status = f"{status} Armed by {view.armed_by}."
    return Message(KIND.get(view.state, "notice"), view.state, status)


def stop_question(view: DetectorView) -> str:
    """What to ask before somebody else's series is stopped; "" where there is nothing to ask."""
    if not view.running or view.own:
        return ""
    who = view.armed_by or "somebody else"
    return (
        f"This series was armed by {who}, not by this panel. A scan that goes on with it would fail. End it?"
    )
