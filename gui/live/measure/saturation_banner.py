"""The strip above the picture that warns of saturated pixels."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.elided import ElidedLabel
from penstock.gui.live.measure.counts import Saturated
from penstock.stins.texts import plural

SOME = "▲ Pixels are saturated. How many is not counted in blocks: set Transfer to all pixels"
UNCOUNTED = "Saturated pixels are not counted in blocks: set Transfer to all pixels"


class SaturationBanner(ElidedLabel):
    """Seen only while more pixels are saturated than are allowed, or while they are not counted."""

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._warns: bool | None = None
        self._look(warns=True)
        self.hide()

    def show_saturated(self, saturated: Saturated, allowed: int) -> None:
        """Say how many are saturated, or that nobody knows; hide if there is nothing to say."""
        count = saturated.count
        if count is None:
            self._look(warns=saturated.some)
            self.set_whole(SOME if saturated.some else UNCOUNTED)
        elif count > allowed:
            self._look(warns=True)
            are = "is" if count == 1 else "are"
            limit = f", more than {allowed:,}" if allowed else ""
            self.set_whole(
                f"▲ {plural(count, 'pixel')} {are} saturated{limit}: attenuate the beam or expose shorter"
            )
        self.setVisible(count is None or count > allowed)

    def _look(self, *, warns: bool) -> None:
        if warns == self._warns:
            return  # a style sheet costs more than all the rest
        self._warns, colours = warns, theme.current()
        edge, weight = (colours.warning, 600) if warns else (colours.accent, 400)
        self.setStyleSheet(
            f"background: {colours.edit}; color: {colours.text}; border-left: 4px solid {edge};"
            f" padding: 3px 10px; font-weight: {weight};"
        )
