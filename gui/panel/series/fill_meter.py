"""A small meter: how full a buffer is, in percent; and labels whose colours change often.

Their colours change by the palette: a style sheet costs more than all the rest.
"""

from __future__ import annotations

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.layouts import in_row
from penstock.gui.model.texts.progress import Fill


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


HEIGHT = 8


class FillMeter(qt.QWidget):
    """Shows a `Fill`: title, bar, figure."""

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = qt.QLabel(self)
        self._bar = _Bar(self)
        self._figure = qt.QLabel(self)
        self._figure.setMinimumWidth(self._figure.fontMetrics().horizontalAdvance("▲ 100 %"))
        in_row(self._title, (self._bar, 1), self._figure, of=self, spacing=8)

    def figure(self) -> str:
        """Return the figure on show, with ▲ where it is too high."""
        return str(self._figure.text())

    def show_fill(self, fill: Fill) -> None:
        """Show `fill`."""
        colours = theme.current()
        self._title.setText(fill.title)
        tint(self._title, colours.muted)
        self._figure.setText(f"▲ {fill.text}" if fill.notice else fill.text)
        tint(self._figure, colours.warning if fill.notice else colours.text)
        self._bar.show_share(fill.percent or 0.0, colours.warning if fill.notice else colours.accent)
        self.setToolTip(f"{fill.meaning}\n{fill.notice}".strip())
        self.setAccessibleName(fill.title)
        self.setAccessibleDescription(f"{fill.text}. {fill.notice}".strip())


class _Bar(qt.QWidget):
    def __init__(self, parent: qt.QWidget) -> None:
        super().__init__(parent)
        self._share, self._colour = 0.0, ""
        self.setFixedHeight(HEIGHT)
        self.setMinimumWidth(40)

    def show_share(self, percent: float, colour: str) -> None:
        if (percent, colour) != (self._share, self._colour):
            self._share, self._colour = percent, colour
            self.update()

    def paintEvent(self, event: qt.QPaintEvent) -> None:
        painter = qt.QPainter(self)
        painter.fillRect(self.rect(), qt.QColor(theme.current().groove))
        width = round(self.width() * self._share / 100)
        painter.fillRect(0, 0, width, self.height(), qt.QColor(self._colour))
