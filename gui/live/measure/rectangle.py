"""The rectangle whose counts are measured: drawn by hand, of whole pixels."""

from __future__ import annotations

import numpy as np
from silx.gui import qt
from silx.gui.plot.items.roi import RectangleROI

from penstock.gui.live.image_plot import ImagePlot
from penstock.gui.live.measure.shape import OneShape
from penstock.gui.live.regions.model import rectangle
from penstock.receiver.models import Rectangle

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
