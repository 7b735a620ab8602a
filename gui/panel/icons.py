"""States as small pictures: a colour, and a sign for readers who cannot tell the colours apart."""

from __future__ import annotations

from collections.abc import Mapping

from silx.gui import qt

from penstock.gui import theme

SIGNS: Mapping[str, str] = {
    "running": "▶", "idle": "–", "notice": "!", "error": "✕", "fault": "✕", "away": "?", "connecting": "…",
}  # fmt: skip
"""Icons by kind of a `Message`."""
SIZE = 16


def state_icon(kind: str) -> qt.QIcon:
    """Return the icon of a state by the kind of its message."""
    scale = 2  # also sharp on a fine screen
    picture = qt.QPixmap(SIZE * scale, SIZE * scale)
    picture.setDevicePixelRatio(scale)
    picture.fill(qt.Qt.transparent)
    painter = qt.QPainter(picture)
    painter.setRenderHint(qt.QPainter.Antialiasing)
    painter.setBrush(qt.QColor(theme.current().state[kind]))
    painter.setPen(qt.Qt.NoPen)
    painter.drawRoundedRect(qt.QRectF(0.5, 0.5, SIZE - 1, SIZE - 1), 4, 4)
    painter.setPen(qt.QColor("white"))
    font = painter.font()
    font.setPixelSize(10)
    font.setBold(True)
    painter.setFont(font)
    painter.drawText(qt.QRectF(0, 0, SIZE, SIZE), qt.Qt.AlignCenter, SIGNS[kind])
    painter.end()
    return qt.QIcon(picture)
