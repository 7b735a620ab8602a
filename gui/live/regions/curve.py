"""One value of one region over the frames of a series."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from silx.gui import qt
from silx.gui.plot import PlotWidget
from silx.gui.plot.items import Curve

from penstock.gui import theme
from penstock.gui.live.regions.history import History

_LEFT, _BOTTOM, _EDGE, _TOP = 74, 44, 12, 34
"""Margins around the axes: pixels of the screen."""


_ROOM = 0.25
"""Share of the axis that is left free for the frames to come."""
_LEAST_FRAMES = 20


class _Values(Curve):
    """A curve over axes that are not drawn again for it: matplotlib needs ten times as long for those."""

    def isOverlay(self) -> bool:
        """Return true: it is drawn above the rest."""
        return True

    def _addBackendRenderer(self, backend: Any) -> Any:
        renderer = super()._addBackendRenderer(backend)
        for artist in renderer.get_children() if renderer is not None else ():
            artist.set_animated(True)
        return renderer


class RegionCurve(PlotWidget):
    """Frame index on the x axis, so that a missing frame is a gap."""

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent, backend="mpl")
        self._drawn: tuple[str, str, str] | None = None
        self._values = _Values()
        self._values.setName("values")
        self._values.setVisible(False)
        self.addItem(self._values)
        colours = theme.current()
        self.setBackgroundColor(colours.panel)
        self.setDataBackgroundColor(colours.beside)
        self.setForegroundColor(colours.muted)
        self.setGridColor(colours.line)
        self.setGraphTitle("")
        self.getXAxis().setLabel("frame")
        self.setMinimumSize(200, 120)
        self.setSizePolicy(qt.QSizePolicy.Ignored, qt.QSizePolicy.Ignored)
        self.setAccessibleName("Values of a region per frame")

    def show_history(self, history: History | None, region: str | None, value: str, ink: str) -> None:
        """Draw what is known of one value; nothing where nothing is."""
        label = f"{value} of {region}" if region else value
        if label != self.getYAxis().getLabel():
            self.getYAxis().setLabel(label)
        frames = values = np.zeros(0)
        if history is not None and region is not None:
            frames, values = (np.asarray(each, np.float64) for each in history.curve(region, value))
        self._values.setVisible(bool(values.size))
        if history is None or region is None or not values.size:
            self._drawn = None
            return
        new = self._drawn != (history.series, region, value)
        self._drawn = (history.series, region, value)
        self._values.setData(frames, values)
        self._values.setSymbol("o" if values.size <= 200 else "")  # one between two missing ones has no line
        self._values.setColor(ink)
        self._make_room(frames, values, new)

    def _make_room(self, frames: npt.NDArray[np.float64], values: npt.NDArray[np.float64], new: bool) -> None:
        """Set the axes where the curve has left them, or is much smaller."""
        (left, right), (bottom, top) = self.getGraphXLimits(), self.getGraphYLimits()
        first, last = frames[0], frames[-1]
        known = values[np.isfinite(values)]
        low, high = (known.min(), known.max()) if known.size else (0.0, 1.0)
        if new or first < left or last > right or first - left > 2 * _ROOM * (right - left):
            self.getXAxis().setLimits(first - 0.5, last + max(_LEAST_FRAMES, _ROOM * (last - first)))
        margin = 0.1 * (high - low) or max(1.0, 0.1 * abs(high))
        if new or low < bottom or high > top or top - bottom > 40 * margin:
            self.getYAxis().setLimits(low - margin, high + margin)

    def values(self) -> tuple[list[int], list[float]]:
        """Return what is drawn."""
        if not self._values.isVisible():
            return [], []
        return [int(x) for x in self._values.getXData()], [float(y) for y in self._values.getYData()]

    def resizeEvent(self, event: qt.QResizeEvent) -> None:
        """Keep the axes' labels whole: silx' margins are parts of the width, text is not."""
        super().resizeEvent(event)
        width, height = max(self.width(), 150), max(self.height(), 100)
        self.setAxesMargins(_LEFT / width, _TOP / height, _EDGE / width, _BOTTOM / height)
