"""What a tool consists of: an icon in the colours of the theme, its name, what it is for, and its key."""

from __future__ import annotations

import qtawesome  # type: ignore[import-untyped]
from silx.gui import qt

from penstock.gui import theme


def icon(name: str) -> qt.QIcon:
    """Return an icon of Font Awesome 5, as "fa5s.pause"; silx' own are drawn for a light background."""
    colours = theme.current()
    return qtawesome.icon(name, color=colours.text, color_disabled=colours.disabled)


class Tool(qt.QAction):
    """A tool of a view.

    Args:
        name: stands in place of the icon where there is room for words.
        picture: the icon, see `icon`; "": none.
        tip: what it is for.
        parent: widget to which it belongs.
        key: its shortcut; "": none.
        checkable: whether it is a switch.
    """

    said = qt.Signal(str, bool)
    """What was done, or why it was not: a sentence; and whether something is wrong."""

    def __init__(
        self, name: str, picture: str, tip: str, parent: qt.QObject | None, key: object = "", *,
        checkable: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(name, parent)
        if picture:
            self.setIcon(icon(picture))
        self.setToolTip(tip)
        self.setShortcut(key)
        self.setCheckable(checkable)
