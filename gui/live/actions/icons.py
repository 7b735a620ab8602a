"""Icons of the tools, in the colours of the theme."""

from __future__ import annotations

import qtawesome  # type: ignore[import-untyped]
from silx.gui import qt

from penstock.gui import theme


def icon(name: str) -> qt.QIcon:
    """Return an icon of Font Awesome 5, as "fa5s.pause"; silx' own are drawn for a light background."""
    colours = theme.current()
    return qtawesome.icon(name, color=colours.text, color_disabled=colours.disabled)
