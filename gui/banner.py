"""The strips on top: the state in one word and what it means in a sentence; and that something failed."""

from __future__ import annotations

import traceback
from types import TracebackType

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.labels import ClampedLabel
from penstock.gui.layouts import in_row
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
        in_row(self._title, (self._text, 1), of=self, margins=(0, 0, 14, 0), spacing=14)
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


class FailureStrip(qt.QLabel):
    """Seen once something has failed; its `say` is for `sys.excepthook`: without it PyQt ends the program.

    Args:
        window: what the user calls it, such as "panel".
    """

    def __init__(self, window: str, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._window = window
        self.setTextFormat(qt.Qt.PlainText)
        self.setWordWrap(True)
        self.setStyleSheet(f"background: {theme.current().state['fault']}; color: white; padding: 6px;")
        self.hide()

    def say(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """Say it, and print where it was."""
        traceback.print_exception(kind, error, trace)
        self.setText(
            f"The {self._window} had an internal error ({kind.__name__}: {error}). What is shown may be old: "
            "close it, start it again, and report this with the text in the terminal. Series continue."
        )
        self.show()
