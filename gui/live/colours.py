"""The colour maps on offer, and how colours are laid over the image's values."""

from __future__ import annotations

import numpy as np
from silx.gui import qt
from silx.gui.colors import Colormap

from penstock.gui import theme
from penstock.gui.live.pixels import Flag

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


def flag_colours() -> Colormap:
    """Colours of the `Flag`s: a good pixel is transparent."""
    table = np.zeros((len(Flag), 4), np.uint8)
    for flag, name in (
        (Flag.INVALID, theme.current().invalid_pixel),
        (Flag.SATURATED, theme.current().saturated_pixel),
    ):
        table[flag] = qt.QColor(name).getRgb()
    colormap = Colormap(vmin=0, vmax=len(Flag) - 1)
    colormap.setColormapLUT(table)
    return colormap
