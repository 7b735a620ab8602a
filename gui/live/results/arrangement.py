"""Where the parts of the view of results are, the line below them, and which of them its forms hide."""

from __future__ import annotations

from dataclasses import dataclass

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.banner import StateBanner
from penstock.gui.labels import BriefLabel
from penstock.gui.layouts import in_column, in_row
from penstock.gui.live.actions.parts import Forms
from penstock.gui.live.past.bar import PastBar
from penstock.gui.live.results.listing import ResultList
from penstock.gui.live.results.pages.pages import ResultPages
from penstock.gui.live.results.tools import Tools
from penstock.gui.live.texts.caption import CaptionLine, Worth
from penstock.gui.live.texts.plate import Plate
from penstock.gui.live.texts.status_line import Readout

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


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What a view consists of."""

    banner: StateBanner
    plate: Plate
    results: ResultList
    picture: qt.QWidget
    """Takes the plots, and the line above them."""
    caption: CaptionLine
    legend: BriefLabel
    plots: ResultPages
    bar: PastBar
    tools: Tools
    status: StatusLine


def arrange(view: qt.QMainWindow, parts: Parts) -> Forms:
    """Lay out the parts in the view, and return its forms."""
    _fill_picture(parts)
    whole = qt.QWidget(view)
    right = in_column((parts.picture, 1), parts.bar, spacing=0)
    middle = in_row(parts.results, (right, 1), spacing=0)
    in_column(parts.banner, parts.plate, (middle, 1), of=whole, spacing=0)
    view.setCentralWidget(whole)
    view.addToolBar(parts.tools)
    view.setStatusBar(parts.status)
    parts.plate.hide()
    plots = parts.plots
    around = [
        parts.results, plots.levels, plots.colour_bar, parts.status, parts.caption, parts.bar, parts.tools,
    ]  # fmt: skip
    forms = Forms()
    forms.hide_in("tile", [parts.results, plots.levels, parts.status.address])
    forms.hide_in("bare", around)
    return forms


def _fill_picture(parts: Parts) -> None:
    in_column(parts.caption, (parts.plots, 1), of=parts.picture, spacing=0)
    parts.caption.add(parts.bar.line, lambda: Worth.ANSWER)
    parts.caption.add(parts.legend, lambda: Worth.SERIES)
    parts.legend.setStyleSheet(f"color: {theme.current().warning};")
    parts.legend.hide()
