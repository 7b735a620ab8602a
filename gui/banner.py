"""The strip on top: the receiver's state in one word, and in a sentence what it means."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.clamped import ClampedLabel
from penstock.gui.message import Message


class StateBanner(qt.QFrame):
    """Shows a `Message`, also to screen readers.

    Args:
        compact: leave the sentence more room.
    """

    def __init__(self, parent: qt.QWidget | None = None, *, compact: bool = False) -> None:
        super().__init__(parent)
        self._size = 12 if compact else 15
        self.setObjectName("banner")
        self._title = qt.QLabel(self)
        self._text = ClampedLabel(2, self)
        self._title.setAlignment(qt.Qt.AlignCenter)
        font = self._text.font()
        font.setPointSizeF(11.5)
        self._text.setFont(font)
        layout = qt.QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 14, 0)
        layout.setSpacing(14)
        layout.addWidget(self._title)
        layout.addWidget(self._text, 1)
        self._kind = ""
        # Two lines, whatever is said: the picture below must not jump with each sentence.
        self.setFixedHeight(self._text.sizeHint().height() + 10)
        self._title.setMinimumWidth(100 if compact else 170)

    def title(self) -> str:
        """Return the word on show."""
        return str(self._title.text())

    def text(self) -> str:
        """Return the sentence on show."""
        return self._text.whole()

    def kind(self) -> str:
        """Key of `theme.Theme.state` on show."""
        return self._kind

    def show_message(self, message: Message) -> None:
        """Put `message` on show."""
        self._title.setText(message.title)
        self._text.set_whole(message.text)
        self.setAccessibleName(f"{message.title}: {message.text}")
        if message.kind == self._kind:
            return
        self._kind = message.kind
        colour = theme.current().state[message.kind]
        self.setStyleSheet(
            f"#banner {{ background: {theme.current().panel}; border-bottom: 2px solid {colour}; }}"
        )
        self._title.setStyleSheet(
            f"background: {colour}; color: white; font-size: {self._size}pt; font-weight: 700;"
            " padding: 0 14px;"
        )
