"""The field with the index of the frame on show."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui.number_fields import select_whole


class FrameNumber(qt.QSpinBox):
    """Is empty while the frame on show is none of those on offer."""

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._placed = True
        select_whole(self)

    def set_placed(self, placed: bool) -> bool:
        """Set whether the frame on show is one of those on offer; return whether that is new."""
        new, self._placed = placed != self._placed, placed
        return new

    def show_value(self, value: int) -> None:
        """Show the frame on show; nobody is told."""
        if value != self.value() or self.text() != self.textFromValue(value):  # Qt draws it in any case
            blocked = self.blockSignals(True)
            self.setValue(value)
            self.blockSignals(blocked)

    def offer(self, first: int, last: int) -> None:
        """Take numbers between these; nobody is told."""
        if (first, last) != (self.minimum(), self.maximum()):
            blocked = self.blockSignals(True)
            self.setRange(first, last)
            self.blockSignals(blocked)

    def textFromValue(self, value: int) -> str:
        """Return what is read; Qt writes it again whenever the field is shown or enabled."""
        return str(super().textFromValue(value)) if self._placed else ""
