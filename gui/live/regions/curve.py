"""One value of one region over the frames of a series."""

from __future__ import annotations

from silx.gui import qt
from silx.gui.plot import PlotWidget

from penstock.gui import theme
from penstock.gui.live.regions.history import History

_LEFT, _BOTTOM, _EDGE, _TOP = 74, 44, 12, 34
"""Margins around the axes: pixels of the screen."""


class RegionCurve(PlotWidget):
    """Frame index on the x axis, so that a missing frame is a gap."""

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent, backend="mpl")
        self._drawn: tuple[str, str] | None = None
        colours = theme.current()
        self.setBackgroundColor(colours.panel)
        self.setDataBackgroundColor(colours.beside)
        self.setForegroundColor(colours.muted)
        self.setGridColor(colours.line)
        self.setGraphTitle("")
        self.setDataMargins(0.02, 0.02, 0.06, 0.06)
        self.getXAxis().setLabel("frame")
        self.setMinimumSize(200, 120)
        self.setSizePolicy(qt.QSizePolicy.Ignored, qt.QSizePolicy.Ignored)
        self.setAccessibleName("Values of a region per frame")

    def show_history(self, history: History | None, region: str | None, value: str, ink: str) -> None:
        """Draw what is known of one value; nothing where nothing is."""
        self.getYAxis().setLabel(f"{value} of {region}" if region else value)
        if history is None or region is None:
            self.clear()
            self._drawn = None
            return
        frames, values = history.curve(region, value)
        if not len(values):
            self.clear()
            return
        new = self._drawn != (history.series, region)
        self._drawn = (history.series, region)
        symbol = "o" if len(values) <= 200 else ""  # a frame between two missing ones has no line
        curve = self.getCurve("values")
        if curve is None or new:
            self.addCurve(frames, values, legend="values", color=ink, symbol=symbol, resetzoom=False)
        else:
            curve.setData(frames, values)
            curve.setSymbol(symbol)
            curve.setColor(ink)
        self.resetZoom()

    def values(self) -> tuple[list[int], list[float]]:
        """Return what is drawn."""
        curve = self.getCurve("values")
        if curve is None:
            return [], []
        return [int(x) for x in curve.getXData()], [float(y) for y in curve.getYData()]

    def resizeEvent(self, event: qt.QResizeEvent) -> None:
        """Keep the axes' labels whole: silx' margins are parts of the width, text is not."""
        super().resizeEvent(event)
        width, height = max(self.width(), 150), max(self.height(), 100)
        self.setAxesMargins(_LEFT / width, _TOP / height, _EDGE / width, _BOTTOM / height)
