"""Counts along a line, and of rows and columns, as a curve."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from silx.gui import qt
from silx.gui.plot.items.roi import LineROI

from penstock.gui import theme
from penstock.gui.labels import ElidedLabel
from penstock.gui.layouts import in_column, in_row
from penstock.gui.live.drawing.whole import Whole
from penstock.gui.live.measure.counts.counting import counted
from penstock.gui.live.measure.counts.counts import Kind, Profile, along, projected
from penstock.gui.live.measure.parts import tool_button
from penstock.gui.live.measure.shapes import OneShape, RectangleTool
from penstock.gui.live.plot.curves import Curve, CurvePlace, RegionCurve
from penstock.gui.live.plot.image_plot import ImagePlot
from penstock.gui.live.threads import Worker
from penstock.gui.number_fields import choice_box

COLOUR = "#4de3c1"
NO_LINE = "Draw a line in the picture: press Line, then drag."
BLOCKS = "Transferred in blocks: set Transfer to all pixels to draw a profile."
COLOURS = "Colours have no profile."
_X = {Kind.LINE: "pixels from the start", Kind.COLUMNS: "column (pixel)", Kind.ROWS: "row (pixel)"}


class ProfileTab(qt.QWidget):
    """Draws one profile of the frame on show, while it is seen.

    Args:
        plot: plot in which the line is drawn.
        rectangle: whose rows and columns are drawn; without one, those of the frame.
        worker: where it is computed.
    """

    def __init__(
        self, plot: ImagePlot, rectangle: RectangleTool, worker: Worker, parent: qt.QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.line = OneShape(plot, LineROI, "line", COLOUR, self)
        self._rectangle, self._worker = rectangle, worker
        self._whole: Whole | None = None
        self._mask: npt.NDArray[Any] | None = None
        self._place = CurvePlace("pixel", self)
        tip = "What is drawn; without a rectangle, rows and columns of the whole frame"
        self.kind = choice_box([each.value for each in Kind], tip, self)
        self.value = choice_box(["sum", "mean"], "Of the pixels of a row or column that count", self)
        self.draw = tool_button("Line", "fa5s.slash", "Draw a line: press, then drag in the picture", self)
        self.draw.setCheckable(True)
        self._says = ElidedLabel(self)
        self._says.setStyleSheet(f"color: {theme.current().muted};")
        self._lay_out()
        self.draw.clicked.connect(self.line.draw)
        self.draw.clicked.connect(lambda _: self.kind.setCurrentText(Kind.LINE.value))
        self.line.drawing.connect(self.draw.setChecked)
        self.line.changed.connect(self._ask)
        rectangle.changed.connect(self._ask)
        self.kind.currentTextChanged.connect(lambda _: self._ask())
        self.value.currentTextChanged.connect(lambda _: self._ask())
        self._place.read.connect(self._says.set_whole)
        worker.done.connect(self._take, qt.Qt.QueuedConnection)
        self._ask()

    @property
    def curve(self) -> RegionCurve:
        """The plot."""
        return self._place.curve

    def says(self) -> str:
        """Return what is said beside the buttons."""
        return self._says.whole()

    def set_line(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Put the line there: columns and rows."""
        shape = LineROI()
        shape.setEndPoints(np.array(start), np.array(end))
        self.line.put(shape)

    def show_whole(self, whole: Whole | None, mask: npt.NDArray[Any] | None) -> None:
        """Draw a profile of this frame.

        Args:
            whole: the frame; `None`: there is none.
            mask: mask of the series, as for `counted`.
        """
        self._whole, self._mask = whole, mask
        self._ask()

    def showEvent(self, event: qt.QShowEvent) -> None:
        """Draw, now that somebody looks."""
        super().showEvent(event)
        self._ask()

    def _ask(self) -> None:
        whole, mask = self._whole, self._mask
        kind, place = Kind(self.kind.currentText()), self._rectangle.place()
        self.value.setEnabled(kind is not Kind.LINE)
        shape = self.line.shape()
        said = ""
        if whole is not None and (whole.is_reduced or whole.has_colours):
            said = BLOCKS if whole.is_reduced else COLOURS
        elif kind is Kind.LINE and shape is None:
            said = NO_LINE
        self._says.set_whole(said)
        if said or whole is None or not self.isVisible():
            self._worker.forget("profile")
            self._place.show_curves([], "", "")
            return
        if kind is Kind.LINE:
            start, end = (tuple(float(each) for each in point) for point in shape.getEndPoints())
            self._worker.ask("profile", lambda: along(counted(whole, mask), start, end))  # type: ignore[arg-type]
        else:
            mean = self.value.currentText() == "mean"
            self._worker.ask("profile", lambda: projected(counted(whole, mask), place, kind, mean=mean))

    def _take(self, name: str, found: Profile) -> None:
        if name != "profile" or found.kind is not Kind(self.kind.currentText()):
            return
        line = found.kind is Kind.LINE
        label = "counts" if line else f"{self.value.currentText()} of counts"
        places = np.floor(found.x).astype(np.int64)
        curve = Curve(found.kind.value, places, found.x, found.y, COLOUR, chosen=True)
        extent = (float(found.x[0]), float(found.x[-1])) if found.x.size else None
        self._place.show_curves([curve], _X[found.kind], label, (found.kind, label, extent))

    def _lay_out(self) -> None:
        tools = in_row(self.draw, self.kind, self.value, (self._says, 1), spacing=8)
        in_column(tools, (self._place, 1), of=self, margins=(12, 4, 12, 2), spacing=2)
