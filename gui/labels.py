"""Labels that shorten what does not fit, to one line or a few; the whole text is in their tool tip."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui import theme

_SPARE = 2
"""Pixels: fractions of them that letters take more than they say."""


def line_height(widget: qt.QWidget) -> int:
    """Return the pixels of a line of text: some fonts have less between their lines than Qt leaves there."""
    widget.ensurePolished()
    metrics = widget.fontMetrics()
    return int(max(metrics.height(), metrics.lineSpacing()))


def page_label(parent: qt.QWidget) -> qt.QLabel:
    """Return a label that says, as a page of its own, why there is no picture yet."""
    label = qt.QLabel(parent)
    label.setAlignment(qt.Qt.AlignCenter)
    label.setWordWrap(True)
    colours = theme.current()
    label.setStyleSheet(f"color: {colours.muted}; font-size: 12pt; background: {colours.window};")
    return label


class ElidedLabel(qt.QLabel):
    """For paths: the beginning says which experiment, the end which scan."""

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._whole = ""
        self.setTextFormat(qt.Qt.PlainText)
        self.setSizePolicy(qt.QSizePolicy.Ignored, qt.QSizePolicy.Preferred)
        self.setTextInteractionFlags(qt.Qt.TextSelectableByMouse)

    def minimumSizeHint(self) -> qt.QSize:
        """Size of one line, also while there is no text: nothing below moves when there is."""
        return super().minimumSizeHint().expandedTo(qt.QSize(0, line_height(self)))

    def sizeHint(self) -> qt.QSize:
        """Likewise."""
        return super().sizeHint().expandedTo(self.minimumSizeHint())

    def whole(self) -> str:
        """Return the text, not shortened."""
        return self._whole

    def set_whole(self, text: str) -> None:
        """Show `text`."""
        self._whole = text
        self.setToolTip(text)
        self._fit()

    def room_for(self, text: str) -> int:
        """Return the pixels that it needs to show `text`."""
        self.ensurePolished()
        frame = int(self.width() - self.contentsRect().width())
        return int(self.fontMetrics().horizontalAdvance(text)) + frame + _SPARE

    def resizeEvent(self, event: qt.QResizeEvent) -> None:
        """Shorten again."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        self.setText(self.fontMetrics().elidedText(self._whole, qt.Qt.ElideMiddle, self.width()))


class BriefLabel(ElidedLabel):
    """For sentences: where there is little room, it says less."""

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._shorter: tuple[str, ...] = ()
        self.setIndent(0)

    def set_texts(self, whole: str, *shorter: str) -> None:
        """Show the first of them that fits."""
        self._shorter = shorter
        self.set_whole(whole)

    def least(self) -> int:
        """Return the pixels that the shortest of them needs."""
        return min(map(self.room_for, self._texts()))

    def _texts(self) -> tuple[str, ...]:
        return (self._whole, *self._shorter)

    def _fit(self) -> None:
        metrics, room = self.fontMetrics(), self.contentsRect().width()
        texts = self._texts()
        fits = next((text for text in texts if metrics.horizontalAdvance(text) <= room), texts[-1])
        self.setText(metrics.elidedText(fits, qt.Qt.ElideRight, room))


ELLIPSIS = "…"


class ClampedLabel(qt.QLabel):
    """For sentences of any length in a place that must not grow: nothing below it moves.

    Args:
        lines: its height in lines of text, whatever it says.
    """

    def __init__(self, lines: int = 1, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._whole = ""
        self._tip = ""
        self._lines = lines
        self.setIndent(0)
        self.setTextFormat(qt.Qt.PlainText)
        self.setTextInteractionFlags(qt.Qt.TextSelectableByMouse)
        self.setSizePolicy(qt.QSizePolicy.Ignored, qt.QSizePolicy.Fixed)
        self.setAlignment(qt.Qt.AlignLeft | qt.Qt.AlignVCenter)

    def whole(self) -> str:
        """Return the text, not shortened."""
        return self._whole

    def set_whole(self, text: str, tip: str = "") -> None:
        """Show `text`; `tip` stands in the tool tip, by default the whole text where a part is left out."""
        if (text, tip) != (self._whole, self._tip):
            self._whole, self._tip = text, tip
            self._fit()

    def set_lines(self, lines: int) -> None:
        """Change the height."""
        if lines != self._lines:
            self._lines = lines
            self.updateGeometry()
            self._fit()

    def sizeHint(self) -> qt.QSize:
        """Size of so many lines, whatever is said."""
        margins = self.contentsMargins()
        return qt.QSize(0, self._lines * line_height(self) + margins.top() + margins.bottom())

    def minimumSizeHint(self) -> qt.QSize:
        """As high as `sizeHint`, and narrow."""
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
        lines = broken(self._whole, self.font(), self.contentsRect().width(), self._lines)
        self.setText("\n".join(lines))
        self.setToolTip(self._tip or (self._whole if lines and ELLIPSIS in lines[-1] else ""))


def broken(text: str, font: qt.QFont, width: int, most: int) -> list[str]:
    """Return the text in at most so many lines; where there is more, the last one has "…" in its middle: the
    end of a sentence is what to do.

    Args:
        text: one paragraph.
        font: font of the label.
        width: pixels of a line.
        most: number of lines.
    """
    text = " ".join(text.split())
    layout = qt.QTextLayout(text, font)
    option = qt.QTextOption()
    option.setWrapMode(qt.QTextOption.WrapAtWordBoundaryOrAnywhere)
    layout.setTextOption(option)
    lines: list[str] = []
    layout.beginLayout()
    while (line := layout.createLine()).isValid():
        line.setLineWidth(max(1, width))
        start = line.textStart()
        if len(lines) == most - 1:
            rest = qt.QFontMetrics(font).elidedText(text[start:], qt.Qt.ElideMiddle, max(1, width))
            lines.append(rest)
            break
        lines.append(text[start : start + line.textLength()].rstrip())
    layout.endLayout()
    return lines
