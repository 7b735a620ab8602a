"""The running series and the last one: side by side where there is room, else the one that matters now."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui.layouts import in_row
from penstock.gui.model.detector import DetectorModel
from penstock.gui.model.view import DetectorView
from penstock.gui.panel.series.last_series import LastSeriesView
from penstock.gui.panel.series.series_view import SeriesView

BOTH = 1000
"""Pixels of width from which on both are shown."""


class SeriesArea(qt.QWidget):
    """Two views of one model."""

    def __init__(self, model: DetectorModel, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._view = DetectorView(name=model.name)
        self.running = SeriesView(model, self)
        self.last = LastSeriesView(model, self)
        in_row((self.running, 3, qt.Qt.AlignTop), (self.last, 2, qt.Qt.AlignTop), of=self, spacing=0)

    def minimumSizeHint(self) -> qt.QSize:
        """As high as the higher of both: the picture above must not jump when a series begins."""
        height = max(each.minimumSizeHint().height() for each in (self.running, self.last))
        return qt.QSize(super().minimumSizeHint().width(), height)

    def show_view(self, view: DetectorView) -> None:
        """Follow the snapshot."""
        self._view = view
        self._choose()

    def resizeEvent(self, event: qt.QResizeEvent) -> None:
        """Show both if there is room now."""
        super().resizeEvent(event)
        self._choose()

    def _choose(self) -> None:
        both = self.width() >= BOTH
        ended = not self._view.running and self._view.last is not None
        self.running.setVisible(both or not ended)
        self.last.setVisible(both or ended)
