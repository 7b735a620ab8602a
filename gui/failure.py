"""The strip that says that something failed in a window: without it PyQt would end the program."""

from __future__ import annotations

import traceback
from types import TracebackType

from silx.gui import qt

from penstock.gui import theme


class FailureStrip(qt.QLabel):
    """Seen once something has failed; its `say` is for `sys.excepthook`.

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
