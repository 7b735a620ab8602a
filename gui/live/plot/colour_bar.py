"""The colour bar beside the picture: which colour is which count."""

from __future__ import annotations

import math

import numpy as np
from silx.gui import qt

from penstock.gui import theme
from penstock.gui.live.drawing.levels import Scale
from penstock.gui.live.plot.histogram import Bins
from penstock.gui.live.plot.look import Look

BAR = 14
"""Pixels that the colours are wide."""
_APART, _STEP = 18, 36
"""Pixels from one label to the next, at least; and on a linear scale."""
_EDGE, _TICK = 6, 4
_POINTS = 8.0
_WHOLE = 1_000
"""From here on there is no room for fractions."""
_LARGE = 10_000_000
"""From here on numbers are powers of ten: there is no room for more digits."""


class ColourBar(qt.QWidget):
    """Colours from the lowest level, at the bottom, to the highest, and the counts that they stand for.

    silx' own takes half as much room again as its numbers need, and makes itself anew with each frame.

    Args:
        look: its levels, scale and colours are shown.
        bins: histogram beside it; while that is seen, a count is at the same height in both, and what is
            beyond the levels has the first and the last colour.
    """

    def __init__(self, look: Look, bins: Bins | None = None, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._bins = bins
        font = self.font()
        font.setPointSizeF(_POINTS)
        self.setFont(font)
        self.setFixedWidth(
            _EDGE + BAR + _TICK + self.fontMetrics().horizontalAdvance(f"{_LARGE // 10:,}") + 6
        )
        self.setMinimumHeight(4 * _APART)
        self.setToolTip("Counts, and the colours that they have")
        self.setAccessibleName("Colour bar")
        look.colormap.sigChanged.connect(self.update)
        if bins is not None:
            bins.changed.connect(self.update)

    def ticks(self) -> list[float]:
        """Return the counts that have a label, from the highest to the lowest; the levels come first."""
        beside = self._beside()
        low, high = self._look.levels() if beside is None else beside.range()
        scale = self._look.scale()
        found: list[float] = []
        most = max(1, int(abs(self.row(low) - self.row(high)) / _STEP))
        least, greatest = self._look.levels()
        for value in (greatest, least, *round_numbers(low, high, scale, most)):
            row = self.row(value)
            if low <= value <= high and all(abs(row - self.row(each)) >= _APART for each in found):
                found.append(value)
        return sorted(found, reverse=True)

    def row(self, value: float) -> float:
        """Return where a count is, in pixels from the top."""
        beside = self._beside()
        if beside is not None:
            return float(beside.row(value) + self.mapFromGlobal(beside.mapToGlobal(qt.QPoint(0, 0))).y())
        first, last, place = (float(each) for each in self._look.scale().place(self._values(value)))
        share = (place - first) / (last - first) if last > first else 0.0
        return float(self._top() + (1.0 - share) * self._room())

    def _beside(self) -> Bins | None:
        return self._bins if self._bins is not None and self._bins.isVisible() else None

    def sizeHint(self) -> qt.QSize:
        """As high as the picture beside it."""
        return qt.QSize(self.width(), self.minimumHeight())

    def paintEvent(self, event: qt.QPaintEvent) -> None:
        """Draw colours, ticks and numbers."""
        painter = qt.QPainter(self)
        self._draw(painter)
        painter.end()

    def draw_alone(self, painter: qt.QPainter, place: qt.QPointF, height: float) -> None:
        """Draw it as it is without a histogram beside it: colours so high, from this place on."""
        alone = ColourBar(self._look)
        alone.resize(self.width(), round(height + 2 * alone._top()))
        painter.save()
        painter.translate(place - qt.QPointF(0, alone._top()))
        painter.setFont(alone.font())
        alone._draw(painter)
        painter.restore()
        alone.deleteLater()

    def _draw(self, painter: qt.QPainter) -> None:
        colours = theme.current()
        table = np.ascontiguousarray(self._look.colormap.getNColors(256)[::-1])
        image = qt.QImage(table.data, 1, len(table), 4, qt.QImage.Format_RGBA8888)
        least, greatest = self._look.levels()
        beside = self._beside()
        top, bottom = (self.row(value) for value in (greatest, least))
        if beside is not None:
            low, high = beside.range()
            above, below = (self.row(value) for value in (high, low))
            painter.setClipRect(qt.QRectF(_EDGE, above, BAR, below - above))
            painter.fillRect(qt.QRectF(_EDGE, above, BAR, top - above + 1), qt.QColor(*table[0]))
            painter.fillRect(qt.QRectF(_EDGE, bottom - 1, BAR, below - bottom + 1), qt.QColor(*table[-1]))
        painter.drawImage(qt.QRectF(_EDGE, top, BAR, bottom - top), image)
        painter.setClipping(False)
        metrics = self.fontMetrics()
        left = _EDGE + BAR
        for value in self.ticks():
            row = self.row(value)
            painter.setPen(qt.QColor(colours.muted))
            painter.drawLine(qt.QPointF(left, row), qt.QPointF(left + _TICK, row))
            painter.setPen(qt.QColor(colours.text))
            baseline = row + (metrics.ascent() - metrics.descent()) / 2
            painter.drawText(qt.QPointF(left + _TICK + 3, baseline), words(value))

    def _values(self, value: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return np.array([*self._look.levels(), value])

    def _top(self) -> float:
        return float(_EDGE + self.fontMetrics().height() / 2)

    def _room(self) -> float:
        return max(1.0, float(self.height()) - 2 * self._top())


def words(value: float) -> str:
    """Return a count in a few digits, with separators of thousands."""
    if abs(value) >= _LARGE:
        return f"{value:.3g}".replace("e+0", "e").replace("e+", "e")
    return f"{value:,.0f}" if value == round(value) or abs(value) >= _WHOLE else f"{value:,.4g}"


def round_numbers(low: float, high: float, scale: Scale, count: int) -> list[float]:
    """Return round numbers between two levels, on a linear scale about so many; those that matter more come
    first."""
    if not high > low:
        return []
    if scale is Scale.LIN:
        power = 10.0 ** math.floor(math.log10((high - low) / count))
        step = next(power * digit for digit in (1, 2, 5, 10) if power * digit * count >= high - low)
        return [number * step for number in range(math.ceil(low / step), math.floor(high / step) + 1)]
    most = math.ceil(math.log10(max(abs(low), abs(high), 1.0)))
    least = math.floor(math.log10(low)) if low > 0 else min(0, most)
    powers = [10.0**power for power in range(most, least - 1, -1)]
    values = [digit * power for digit in (1, 5, 2) for power in powers]
    return [0.0, *values, *(-value for value in values)]
