"""The line above the picture: which frame it is, of when and of which series. It is always in sight."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.elided import ElidedLabel
from penstock.gui.live.sentences import Caption


class CaptionLine(qt.QWidget):
    """Frame number, time, series, and a mark while the frame is not of the running series.

    Args:
        compact: take as little height as the text needs.
    """

    def __init__(self, *, compact: bool = False, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme.current()
        self._number = qt.QLabel(self)
        self._time = qt.QLabel(self)
        self._series = ElidedLabel(self)
        self._mark = qt.QLabel(self)
        self._mark.hide()
        self._old: bool | None = None
        row = qt.QHBoxLayout(self)
        margin = 0 if compact else 2
        row.setContentsMargins(10, margin, 10, margin)
        row.setSpacing(14)
        row.addWidget(self._number)
        row.addWidget(self._time)
        row.addWidget(self._series, 2)
        row.addWidget(self._mark)
        # A picture may be narrower than what is said of it.
        self.setSizePolicy(qt.QSizePolicy.Ignored, qt.QSizePolicy.Fixed)
        metrics = self.fontMetrics()  # whatever is said: the picture below does not move
        self.setFixedHeight(max(metrics.height(), metrics.lineSpacing()) + 1 + 2 * margin)
        self.setAccessibleName("Which frame is on show")

    def text(self) -> str:
        """Return all of it, not shortened."""
        parts = [self._number.text(), self._time.text(), self._series.whole()]
        return " · ".join([*filter(None, parts), *([self._mark.text()] if self._old else [])])

    def add(self, widget: qt.QWidget, share: int = 2) -> None:
        """Show something more, between the series and the mark; `share`: of the room that is left."""
        row = self.layout()
        row.insertWidget(row.count() - 1, widget, share)

    def show_trouble(self, sentence: str) -> None:
        """Say that a frame is not on show, and why."""
        self.show_caption(Caption("", "", sentence, "▲ not drawn"))

    def show_caption(self, caption: Caption | None) -> None:
        """Show what there is to say of the frame on show; nothing where there is no frame."""
        if caption is None:
            caption = Caption("", "", "", "")
        self._number.setText(caption.number)
        self._time.setText(caption.time)
        self._series.set_whole(caption.series)
        self._mark.setText(caption.mark)
        old = bool(caption.mark)
        if old == self._old:  # a style sheet costs more than all the rest
            return
        self._old = old
        self._mark.setVisible(old)
        colours = self._theme
        text = colours.old if old else colours.text
        self._number.setStyleSheet(f"color: {text}; font-weight: 600;")
        for label in (self._time, self._series):
            label.setStyleSheet(f"color: {text};")
        self._mark.setStyleSheet(f"color: {colours.warning}; font-weight: 600;")
