"""Several widgets as one picture."""

from __future__ import annotations

from collections.abc import Sequence

from silx.gui import qt


def portrait(top: qt.QWidget, row: Sequence[qt.QWidget], background: str) -> qt.QImage:
    """Return a picture of one widget above others side by side, in the pixels of the screen.

    Args:
        top: as wide as the others together, or cut off.
        row: from left to right.
        background: colour, as #rrggbb.
    """
    ratio = row[0].devicePixelRatioF()
    width, height = sum(part.width() for part in row), top.height() + max(part.height() for part in row)
    image = qt.QImage(int(width * ratio), int(height * ratio), qt.QImage.Format_RGB32)
    image.setDevicePixelRatio(ratio)
    image.fill(qt.QColor(background))
    painter = qt.QPainter(image)
    painter.drawPixmap(0, 0, top.grab())
    left = 0
    for part in row:
        painter.drawPixmap(left, top.height(), part.grab())
        left += part.width()
    painter.end()
    return image
