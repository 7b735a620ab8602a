"""What stands above a picture on a wall: whose it is, the state, and the count, to be read from afar."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.labels import ElidedLabel
from penstock.gui.layouts import in_row
from penstock.gui.message import Message


class Plate(qt.QFrame):
    """Name, state and count in one line."""

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._name = ElidedLabel(self)
        self._state = qt.QLabel(self)
        self._count = qt.QLabel(self)
        self._kind = ""
        in_row(self._state, (self._name, 1), self._count, of=self, margins=(12, 4, 12, 4), spacing=16)
        for label in (self._name, self._count):
            font = label.font()
            font.setPointSizeF(15)
            font.setBold(label is self._count)
            label.setFont(font)
        self.setStyleSheet(f"Plate {{ background: {theme.current().panel}; }}")
        self.hide()

    def text(self) -> str:
        """Return all of it, not shortened."""
        return " · ".join(filter(None, (self._name.whole(), self._state.text(), self._count.text())))

    def show_plate(self, name: str, says: Message, count: str) -> None:
        """Show this; the sentence of the message is the tool tip."""
        self._name.set_whole(name)
        self._state.setText(says.title)
        self._count.setText(count)
        self.setToolTip(says.text)
        self.setAccessibleName(f"{name}: {says.title}, {count}")
        if says.kind != self._kind:
            self._kind = says.kind
            self._state.setStyleSheet(
                f"background: {theme.current().state[says.kind]}; color: white; font-size: 15pt;"
                " font-weight: 700; padding: 2px 14px;"
            )
