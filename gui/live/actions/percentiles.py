"""The shares of what is drawn between which levels follow each frame."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui.live.actions.choice import choice
from penstock.gui.live.levels import CHOICES
from penstock.gui.live.look import Look

TIP = (
    "Levels follow each frame: so much of the whole frame, as this window draws it, is below the first and "
    "the last colour. 0 – 100 %: from the least to the greatest valid pixel"
)


def percentiles_choice(look: Look, parent: qt.QWidget | None = None) -> qt.QComboBox:
    """Return the tool."""
    entries = {f"{each.low:g} – {each.high:g} %": each for each in CHOICES}
    return choice(entries, TIP, look.percentiles, look.set_percentiles, look.changed, parent)
