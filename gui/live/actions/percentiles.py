"""The shares of the pixels between which levels follow each frame."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui.live.actions.choice import choice
from penstock.gui.live.levels import CHOICES
from penstock.gui.live.look import Look

TIP = "Levels follow each frame: so much of its valid pixels is below the first and the last colour"


def percentiles_choice(look: Look, parent: qt.QWidget | None = None) -> qt.QComboBox:
    """Return the tool."""
    entries = {f"{each.low:g} – {each.high:g} %": each for each in CHOICES}
    return choice(entries, TIP, look.percentiles, look.set_percentiles, look.changed, parent)
