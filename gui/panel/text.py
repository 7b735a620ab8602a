"""Labels whose colours change often: by the palette, for a style sheet costs more than all the rest."""

from __future__ import annotations

from silx.gui import qt


def tint(label: qt.QWidget, colour: str) -> None:
    """Give a label's text a colour."""
    palette = label.palette()
    if palette.color(qt.QPalette.WindowText).name() != colour:
        palette.setColor(qt.QPalette.WindowText, qt.QColor(colour))
        label.setPalette(palette)


def heading(text: str, parent: qt.QWidget) -> qt.QLabel:
    """Return a small title in capitals."""
    label = qt.QLabel(text.upper(), parent)
    font = label.font()
    font.setPointSizeF(8.0)
    font.setBold(True)
    label.setFont(font)
    return label
