"""What stands below the forms: the one sentence about fields that the user needs now."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.gui.model.labels import label
from penstock.gui.model.view import DetectorView


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
