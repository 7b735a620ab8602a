"""The strip above the picture that says what was done to the frame."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.labels import ElidedLabel


class TreatmentStrip(ElidedLabel):
    """Seen only while the picture is not the frame as it was received."""

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        colours = theme.current()
        self.setStyleSheet(
            f"background: {colours.panel}; color: {colours.text}; border-left: 4px solid {colours.accent};"
            " padding: 3px 10px; font-weight: 600;"
        )
        self.hide()

    def show_text(self, text: str) -> None:
        """Say it; hide if there is nothing to say."""
        self.set_whole(text)
        self.setVisible(bool(text))
