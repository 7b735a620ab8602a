"""Values over the frames of a series, such as those of regions: several curves in one plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from silx.gui import qt
from silx.gui.plot import PlotWidget
from silx.gui.plot import items as silx_items

from penstock.gui import theme
from penstock.gui.layouts import in_column
from penstock.gui.live.plot.axes import dress, use_plain

_MARGINS = (90, 34, 30, 44)
_LEAST = 200, 120
"""Pixels, width and height."""
_ROOM = 0.25
"""Share of the axis that is left free for the frames to come."""
DOTS = 200
"""Values of a curve that has a dot for each: one between two missing frames has no line."""


@dataclass(frozen=True, eq=False)
class Curve:
    """One line of the plot."""

    name: str
    frames: npt.NDArray[np.int64]
    x: npt.NDArray[np.float64]
    y: npt.NDArray[np.float64]
    """NaN where a frame is missing: a gap."""
    ink: str
    chosen: bool = False
    """Drawn thicker; the cursor reads it."""
    dots_only: bool = False
    """Not every frame has a value."""


class OverAxes(silx_items.Curve):
    """A curve over axes that are not drawn again for it: matplotlib needs ten times as long for those."""

    def isOverlay(self) -> bool:
        """Return true: it is drawn above the rest."""
        return True

    def _addBackendRenderer(self, backend: Any) -> Any:
        renderer = super()._addBackendRenderer(backend)
        for artist in renderer.get_children() if renderer is not None else ():
            artist.set_animated(True)
        return renderer


class LinePlot(PlotWidget):
    """A plot of lines in the colours of the theme, which reads them under the cursor.

    Args:
        margins: left, upper, right and lower one around the axes: pixels of the screen. On the right half of
            the last number is beyond the axis.
        ground: colour around the axes.
    """

    read = qt.Signal(str)
    """What is under the cursor; "" beside the lines."""

    def __init__(
        self, margins: tuple[int, int, int, int], ground: str, parent: qt.QWidget | None = None
    ) -> None:
        super().__init__(parent, backend="mpl")
        self._margins = margins
        self._kind: object = None
        dress(self, ground)
        use_plain(self)
        # An offset, as matplotlib would write above the axis, is longer than the margin beside it.
        self.getBackend().ax.yaxis.get_major_formatter().set_useOffset(False)
        self.setMinimumSize(*_LEAST)
        self.sigPlotSignal.connect(self._follow_cursor)

    def text_at(self, x: float) -> str:
        """Return what is nearest to this place; "" if nothing is."""
        raise NotImplementedError

    def _follow_cursor(self, event: dict[str, object]) -> None:
        if event["event"] == "mouseMoved":
            self.read.emit(self.text_at(float(event["x"])))  # type: ignore[arg-type]

    def leaveEvent(self, event: qt.QEvent) -> None:
        """The cursor has left."""
        super().leaveEvent(event)
        self.read.emit("")

    def resizeEvent(self, event: qt.QResizeEvent) -> None:
        """Keep the axes' labels whole: silx' margins are parts of the width, text is not."""
        super().resizeEvent(event)
        width, height = max(self.width(), 150), max(self.height(), 100)
        left, upper, right, lower = self._margins
        self.setAxesMargins(left / width, upper / height, right / width, lower / height)


class RegionCurve(LinePlot):
    """Curves over frames, times or a motor."""

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(_MARGINS, theme.current().panel, parent)
        self._curves: tuple[Curve, ...] = ()
        self._lines: dict[str, OverAxes] = {}
        self.unit = "frame"
        """What the values are numbered by."""
        self.setSizePolicy(qt.QSizePolicy.Ignored, qt.QSizePolicy.Ignored)
        self.setAccessibleName("Values of regions per frame")

    def show_curves(
        self, curves: Sequence[Curve], x_label: str, y_label: str, kind: object = None, least: float = 0.0
    ) -> None:
        """Draw these, and no others.

        Args:
            curves: what is drawn.
            x_label: text at the x axis.
            y_label: text at the y axis.
            kind: for curves of another kind than those before the axes are found anew.
            least: length of the x axis behind the newest value that is left free for those to come.
        """
        for axis, label in ((self.getXAxis(), x_label), (self.getYAxis(), y_label)):
            if label != axis.getLabel():
                axis.setLabel(label)
        self._curves = tuple(curve for curve in curves if np.isfinite(curve.x).any())
        names = {curve.name for curve in self._curves}
        for name in [name for name in self._lines if name not in names]:
            self.removeItem(self._lines.pop(name))
        for curve in self._curves:
            self._draw(curve)
        if self._curves:
            new, self._kind = kind != self._kind, kind
            self._make_room(new, least)
        else:
            self._kind = None

    def _draw(self, curve: Curve) -> None:
        line = self._lines.get(curve.name)
        if line is None:
            line = self._lines[curve.name] = OverAxes()
            line.setName(curve.name)
            self.addItem(line)
        line.setData(curve.x, curve.y)
        line.setColor(curve.ink)
        line.setSymbol("x" if curve.dots_only else "o" if len(curve.x) <= DOTS else "")
        line.setSymbolSize(5)
        line.setLineStyle(" " if curve.dots_only else "-")
        line.setLineWidth(2.0 if curve.chosen else 1.0)

    def _make_room(self, new: bool, least: float) -> None:
        """Set the axes where curves have left them, or are much smaller."""
        (left, right), (bottom, top) = self.getGraphXLimits(), self.getGraphYLimits()
        xs, ys = (np.concatenate([getattr(curve, axis) for curve in self._curves]) for axis in ("x", "y"))
        both = np.isfinite(xs) & np.isfinite(ys)
        low, high = (float(ys[both].min()), float(ys[both].max())) if both.any() else (0.0, 1.0)
        first, last = float(np.nanmin(xs)), float(np.nanmax(xs))
        if new or first < left or last > right or first - left > 2 * _ROOM * (right - left):
            before = 0.02 * (last - first) or 0.5
            ahead = max(least, _ROOM * (last - first)) if least else before
            self.getXAxis().setLimits(first - min(before, 0.5) if least else first - before, last + ahead)
        margin = 0.1 * (high - low) or max(1.0, 0.1 * abs(high))
        if new or low < bottom or high > top or top - bottom > 40 * margin:
            self.getYAxis().setLimits(low - margin, high + margin)

    def curves(self) -> tuple[Curve, ...]:
        """Return what is drawn."""
        return self._curves

    def values(self) -> tuple[list[float], list[float]]:
        """Return x and y of the chosen curve."""
        curve = self._chosen()
        return ([], []) if curve is None else (curve.x.tolist(), curve.y.tolist())

    def _chosen(self) -> Curve | None:
        return next((curve for curve in self._curves if curve.chosen), None)

    def text_at(self, x: float) -> str:
        """Return what the chosen curve has nearest to this place; "" without one."""
        curve = self._chosen() or (self._curves[0] if self._curves else None)
        if curve is None:
            return ""
        away = np.where(np.isfinite(curve.y) & np.isfinite(curve.x), np.abs(curve.x - x), np.inf)
        place = int(np.argmin(away))
        if not np.isfinite(away[place]):
            return ""
        return f"{self.unit} {curve.frames[place]:,}   {curve.name}: {curve.y[place]:,.6g}"


class CurvePlace(qt.QWidget):
    """The place of a `RegionCurve`, which is made when it is first seen or drawn into.

    Two of them, hidden at first, would take a third of the time in which a live view is made.

    Args:
        unit: what the values are numbered by.
    """

    read = qt.Signal(str)
    """As of `RegionCurve`."""

    def __init__(self, unit: str = "frame", parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._unit = unit
        self._is_made = False
        self.setMinimumSize(*_LEAST)
        self.setSizePolicy(qt.QSizePolicy.Ignored, qt.QSizePolicy.Ignored)
        in_column(of=self)

    @cached_property
    def curve(self) -> RegionCurve:
        """The plot."""
        curve = RegionCurve(self)
        curve.unit = self._unit
        curve.read.connect(self.read)
        self.layout().addWidget(curve)
        self._is_made = True
        return curve

    def show_curves(
        self, curves: Sequence[Curve], x_label: str, y_label: str, kind: object = None, least: float = 0.0
    ) -> None:
        """See `RegionCurve.show_curves`."""
        if curves or self._is_made:
            self.curve.show_curves(curves, x_label, y_label, kind, least)

    def showEvent(self, event: qt.QShowEvent) -> None:
        """Make the plot, now that it is seen."""
        super().showEvent(event)
        self.curve.show()
