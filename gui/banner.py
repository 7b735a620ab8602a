"""The strip on top: the receiver's state in one word, and in a sentence what it means."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.message import Message


class StateBanner(qt.QFrame):
    """Shows a `Message`, also to screen readers."""

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("banner")
        self._title = qt.QLabel(self)
        self._text = qt.QLabel(self)
        self._text.setWordWrap(True)
        self._text.setTextFormat(qt.Qt.PlainText)  # a device's own words
        self._text.setTextInteractionFlags(qt.Qt.TextSelectableByMouse)
        self._text.setSizePolicy(qt.QSizePolicy.Ignored, qt.QSizePolicy.Preferred)
        self._title.setAlignment(qt.Qt.AlignCenter)
        self._title.setStyleSheet("font-size: 15pt; font-weight: 700; padding: 0 14px;")
        self._text.setStyleSheet("font-size: 11.5pt; padding: 4px 0;")
        layout = qt.QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 14, 0)
        layout.setSpacing(14)
        layout.addWidget(self._title)
        layout.addWidget(self._text, 1)
        self._kind = ""
        # Room for two lines from the start: the picture below must not jump with each sentence.
        self._text.ensurePolished()
        self.setMinimumHeight(2 * self._text.fontMetrics().lineSpacing() + 22)
        self._title.setMinimumWidth(170)

    def title(self) -> str:
        """Return the word on show."""
        return str(self._title.text())

    def text(self) -> str:
        """Return the sentence on show."""
        return str(self._text.text())

    def kind(self) -> str:
        """Key of `theme.Theme.state` on show."""
        return self._kind

    def show_message(self, message: Message) -> None:
        """Put `message` on show."""
        self._title.setText(message.title)
        self._text.setText(message.text)
        self._text.setToolTip(message.text)
        self.setAccessibleName(f"{message.title}: {message.text}")
        if message.kind == self._kind:
            return
        self._kind = message.kind
        colour = theme.current().state[message.kind]
        self.setStyleSheet(
            f"#banner {{ background: {theme.current().panel}; border-bottom: 2px solid {colour}; }}"
        )
        self._title.setStyleSheet(
            f"background: {colour}; color: white; font-size: 15pt; font-weight: 700; padding: 0 14px;"
        )
