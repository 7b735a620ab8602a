"""The colour maps on offer."""

from __future__ import annotations

from silx.gui import qt
from silx.gui.colors import Colormap

from penstock.gui import theme

NAMES = {
    "viridis": "viridis",
    "gray": "gray",
    "reversed gray": "reversed gray",
    "fire": "hot",
    "inferno": "inferno",
}
"""What the user reads, and silx' name."""
DEFAULT = "viridis"


def image_colours() -> Colormap:
    """Colours of the counts: linear, levels still to be set."""
    colormap = Colormap(NAMES[DEFAULT], vmin=0.0, vmax=1.0)
    colormap.setNaNColor(qt.QColor(theme.current().invalid_pixel))
    return colormap
