"""A label of a fixed number of lines: nothing moves when its words change; the tool tip has what is cut."""

from __future__ import annotations

from silx.gui import qt


class LinesLabel(qt.QLabel):
    """Words in `lines` lines, of which the last ends with "…" where they need more."""

    def __init__(self, lines: int, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._lines = lines
        self._whole = ""
        self.setIndent(0)
        self.setTextFormat(qt.Qt.PlainText)
        self.setAlignment(qt.Qt.AlignLeft | qt.Qt.AlignTop)
        self.setSizePolicy(qt.QSizePolicy.Ignored, qt.QSizePolicy.Fixed)
        self.setTextInteractionFlags(qt.Qt.TextSelectableByMouse)

    def whole(self) -> str:
        """Return the words, not shortened."""
        return self._whole

    def set_whole(self, text: str, tip: str = "") -> None:
        """Show `text`; `tip` stands in the tool tip, by default the whole text."""
        self._whole = text
        if self.toolTip() != (tip or text):
            self.setToolTip(tip or text)
        self._fit()

    def sizeHint(self) -> qt.QSize:
        """Of all lines, also of those that are empty."""
        margins, metrics = self.contentsMargins(), self.fontMetrics()
        # Some fonts have less between their lines than Qt leaves there.
        height = self._lines * max(metrics.height(), metrics.lineSpacing())
        return qt.QSize(0, height + margins.top() + margins.bottom() + 2 * self.frameWidth())

    def minimumSizeHint(self) -> qt.QSize:
        """Return the same."""
        return self.sizeHint()

    def resizeEvent(self, event: qt.QResizeEvent) -> None:
        """Break the lines again."""
        super().resizeEvent(event)
        self._fit()

    def changeEvent(self, event: qt.QEvent) -> None:
        """Break the lines again in another font."""
        super().changeEvent(event)
        if event.type() in (qt.QEvent.FontChange, qt.QEvent.StyleChange):
            self.updateGeometry()
            self._fit()

    def _fit(self) -> None:
        broken = self._broken()
        if broken != self.text():
            self.setText(broken)

    def _broken(self) -> str:
        metrics, width = self.fontMetrics(), self.contentsRect().width()
        left = self._whole
        lines: list[str] = []
        while left and len(lines) < self._lines - 1:
            layout = qt.QTextLayout(left, self.font())
            layout.beginLayout()
            line = layout.createLine()
            line.setLineWidth(max(1, width))
            length = line.textLength()
            layout.endLayout()
            lines.append(left[:length].rstrip())
            left = left[length:]
        return "\n".join([*lines, metrics.elidedText(left, qt.Qt.ElideRight, width)])
