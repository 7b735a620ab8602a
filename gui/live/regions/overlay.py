"""Regions drawn over the picture, with silx' own tools."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from silx.gui import qt
from silx.gui.plot.items.roi import RectangleROI
from silx.gui.plot.tools.roi import RegionOfInterestManager

from penstock.gui.live.plot.image_plot import ImagePlot
from penstock.gui.live.regions.model import Row, colour, rectangle
from penstock.receiver.models import Rectangle

_GROUND = "#000000A0"
_NAME_HEIGHT = 30
"""Pixels of the screen."""


class Region(RectangleROI):
    """A rectangle with its name on a dark ground, above it, or within where there is no room above."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setName(name)
        self.setLineWidth(2)
        self._handleLabel.setBackgroundColor(_GROUND)
        self.sigRegionChanged.connect(self.place_name)

    def place_name(self) -> None:
        """Find the name's place again: region or zoom have changed."""
        (x, y), (_, height) = self.getOrigin(), self.getSize()
        plot = self._handleLabel.getPlot()
        if plot is not None:
            top = min(plot.getGraphYLimits())
            pixel = abs(plot.pixelToData(0, 1, check=False)[1] - plot.pixelToData(0, 0, check=False)[1])
            self._handleLabel.setPosition(x, y if y - top > _NAME_HEIGHT * pixel else y + height)


class Overlay(qt.QObject):
    """Draws rows, and says what the mouse has done to them; coordinates are detector pixels."""

    drawn = qt.Signal(object)
    """`Rectangle` of a new region."""
    moved = qt.Signal(str, object)
    """Name and `Rectangle` of a region that was dragged."""
    selected = qt.Signal(str)
    """Name of the region that was clicked."""
    drawing = qt.Signal(bool)
    """True if the next drag in the picture draws a region."""

    def __init__(self, plot: ImagePlot, parent: qt.QObject | None = None) -> None:
        super().__init__(parent)
        self._plot = plot
        self._manager = RegionOfInterestManager(plot)
        self._rois: dict[str, Region] = {}
        self._selected: str | None = None
        self._editable = False
        self._editing: str | None = None
        self._manager.sigInteractiveRoiFinalized.connect(self._finish_drawing)
        self._manager.sigInteractiveModeStarted.connect(lambda _: self.drawing.emit(True))
        self._manager.sigInteractiveModeFinished.connect(lambda: self.drawing.emit(False))
        plot.sigPlotSignal.connect(self._select_clicked)
        plot.getYAxis().sigLimitsChanged.connect(self._place_names)

    def rois(self) -> dict[str, Region]:
        """Return what is drawn, by name."""
        return dict(self._rois)

    def show_rows(self, rows: Sequence[Row], *, editable: bool) -> None:
        """Draw these; one that is being dragged is left alone."""
        self._editable = editable
        names = [row.name for row in rows]
        for name in [name for name in self._rois if name not in names]:
            self._remove(name)
        for place, row in enumerate(rows):
            roi = self._rois.get(row.name) or self._add(row.name)
            roi.setEditable(editable and row.name == self._selected)
            roi.setColor(colour(place))
            roi.setLineStyle("--" if row.pending else "-")
            if row.name != self._editing and self._place(roi) != row.place:
                self._put(roi, row.place)

    def select(self, name: str | None) -> None:
        """Highlight one region; only that one has handles for dragging."""
        self._selected = name
        self._manager.setCurrentRoi(self._rois.get(name) if name is not None else None)
        for each, roi in self._rois.items():
            roi.setEditable(self._editable and each == name)

    def draw(self, on: bool) -> None:
        """Set whether the next drag in the picture draws a region."""
        if on:
            self._manager.start(RectangleROI)
        else:
            self._manager.stop()

    def _place_names(self) -> None:
        for roi in self._rois.values():
            roi.place_name()

    def _add(self, name: str) -> Region:
        roi = Region(name)
        roi.sigEditingStarted.connect(lambda: self._begin_drag(name))
        roi.sigEditingFinished.connect(lambda: self._end_drag(name))
        self._manager.addRoi(roi, useManagerColor=False)
        self._rois[name] = roi
        return roi

    def _remove(self, name: str) -> None:
        if self._editing == name:
            self._editing = None
        self._manager.removeRoi(self._rois.pop(name))

    def _begin_drag(self, name: str) -> None:
        self._editing = name

    def _end_drag(self, name: str) -> None:
        self._editing = None
        roi = self._rois.get(name)
        if roi is None:
            return
        place = self._place(roi)
        self._put(roi, place)  # to whole pixels
        self.moved.emit(name, place)

    def _finish_drawing(self, roi: RectangleROI) -> None:
        size, place = roi.getSize(), self._place(roi)
        # silx is not done with it before this returns.
        qt.QTimer.singleShot(0, lambda: self._take_drawn(roi, place if max(size) >= 1 else None))

    def _take_drawn(self, roi: RectangleROI, place: Rectangle | None) -> None:
        self._manager.stop()
        if roi in self._manager.getRois():
            self._manager.removeRoi(roi)
        if place is not None:
            self.drawn.emit(place)

    def _select_clicked(self, event: dict[str, object]) -> None:
        if event["event"] != "mouseClicked" or event["button"] != "left" or not self._editable:
            return
        found = [name for name, roi in self._rois.items() if roi.contains((event["x"], event["y"]))]
        if found:  # of several the smallest: no other way to reach it
            self.selected.emit(min(found, key=lambda name: float(np.prod(self._rois[name].getSize()))))

    def _place(self, roi: RectangleROI) -> Rectangle:
        (x, y), (width, height) = roi.getOrigin(), roi.getSize()
        return rectangle((x, y), (x + width, y + height), self._plot.frame_extent())

    @staticmethod
    def _put(roi: RectangleROI, place: Rectangle) -> None:
        roi.setGeometry(
            origin=np.array([place.x, place.y], float), size=np.array([place.width, place.height], float)
        )
