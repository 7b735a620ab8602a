"""The look of the panel's own widgets, in the theme's colours; states as small pictures with a sign."""

from __future__ import annotations

from collections.abc import Mapping

from silx.gui import qt

from penstock.gui import theme


def look(widget: qt.QWidget, **properties: object) -> None:
    """Set properties that the style sheet knows, and draw again where one has changed."""
    changed = False
    for name, value in properties.items():
        if widget.property(name) != value:
            widget.setProperty(name, value)
            changed = True
    if changed:
        widget.style().unpolish(widget)
        widget.style().polish(widget)
        widget.update()


def filter_line(hint: str, name: str, parent: qt.QWidget) -> qt.QLineEdit:
    """Return a line for words that are searched, with a button that clears it.

    Args:
        hint: what stands in it while it is empty.
        name: what it is called to those who cannot see it.
        parent: widget to which it belongs.
    """
    line = qt.QLineEdit(parent)
    line.setPlaceholderText(hint)
    line.setClearButtonEnabled(True)
    line.setAccessibleName(name)
    return line


def sheet() -> str:
    """Return the style sheet of a panel."""
    colours = theme.current()
    on_accent = colours.window if colours.dark else "#ffffff"
    return f"""
    QLabel[role="heading"] {{ color: {colours.accent}; font-size: 8pt; font-weight: 700; }}
    QLabel[role="muted"], QLabel[role="label"] {{ color: {colours.muted}; }}
    QLabel[role="problem"] {{ color: {colours.bad}; font-weight: 600; }}
    QLabel[role="sign"] {{ color: {colours.warning}; font-weight: 700; }}
    QLabel[old="true"] {{ color: {colours.old}; }}
    QWidget[role="form"] {{ background: {colours.panel}; }}
    QLineEdit {{ background: {colours.field}; border: 1px solid {colours.line}; border-radius: 3px;
                 padding: 3px 5px; min-height: 18px; }}
    QLineEdit:focus {{ border-color: {colours.accent}; }}
    QLineEdit[look="edit"], QSpinBox[look="edit"], QComboBox[look="edit"] {{ background: {colours.edit}; }}
    QLineEdit[look="edit"] {{ border-color: {colours.warning}; }}
    QLineEdit[look="problem"] {{ background: {colours.edit}; border: 1px solid {colours.bad}; }}
    QComboBox[look="problem"] {{ background: {colours.edit}; }}
    #strip {{ background: {colours.panel}; }}
    #above-strip {{ background: {colours.line}; border: 0; }}
    QLineEdit[locked="true"] {{ background: {colours.locked}; color: {colours.muted};
                                border: 1px solid {colours.line}; }}
    #actions {{ background: {colours.panel}; border-bottom: 1px solid {colours.line}; }}
    QPushButton[role="action"] {{ background: {colours.window}; border: 1px solid {colours.line};
        border-radius: 4px; padding: 0 12px; font-size: 10.5pt; font-weight: 600; }}
    QPushButton[role="action"]:hover {{ border-color: {colours.accent}; }}
    QPushButton[role="action"]:focus {{ border: 2px solid {colours.accent}; }}
    QPushButton[role="action"]:pressed {{ background: {colours.pressed}; }}
    QPushButton[role="action"]:disabled {{ background: {colours.panel}; color: {colours.disabled};
        font-weight: 400; }}
    QPushButton[role="action"][primary="true"] {{ background: {colours.accent}; color: {on_accent};
        border-color: {colours.accent}; }}
    QPushButton[role="action"][primary="true"]:focus {{ border: 2px solid {colours.text}; }}
    QPushButton[role="action"][primary="true"]:pressed {{ background: {colours.pressed};
        color: {colours.text}; }}
    QSplitter::handle {{ background: {colours.line}; }}
    """


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
