"""Several widgets as one picture."""

from __future__ import annotations

from collections.abc import Sequence

from silx.gui import qt


def portrait(columns: Sequence[Sequence[qt.QWidget]], background: str) -> qt.QImage:
    """Return a picture of columns of widgets side by side, in the pixels of the screen.

    Args:
        columns: from left to right; the widgets of each from top to bottom.
        background: colour, as #rrggbb.
    """
    ratio = columns[0][0].devicePixelRatioF()
    widths = [max(part.width() for part in column) for column in columns]
    height = max(sum(part.height() for part in column) for column in columns)
    image = qt.QImage(int(sum(widths) * ratio), int(height * ratio), qt.QImage.Format_RGB32)
    image.setDevicePixelRatio(ratio)
    image.fill(qt.QColor(background))
    painter = qt.QPainter(image)
    left = 0
    for column, width in zip(columns, widths, strict=True):
        top = 0
        for part in column:
            painter.drawPixmap(left, top, part.grab())
            top += part.height()
        left += width
    painter.end()
    return image
