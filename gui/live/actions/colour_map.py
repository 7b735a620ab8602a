"""The colour map."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui.live import colours
from penstock.gui.live.actions.choice import choice
from penstock.gui.live.look import Look


def colour_choice(look: Look, parent: qt.QWidget | None = None) -> qt.QComboBox:
    """Return the tool."""
    entries = {name: name for name in colours.NAMES}
    return choice(entries, "Colour map", look.colours, look.set_colours, look.changed, parent)
