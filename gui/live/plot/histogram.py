"""How often counts are found, beside the colour bar: the levels are dragged on it, or typed."""

from __future__ import annotations

import numpy as np
from silx.gui import qt

from penstock.gui import theme
from penstock.gui.layouts import in_column
from penstock.gui.live.drawing.levels import Histogram, Levels, Scale
from penstock.gui.live.plot.look import Look
from penstock.gui.number_fields import read_number, select_whole

WIDTH = 72
"""Pixels of the screen."""
NEAR = 12
"""Pixels within which a press takes a level."""
_EDGE = 9
"""Room for the handles above and below the bins."""


class LevelsTool(qt.QWidget):
    """Histogram, with the greatest level above it and the least below.

    Args:
        look: its levels are shown and set.
    """

    def __init__(self, look: Look, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self.bins = Bins(look, self)
        self.high, self.low = self._field("greatest"), self._field("least")
        in_column(self.high, (self.bins, 1), self.low, of=self, margins=(4, 6, 0, 6), spacing=3)
        self.setFixedWidth(WIDTH)
        look.colormap.sigChanged.connect(self._show_levels)
        self._show_levels()

    def show_histogram(self, histogram: Histogram | None) -> None:
        """Show that of the frame on show; nothing where a frame has none."""
        self.bins.show_histogram(histogram)

    def _field(self, which: str) -> qt.QLineEdit:
        field = qt.QLineEdit(self)
        select_whole(field)
        field.setAlignment(qt.Qt.AlignRight)
        field.setToolTip(
            f"Count of the {which} colour; a number typed here, or a drag on the histogram, sets it"
        )
        field.setAccessibleName(f"Count of the {which} colour")
        field.setStyleSheet(f"color: {theme.current().text}; padding: 1px 3px;")
        field.editingFinished.connect(self._take_typed)
        return field

    def _take_typed(self) -> None:
        if not (self.low.isModified() or self.high.isModified()):
            return
        # Of the other one the field has but the first digits.
        low, high = (
            read_number(field.text()) if field.isModified() else level
            for field, level in zip((self.low, self.high), self._look.levels(), strict=True)
        )
        if low is not None and high is not None and np.isfinite([low, high]).all() and low < high:
            self._look.set_levels(low, high)
        self._show_levels(also_edited=True)

    def _show_levels(self, also_edited: bool = False) -> None:
        for field, value in zip((self.low, self.high), self._look.levels(), strict=True):
            if also_edited or not (field.hasFocus() and field.isModified()):
                text = f"{value:,.0f}" if value == round(value) and abs(value) < 1e9 else f"{value:,.5g}"
                if text != field.text() or field.isModified():
                    field.setText(text)
        self.bins.update()


class Bins(qt.QWidget):
    """The bins, one below the other with the greatest counts on top, and a line for each level."""

    changed = qt.Signal()
    """Its range, its place, or whether it is seen: what stands beside it has the same scale."""

    def __init__(self, look: Look, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._histogram: Histogram | None = None
        self._dragged: str | None = None
        self.setMinimumHeight(80)
        self.setCursor(qt.Qt.SizeVerCursor)
        self.setToolTip(
            "How often each count is found; drag a line to set the level of the first or the last colour"
        )
        self.setAccessibleName("Histogram with the two levels")

    def histogram(self) -> Histogram | None:
        """Return what is on show."""
        return self._histogram

    def show_histogram(self, histogram: Histogram | None) -> None:
        """Show this one; not while a level is being dragged, whose place would change."""
        if self._dragged is None:
            self._histogram = histogram
            self.update()
            self.changed.emit()

    def range(self) -> tuple[float, float]:
        """Return the counts at its lower and its upper end."""
        return self._axis()[1:]

    def beyond(self) -> tuple[str, str]:
        """Return what is said of the greatest and the least count: "" where the bins go so far."""
        found = self._histogram
        if found is None:
            return "", ""
        (least, most), slack = found.ends, 1e-6 * (abs(found.low) + abs(found.high))
        return (
            f"▴ {most:,.6g}" if most > found.high + slack else "",
            f"▾ {least:,.6g}" if least < found.low - slack else "",
        )

    def row(self, value: float) -> float:
        """Return where a count is, in pixels from the top."""
        scale, low, high = self._axis()
        first, last, place = (float(each) for each in scale.place(np.array([low, high, value])))
        share = (place - first) / (last - first) if last > first else 0.0
        return _EDGE + (1.0 - share) * self._height()

    def value(self, row: float) -> float:
        """Return the count at a place, in pixels from the top."""
        scale, low, high = self._axis()
        first, last = (float(each) for each in scale.place(np.array([low, high])))
        share = 1.0 - (row - _EDGE) / self._height()
        return scale.value_at(first + min(max(share, 0.0), 1.0) * (last - first))

    def _axis(self) -> tuple[Scale, float, float]:
        if self._histogram is None:
            return self._look.scale(), *self._look.levels()
        return self._histogram.scale, self._histogram.low, self._histogram.high

    def _height(self) -> int:
        return max(1, int(self.height()) - 2 * _EDGE)

    def event(self, event: qt.QEvent) -> bool:
        """Tell of where it is."""
        done = super().event(event)
        if event.type() in (qt.QEvent.Resize, qt.QEvent.Move, qt.QEvent.Show, qt.QEvent.Hide):
            self.changed.emit()
        return bool(done)

    def mousePressEvent(self, event: qt.QMouseEvent) -> None:
        """Take the level that is nearest."""
        if event.button() != qt.Qt.LeftButton:
            return
        away = {
            name: abs(self.row(level) - event.y()) for name, level in self._look.levels()._asdict().items()
        }
        nearest = min(away, key=lambda name: away[name])
        self._dragged = nearest if away[nearest] <= NEAR else None

    def mouseMoveEvent(self, event: qt.QMouseEvent) -> None:
        """Set the level that was taken; it never passes the other one."""
        if self._dragged is None:
            return
        low, high = self._look.levels()
        value = self.value(event.y())
        levels = Levels(value, high) if self._dragged == "low" else Levels(low, value)
        if levels.low < levels.high:
            self._look.set_levels(*levels)

    def mouseReleaseEvent(self, event: qt.QMouseEvent) -> None:
        """Let go of the level."""
        self._dragged = None

    def paintEvent(self, event: qt.QPaintEvent) -> None:
        """Draw the bins and the two lines."""
        colours = theme.current()
        painter = qt.QPainter(self)
        painter.fillRect(self.rect(), qt.QColor(colours.beside))
        low, high = self._look.levels()
        bottom, top = self.row(low), self.row(high)
        found = self._histogram
        if found is not None and found.counts.any():
            lengths = np.log1p(found.counts) / np.log1p(found.counts.max()) * (self.width() - 6)
            edges = _EDGE + self._height() * (1.0 - np.arange(len(lengths) + 1) / len(lengths))
            for length, lower, upper in zip(lengths, edges[:-1], edges[1:], strict=True):
                if length > 0:
                    within = top - 1 <= (lower + upper) / 2 <= bottom + 1
                    ink = qt.QColor(colours.accent if within else colours.disabled)
                    painter.fillRect(qt.QRectF(2, upper, max(1.0, length), lower - upper + 0.5), ink)
        painter.setPen(qt.QColor(colours.muted))
        for said, where in zip(self.beyond(), (qt.Qt.AlignTop, qt.Qt.AlignBottom), strict=True):
            painter.drawText(self.rect().adjusted(0, 1, -3, -1), where | qt.Qt.AlignRight, said)
        pen = qt.QPen(qt.QColor(colours.text))
        pen.setWidth(2)
        painter.setPen(pen)
        painter.setBrush(qt.QColor(colours.text))
        for row in (bottom, top):
            row = min(
                max(row, 3.0), self.height() - 3.0
            )  # one that is out of the range is still there to be taken
            painter.drawLine(qt.QPointF(0, row), qt.QPointF(self.width(), row))
            tip = self.width()
            corners = (qt.QPointF(tip, row - 5), qt.QPointF(tip, row + 5), qt.QPointF(tip - 7, row))
            painter.drawPolygon(qt.QPolygonF(corners))
        painter.end()
