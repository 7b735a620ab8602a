"""The warning beside the frame's number that pixels are saturated."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.labels import BriefLabel
from penstock.gui.live.measure.counts import Saturated
from penstock.stins.texts import plural

SOME = "▲ Pixels are saturated. How many is not counted in blocks: set Transfer to all pixels"
UNCOUNTED = "Saturated pixels are not counted in blocks: set Transfer to all pixels"


class SaturationBanner(BriefLabel):
    """Seen only while more pixels are saturated than are allowed, or while they are not counted.

    It says less where there is little room; all of it is in the tool tip.
    """

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
            if saturated.some:
                self.set_texts(SOME, "▲ Pixels are saturated")
            else:
                self.set_texts(UNCOUNTED, "Saturation not counted")
        elif count > allowed:
            self._look(warns=True)
            are = "is" if count == 1 else "are"
            limit = f", more than {allowed:,}" if allowed else ""
            pixels, remedy = plural(count, "pixel"), "attenuate the beam or expose shorter"
            self.set_texts(
                f"▲ {pixels} {are} saturated{limit}: {remedy}",
                f"▲ {pixels} saturated: {remedy}", f"▲ {pixels} saturated", f"▲ {count:,} saturated",
            )  # fmt: skip
        self.setVisible(count is None or count > allowed)

    def _look(self, *, warns: bool) -> None:
        if warns == self._warns:
            return  # a style sheet costs more than all the rest
        self._warns, colours = warns, theme.current()
        edge, weight = (colours.warning, 600) if warns else (colours.accent, 400)
        self.setStyleSheet(
            f"background: {colours.edit}; color: {colours.text}; border-left: 4px solid {edge};"
            f" padding: 0 6px; font-weight: {weight};"
        )
