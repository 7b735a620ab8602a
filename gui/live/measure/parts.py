"""Widgets that the tabs of the measuring tools share."""

from __future__ import annotations

import qtawesome  # type: ignore[import-untyped]
from silx.gui import qt

from penstock.gui import theme
from penstock.gui.theme import dress


def tool_button(name: str, icon: str, tip: str, parent: qt.QWidget) -> qt.QToolButton:
    """Return a button with a small icon before its name.

    Args:
        name: its text.
        icon: as QtAwesome names it.
        tip: tool tip.
        parent: widget to which it belongs.
    """
    button = qt.QToolButton(parent)
    button.setText(name)
    button.setIcon(qtawesome.icon(icon, color=theme.current().text))
    button.setIconSize(qt.QSize(13, 13))
    button.setToolButtonStyle(qt.Qt.ToolButtonTextBesideIcon)
    button.setToolTip(tip)
    return button


class Sentence(qt.QLabel):
    """What a tab says of its figures, as a note or as a warning."""

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWordWrap(True)
        self.setTextFormat(qt.Qt.PlainText)

    def say(self, sentence: str, *, trouble: bool = False) -> None:
        """Say this; the sign says to who sees no colours that it is a warning."""
        colours = theme.current()
        self.setText(f"▲ {sentence}" if trouble else sentence)
        dress(self, f"color: {colours.warning if trouble else colours.muted};")
