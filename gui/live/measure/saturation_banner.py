"""The strip above the picture that warns of saturated pixels."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.elided import ElidedLabel
from penstock.stins.texts import plural


class SaturationBanner(ElidedLabel):
    """Seen only while more pixels are saturated than are allowed."""

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        colours = theme.current()
        self.setStyleSheet(
            f"background: {colours.edit}; color: {colours.text}; border-left: 4px solid {colours.warning};"
            " padding: 3px 10px; font-weight: 600;"
        )
        self.hide()

    def show_count(self, saturated: int, allowed: int) -> None:
        """Say how many are saturated, or hide."""
        many = saturated > allowed
        if many:
            are = "is" if saturated == 1 else "are"
            limit = f", more than {allowed:,}" if allowed else ""
            self.set_whole(
                f"▲ {plural(saturated, 'pixel')} {are} saturated{limit}: attenuate the beam or expose shorter"
            )
        self.setVisible(many)
