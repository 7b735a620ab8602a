"""A line of text in a form; what it cannot hold is taken out of what is pasted."""

from __future__ import annotations

import re
import unicodedata

from silx.gui import qt

_BREAK = re.compile(r"\s*[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+\s*")


def one_line(text: str, cursor: int) -> tuple[str, int]:
    """Return a text without line ends and control characters, and the cursor's place in it.

    A line end before the cursor, where a paste ends, or at either end of the text goes; one between words
    becomes a space. Letters that were sent in parts, as file names of a Mac are, become whole: Tango knows no
    others.

    Args:
        text: what stands in the line now.
        cursor: place behind what was inserted.
    """
    before, after = text[:cursor], text[cursor:]
    before = _clean(re.sub(rf"{_BREAK.pattern}$", "", before))
    after = _clean(re.sub(rf"{_BREAK.pattern}$", "", after))
    return before + after, len(before)


def _clean(text: str) -> str:
    text = _BREAK.sub(lambda found: " " if found.start() else "", text)
    text = "".join(" " if each == "\t" else each for each in text if each == "\t" or _is_shown(each))
    return unicodedata.normalize("NFC", text)


def _is_shown(character: str) -> bool:
    return unicodedata.category(character) not in ("Cc", "Cs")


MARGIN = 2
"""Pixels that Qt leaves free on either side of a line's text."""


class Line(qt.QLineEdit):
    """A line of text: Enter writes it, Esc discards it, and leaving it does neither.

    While nobody edits it, it may show a shorter text, and what does not fit ends with "…": the tool tip has
    it all.

    Args:
        number: a double click selects all of it, and not what stands between two points.
        elide: where a text that is too long is shortened.
    """

    typed = qt.Signal(str)
    """The text after a change by the user, without line ends that were pasted."""
    escaped = qt.Signal()

    def __init__(
        self, parent: qt.QWidget | None = None, *, number: bool = False, elide: object = qt.Qt.ElideRight
    ) -> None:
        super().__init__(parent)
        self._number = number
        self._elide = elide
        self._tip = ""
        self._whole, self._brief = "", ""
        self._editing = False
        """Also while its menu is open, which takes the focus away."""
        self._shortened = ""
        """What is painted in place of the text; "" where that fits."""
        self.textEdited.connect(self._clean)
        self.textChanged.connect(lambda _: self._fit())

    def put(self, text: str, brief: str | None = None) -> None:
        """Show `text`; what is typed next still replaces it where it would have replaced the text before.

        Args:
            text: the whole text.
            brief: what is shown of it while nobody edits it; all of it by default.
        """
        self._whole, self._brief = text, text if brief is None else brief
        self._show(text if self._editing else self._brief)

    def explain(self, tip: str) -> None:
        """Have this said in the tool tip, behind a text that does not fit."""
        if tip != self._tip:
            self._tip = tip
            self.setAccessibleDescription(tip)
            self._fit()

    def keyPressEvent(self, event: qt.QKeyEvent) -> None:
        """Esc is the field's own."""
        if event.key() == qt.Qt.Key_Escape:
            self.escaped.emit()
        else:
            super().keyPressEvent(event)

    def mouseDoubleClickEvent(self, event: qt.QMouseEvent) -> None:
        """Select all of a number: to Qt, 0.018 is two words."""
        if self._number and event.button() == qt.Qt.LeftButton:
            self.selectAll()
        else:
            super().mouseDoubleClickEvent(event)

    def focusInEvent(self, event: qt.QFocusEvent) -> None:
        """Show the whole text, to be edited."""
        self._editing = True
        if self.text() == self._brief:
            self._show(self._whole)
        super().focusInEvent(event)
        self._fit()

    def focusOutEvent(self, event: qt.QFocusEvent) -> None:
        """Show the shorter text again."""
        super().focusOutEvent(event)
        if event.reason() != qt.Qt.PopupFocusReason:
            self._editing = False
            if self.text() == self._whole:
                self._show(self._brief)
            self._fit()

    def resizeEvent(self, event: qt.QResizeEvent) -> None:
        """Shorten the text again."""
        super().resizeEvent(event)
        self._fit()

    def paintEvent(self, event: qt.QPaintEvent) -> None:
        """Paint a text that does not fit with an ellipsis."""
        if not self._shortened or self._editing:
            super().paintEvent(event)
            return
        option = self._option()
        painter = qt.QPainter(self)
        self.style().drawPrimitive(qt.QStyle.PE_PanelLineEdit, option, painter, self)
        painter.setPen(self.palette().color(qt.QPalette.Text))
        painter.drawText(self._room(option), qt.Qt.AlignVCenter | qt.Qt.AlignLeft, self._shortened)
        painter.end()

    def _show(self, text: str) -> None:
        if self.text() != text:
            place, whole = self.cursorPosition(), self._editing and self.selectedText() == self.text()
            self.setText(text)
            self.setCursorPosition(min(place, len(text)) if self._editing else 0)
            if whole:
                self.selectAll()

    def _clean(self, text: str) -> None:
        cleaned, place = one_line(text, self.cursorPosition())
        if cleaned != text:
            self.setText(cleaned)
            self.setCursorPosition(place)
        self.typed.emit(cleaned)

    def _fit(self) -> None:
        room = self._room(self._option()).width()
        shortened = self.fontMetrics().elidedText(self.text(), self._elide, room)
        self._shortened = "" if shortened == self.text() else shortened
        cut = self.text() if self._shortened and self.text() not in self._tip else ""
        tip = "\n".join(line for line in (cut, self._tip) if line)
        if tip != self.toolTip():
            self.setToolTip(tip)
        self.update()

    def _option(self) -> qt.QStyleOptionFrame:
        option = qt.QStyleOptionFrame()
        self.initStyleOption(option)
        return option

    def _room(self, option: qt.QStyleOptionFrame) -> qt.QRect:
        room = self.style().subElementRect(qt.QStyle.SE_LineEditContents, option, self)
        return room.adjusted(MARGIN, 0, -MARGIN, 0)
