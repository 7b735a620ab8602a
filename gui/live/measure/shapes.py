"""Shapes drawn over the picture with the mouse, moved and removed, and the rectangle that is measured."""

from __future__ import annotations

from typing import Any

import numpy as np
from silx.gui import qt
from silx.gui.plot.items.roi import RectangleROI, RegionOfInterest
from silx.gui.plot.tools.roi import RegionOfInterestManager

from penstock.gui.live.actions.tool_line import Tool
from penstock.gui.live.plot.image_plot import ImagePlot
from penstock.gui.live.regions.model import rectangle
from penstock.receiver.models import Rectangle


class OneShape(qt.QObject):
    """The next drag in the picture draws a shape, which replaces the one before.

    Args:
        plot: plot over which it is drawn.
        kind: what is drawn: a class of silx' regions.
        name: written beside it.
        colour: of its lines.
    """

    changed = qt.Signal()
    """The shape was drawn, moved or removed by the user."""
    drawing = qt.Signal(bool)
    """True if the next drag in the picture draws it."""

    def __init__(
        self, plot: ImagePlot, kind: type[Any], name: str, colour: str, parent: qt.QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._plot, self._kind = plot, kind
        self._name, self._colour = name, colour
        self._manager = RegionOfInterestManager(plot)
        self._shape: RegionOfInterest | None = None
        self._manager.sigInteractiveRoiFinalized.connect(self._finish)
        self._manager.sigInteractiveModeStarted.connect(lambda _: self.drawing.emit(True))
        self._manager.sigInteractiveModeFinished.connect(lambda: self.drawing.emit(False))
        plot.getWidgetHandle().installEventFilter(self)

    def shape(self) -> Any:
        """Return what is drawn; `None` if there is none."""
        return self._shape

    def draw(self, on: bool) -> None:
        """Set whether the next drag in the picture draws it."""
        if on:
            self._manager.start(self._kind)
        else:
            self._manager.stop()

    def eventFilter(self, watched: qt.QObject, event: qt.QEvent) -> bool:
        """End a polygon by a double click on its last corner; silx itself has it end at its first one."""
        if event.type() == qt.QEvent.MouseButtonDblClick and self._manager.isDrawing():
            # silx takes the click first, and puts a corner there.
            qt.QTimer.singleShot(0, self._plot.interaction()._validate)
        return bool(super().eventFilter(watched, event))

    def put(self, shape: RegionOfInterest) -> None:
        """Show this one, as if it was drawn."""
        self._manager.addRoi(shape, useManagerColor=False)
        self._take(shape)

    def remove(self) -> None:
        """Remove it."""
        if self._shape is not None:
            shape, self._shape = self._shape, None
            self._manager.removeRoi(shape)
            self.changed.emit()

    def _finish(self, shape: RegionOfInterest) -> None:
        # silx is not done with it before this returns.
        qt.QTimer.singleShot(0, lambda: self._end_drawing(shape))

    def _end_drawing(self, shape: RegionOfInterest) -> None:
        self._manager.stop()
        if shape in self._manager.getRois():
            self._take(shape)

    def _take(self, shape: RegionOfInterest) -> None:
        before, self._shape = self._shape, shape
        if before is not None:
            self._manager.removeRoi(before)
        shape.setName(self._name)
        shape.setColor(self._colour)
        shape.setLineWidth(2)
        shape.setEditable(True)
        shape.sigRegionChanged.connect(self.changed)
        self.changed.emit()


COLOUR = "#ffffff"


class RectangleTool(OneShape):
    """Draws one rectangle; `place` has its pixels."""

    def __init__(self, plot: ImagePlot, parent: qt.QObject | None = None) -> None:
        super().__init__(plot, RectangleROI, "rectangle", COLOUR, parent)
        self._plot = plot

    def place(self) -> Rectangle | None:
        """Return the pixels whose sum is wanted: of the picture, in which several images are one below the
        other. `None` without a rectangle."""
        shape = self.shape()
        if shape is None:
            return None
        (x, y), (width, height) = shape.getOrigin(), shape.getSize()
        return rectangle((x, y), (x + width, y + height), self._plot.picture_extent())

    def image_extent(self) -> tuple[int, int] | None:
        """Return columns and rows of one image, in detector pixels; `None` before the first."""
        return self._plot.frame_extent()

    def set_place(self, place: Rectangle) -> None:
        """Put the rectangle there."""
        shape = RectangleROI()
        shape.setGeometry(
            origin=np.array([place.x, place.y], float), size=np.array([place.width, place.height], float)
        )
        self.put(shape)


def draw_rectangle(rectangle: RectangleTool, parent: qt.QObject | None = None) -> Tool:
    """Return the switch. Checked: the next drag in the picture draws the rectangle."""
    tip = "Measure a rectangle (B): press, then drag in the picture"
    tool = Tool("Rectangle", "fa5s.vector-square", tip, parent, "B", checkable=True)
    tool.triggered.connect(rectangle.draw)
    rectangle.drawing.connect(tool.setChecked)
    return tool
