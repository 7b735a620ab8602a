"""The line below the results: what is under the cursor, what was done, and the address."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.live.readout import Readout

SAID_MS = 8000
"""Milliseconds for which it says what was done."""
_BESIDE = 60
"""Pixels that neither what is read nor the address may take."""


class StatusLine(qt.QStatusBar):
    """Says it; the address only where there is room."""

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._readout = Readout(self)
        self.address = qt.QLabel(self)
        """Is hidden where the view is a tile among others."""
        self._readout.setStyleSheet("font-family: monospace; font-size: 11pt;")
        self.address.setStyleSheet(f"color: {theme.current().muted}; padding: 2px 8px;")
        self.setSizeGripEnabled(False)
        self.addWidget(self._readout, 1)
        self.addPermanentWidget(self.address)

    def read(self, text: str) -> None:
        """Say what is under the cursor; "": nothing is."""
        self._readout.set_text(text or "Point at the plot to read a value")

    def reading(self) -> str:
        """Return what it says of the place under the cursor."""
        return self._readout.pixel_text()

    def say(self, sentence: str, wrong: bool) -> None:
        """Say what was done, or why it was not, for a while."""
        self._readout.say(f"▲ {sentence}" if wrong else sentence, SAID_MS)

    def said(self) -> str:
        """Return what it says of what was done last."""
        return self._readout.said()

    def show_address(self, address: str, width: int) -> None:
        """Say the address if it fits into a view of this width."""
        room = width - self._readout.room() - _BESIDE
        fits = self.address.fontMetrics().horizontalAdvance(address) <= room
        self.address.setText(address if fits else "")
