"""The picture as it leaves the window: what is said of it, the image with its axes, its colour bar.

The plot in the window fills its room, so that beside an image of another shape there is much that is empty.
The image is cut out of it, and gets axes of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.live.drawing.levels import Scale
from penstock.gui.live.plot.colour_bar import ColourBar, round_numbers, words
from penstock.gui.live.plot.image_plot import ImagePlot

LEAST = 260
"""Pixels that it is wide at least: what is said of the picture needs room."""
_EDGE, _GAP, _TICK = 10, 6, 4
_STEP = 70
"""Pixels from one number of an axis to the next, about."""


@dataclass(frozen=True)
class Axis:
    """One side of what is cut out."""

    low: float
    """Count of detector pixels at the left or upper edge."""
    high: float
    start: float
    """The same edge, in pixels of the screen from that of the plot."""
    length: float

    def ticks(self) -> list[tuple[float, str]]:
        """Return where whole numbers stand, in pixels of the screen from the edge, and the numbers."""
        count = max(1, round(self.length / _STEP))
        numbers = round_numbers(self.low, self.high, Scale.LIN, count)
        per_pixel = self.length / (self.high - self.low)
        found = [(float(each - self.low) * per_pixel, words(each)) for each in numbers if each == round(each)]
        return found if len(found) < 2 or found[1][0] - found[0][0] > _STEP / 3 else found[:1]


def portrait(plot: ImagePlot, bar: ColourBar | None, said: str) -> qt.QImage:
    """Return a picture in the pixels of the screen.

    Args:
        plot: shows an image, of which that part is cut out which is in sight; or a spectrum, which is taken
            with its axes as they are.
        bar: the colour bar, if it is to be there.
        said: lines above it, which are wrapped where they are too long.
    """
    across, along = axes(plot)
    titled = bool(plot.getXAxis().getLabel())
    metrics = qt.QFontMetrics(plot.font())
    high = metrics.height()
    own_axes = plot.picture_extent() is not None
    left = right = below = 0
    if own_axes:
        left = max(metrics.horizontalAdvance(text) for _, text in (*along.ticks(), (0.0, "0"))) + _TICK + _GAP
        left += high + _GAP if titled else 0
        right = metrics.horizontalAdvance(across.ticks()[-1][1]) // 2 if across.ticks() else 0
        below = _TICK + high + (high if titled else 0)
    beside = 0 if bar is None else max(right, 2) + bar.width()
    width = max(LEAST, _EDGE + left + round(across.length) + max(right, beside) + _EDGE)
    box = metrics.boundingRect(
        qt.QRect(0, 0, width - 2 * _EDGE, 10_000), qt.Qt.TextWordWrap | qt.Qt.TextWrapAnywhere, said
    )
    top = _EDGE + box.height() + _GAP + high // 2
    room = max(along.length, 0.0 if bar is None else float(bar.minimumHeight()))
    ratio = plot.devicePixelRatioF()
    image = qt.QImage(
        round(width * ratio), round((top + room + below + _EDGE) * ratio), qt.QImage.Format_RGB32
    )
    image.setDevicePixelRatio(ratio)
    colours = theme.current()
    image.fill(qt.QColor(colours.window))
    painter = qt.QPainter(image)
    painter.setFont(plot.font())
    painter.setPen(qt.QColor(colours.text))
    painter.drawText(
        qt.QRect(_EDGE, _EDGE, width - 2 * _EDGE, box.height()),
        qt.Qt.TextWordWrap | qt.Qt.TextWrapAnywhere, said,
    )  # fmt: skip
    place = qt.QRectF(_EDGE + left, top, across.length, along.length)
    cut = qt.QRectF(across.start, along.start, across.length, along.length)
    painter.drawPixmap(place, plot.grab(), qt.QRectF(cut.topLeft() * ratio, cut.size() * ratio))
    if own_axes:
        _draw_axes(painter, place, across, along, high)
        if titled:
            _draw_titles(painter, place, plot, high, _EDGE)
    if bar is not None:
        bar.draw_alone(painter, qt.QPointF(place.right() + max(right, 2), top), along.length)
    painter.end()
    return image


def axes(plot: ImagePlot) -> tuple[Axis, Axis]:
    """Return what of the plot is cut out: columns, rows; the whole of a plot without an image."""
    extent = plot.picture_extent()
    if extent is None:
        width, height = float(plot.width()), float(plot.height())
        return Axis(0.0, width, 0.0, width), Axis(0.0, height, 0.0, height)
    found = []
    corner, end = plot.dataToPixel(0, 0, check=False), plot.dataToPixel(*extent, check=False)
    left, top, width, height = plot.getPlotBoundsInPixels()
    for begin, finish, first, room, most in (
        (corner[0], end[0], left, width, extent[0]), (corner[1], end[1], top, height, extent[1]),
    ):  # fmt: skip
        start, stop = math.floor(max(begin, first) + 0.5), math.ceil(min(finish, first + room) - 0.5)
        if finish <= first or begin >= first + room:  # it was moved out of sight
            start, stop = math.floor(first), math.ceil(first + room)
        stop = max(stop, start + 1)
        low, high = ((edge - begin) * most / (finish - begin) for edge in (start, stop))
        if abs(start - begin) < 1:
            low = 0.0
        if abs(stop - finish) < 1:
            high = float(most)
        found.append(Axis(low, high, float(start), float(stop - start)))
    return found[0], found[1]


def _draw_axes(painter: qt.QPainter, place: qt.QRectF, across: Axis, along: Axis, high: int) -> None:
    painter.setPen(qt.QColor(theme.current().muted))
    painter.drawRect(place.adjusted(-0.5, -0.5, 0.5, 0.5))
    for at, text in across.ticks():
        x = place.left() + at
        painter.drawLine(qt.QPointF(x, place.bottom()), qt.QPointF(x, place.bottom() + _TICK))
        box = qt.QRectF(x - 100, place.bottom() + _TICK, 200, high)
        painter.drawText(box, qt.Qt.AlignHCenter | qt.Qt.AlignTop, text)
    for at, text in along.ticks():
        y = place.top() + at
        painter.drawLine(qt.QPointF(place.left() - _TICK, y), qt.QPointF(place.left(), y))
        box = qt.QRectF(place.left() - _TICK - 203, y - high, 200, 2 * high)
        painter.drawText(box, qt.Qt.AlignRight | qt.Qt.AlignVCenter, text)


def _draw_titles(painter: qt.QPainter, place: qt.QRectF, plot: ImagePlot, high: int, left: int) -> None:
    metrics = qt.QFontMetrics(plot.font())
    below = qt.QRectF(place.center().x() - 200, place.bottom() + _TICK + high, 400, high)
    painter.drawText(below, qt.Qt.AlignHCenter | qt.Qt.AlignTop, plot.getXAxis().getLabel())
    if metrics.horizontalAdvance(plot.getYAxis().getLabel()) > place.height():
        return
    painter.save()
    painter.translate(left, place.center().y())
    painter.rotate(-90)
    painter.drawText(qt.QRectF(-200, 0, 400, high), qt.Qt.AlignHCenter, plot.getYAxis().getLabel())
    painter.restore()
