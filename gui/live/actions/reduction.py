"""What is drawn of several pixels that share one of the screen."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui.live.actions.choice import choice
from penstock.gui.live.drawing.blocks import Reduction
from penstock.gui.live.look import Look

TIP = (
    "What is drawn where several pixels share one of the screen: the greatest of them, so that no spot "
    "vanishes, or their mean. Pixels without a value take no part. Zoom in to see all pixels; counts that "
    "are read or saved are never reduced"
)


def reduction_choice(look: Look, parent: qt.QWidget | None = None) -> qt.QComboBox:
    """Return the tool."""
    return choice(
        {each.value: each for each in Reduction},
        TIP,
        look.reduction,
        look.set_reduction,
        look.changed,
        parent,
    )
