"""How counts become shades: linear, logarithmic, square root, inverse hyperbolic sine."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui.live.actions.choice import choice
from penstock.gui.live.levels import Scale
from penstock.gui.live.look import Look

TIP = (
    "How counts become shades (L: log or lin). log: for diffraction, zeros have the lowest colour; sqrt: "
    "noise looks alike at all counts; asinh: log for large counts, linear about zero"
)


def scale_choice(look: Look, parent: qt.QWidget | None = None) -> qt.QComboBox:
    """Return the tool."""
    return choice(
        {scale.label: scale for scale in Scale}, TIP, look.scale, look.set_scale, look.changed, parent
    )
