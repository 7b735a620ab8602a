"""What is said below the picture beside other widgets: the pixel under the cursor, or what was done."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui.labels import ElidedLabel

LONGEST = "row 10,000   column 10,000   value 4,294,967,295   saturated"
"""Of what is usually said of a pixel."""
_PADDING = 16


class Readout(ElidedLabel):
    """A line that others may share with it: its width does not depend on what it says."""

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._text = self._said = ""
        self.setContentsMargins(_PADDING // 2, 0, _PADDING // 2, 0)
        self._over = qt.QTimer(self)
        self._over.setSingleShot(True)
        self._over.timeout.connect(lambda: self.say("", 0))

    def room(self) -> int:
        """Return the pixels that it needs."""
        return int(self.fontMetrics().horizontalAdvance(LONGEST)) + _PADDING

    def set_text(self, text: str) -> None:
        """Say this unless something was done just now."""
        self._text = text
        self._show()

    def pixel_text(self) -> str:
        """Return what was last set, also where something else is said."""
        return self._text

    def say(self, sentence: str, milliseconds: int) -> None:
        """Say for a while what was done."""
        self._said = sentence
        if sentence:
            self._over.start(milliseconds)
        self._show()

    def said(self) -> str:
        """Return what was done, while it is said; ""."""
        return self._said

    def _show(self) -> None:
        text = self._said or self._text
        if text != self.whole():
            self.set_whole(text)
