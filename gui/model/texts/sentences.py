"""What a panel's banner says, and the one sentence below the forms that the user needs now."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

from penstock.gui.message import Message
from penstock.gui.model.attributes.attribute import label
from penstock.gui.model.files.next_file import parse
from penstock.gui.model.view import DetectorView, Presence
from penstock.gui.words import capital, clock, sentence

KIND = {
    "ON": "idle", "RUNNING": "running", "MOVING": "running", "FAULT": "fault", "INIT": "connecting",
    "ALARM": "notice",
}  # fmt: skip
"""Kind of the banner by Tango state; any other is a notice."""


REFUSED = "Ready. The last Arm was refused: "
"""Beginning of a Status after a refused Arm."""


def message(view: DetectorView) -> Message:
    """Return the one sentence that the person in front of the screen needs now."""
    if view.presence is Presence.WAITED_FOR:
        return Message(
            "connecting", "WAITING", view.waits_for or f"Asking the Tango database for {view.name}."
        )
    if view.presence is Presence.AWAY:
        return Message("away", "AWAY", f"Away since {clock(view.since)}: {view.waits_for}")
    status = capital(view.status.strip() or "The device gives no details.")
    if view.state == "ON" and view.check is not None and view.check.ok and status.startswith(REFUSED):
        status = "Ready."  # what the last Arm was refused for is cured
    if view.running and not view.configuring and not view.own and view.armed_by:
        status = f"{status} Armed by {view.armed_by}."
    return Message(KIND.get(view.state, "notice"), view.state, status)


def stop_question(view: DetectorView) -> str:
    """Return the question before a series armed by others is stopped; "" for none."""
    if not view.running or view.configuring or view.own:
        return ""
    who = view.armed_by or "somebody else"
    return f"This series was armed by {who}, not by this panel. A scan that uses it would fail. End it?"


def why_locked(view: DetectorView) -> str:
    """Return why no setting can be changed now; "" where they can."""
    if not view.here:
        return "The device does not answer: nothing can be set now."
    if view.configuring:
        return "The detector is busy. Settings can be changed when its State is ON."
    if view.running:
        return "A series runs. Settings can be changed when it has ended."
    return ""


def arm_sentence(view: DetectorView) -> tuple[bool, str]:
    """Return what Arm would do, before it is pressed: whether it would be refused, and in words; "":
    nothing."""
    if not view.here or view.running or view.busy is not None or view.state != "ON":
        return False, ""
    for name, edit in view.edits.items():
        if edit.problem:
            which = "" if edit.problem.startswith(label(name)) else f"{label(name)}: "
            return True, f"Arm would be refused: {which}{sentence(edit.problem, first=False)}"
    if view.edits:
        names = ", ".join(map(label, view.edits))
        return (
            False,
            f"Typed and not written yet: {names}. Arm writes {'it' if len(view.edits) == 1 else 'them'}.",
        )
    if view.check is None:
        return False, ""
    if view.check.kind == "file_exists":
        return True, f"Arm would be refused: {_taken(str(view.values.get('DestinationFilename') or ''))}"
    if not view.check.ok:
        return True, f"Arm would be refused: {sentence(view.check.sentence, first=False)}"
    into = f" into {PurePosixPath(view.check.file).name}" if view.check.file else ", live view only"
    return False, f"Ready to arm: {view.plan.sentence()}{into}."


def _taken(path: str) -> str:
    """Return that a file exists, in the words of this window; the device's own sentence speaks of Tango."""
    number = "Press Next free number, change" if parse(path).numbered else "Change"
    return f"{PurePosixPath(path).name} exists already. {number} the name, or tick Replace an existing file."


@dataclass(frozen=True)
class Strip:
    """One sentence."""

    problem: bool = False
    """Something cannot be written as it was typed."""
    words: str = ""


def strip(view: DetectorView, focused: str = "") -> Strip:
    """Return what is wrong with the field that has the focus, or else with the first one; otherwise what can
    be done with the field that has it.

    Args:
        view: the snapshot.
        focused: the attribute of the field that has the focus; "" for none.
    """
    for name in sorted(view.edits, key=lambda name: name != focused):
        if problem := view.edits[name].problem:
            words = label(name)
            return Strip(True, problem if problem.startswith(words) else f"{words}: {problem}")
    attribute = view.attributes.get(focused)
    if attribute is None:
        return Strip()
    if focused in view.edits:
        device = attribute.with_unit(view.values.get(focused))
        return Strip(False, f"{attribute.label}: Enter writes it, Esc takes the device's {device} again.")
    return Strip(False, f"{attribute.label}: {attribute.limits()}." if attribute.limits() else "")
