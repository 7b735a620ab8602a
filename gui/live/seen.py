"""A view that asks for something only while it is seen, and into which files can be dropped."""

from __future__ import annotations

from collections.abc import Callable

from silx.gui import qt

from penstock.gui.elsewhere import start_viewer
from penstock.gui.live.actions.open_file import dropped_files


class Seen(qt.QMainWindow):
    """Begins when it is first shown, and ends for good when it is closed.

    It takes the focus when it is clicked beside its fields, so that its keys act.
    """

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(qt.Qt.ClickFocus)

    def start(self) -> None:
        """Begin; may be called again."""
        raise NotImplementedError

    def stop(self) -> None:
        """End for good: waits for the request under way."""
        raise NotImplementedError

    def is_seen(self) -> bool:
        """Return whether somebody can see it: minimised it draws nothing."""
        return bool(self.isVisible() and not self.window().isMinimized())

    def showEvent(self, event: qt.QShowEvent) -> None:
        """Begin, now that it is visible."""
        super().showEvent(event)
        self.start()
        self._tell_wanted()

    def hideEvent(self, event: qt.QHideEvent) -> None:
        """Ask for nothing while it is not visible."""
        super().hideEvent(event)
        self._tell_wanted()

    def closeEvent(self, event: qt.QCloseEvent) -> None:
        """End it; the widget goes first, since the request under way may take a moment."""
        self.hide()
        self.stop()
        super().closeEvent(event)

    def changeEvent(self, event: qt.QEvent) -> None:
        """Ask for nothing while the window is minimised."""
        super().changeEvent(event)
        if event.type() == qt.QEvent.WindowStateChange:
            self._tell_wanted()

    def _tell_wanted(self) -> None:
        """Tell the feed whether anything is wanted now."""
        raise NotImplementedError


class TakesFiles(Seen):
    """Opens what is dropped."""

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self.opens: Callable[[str], None] = self._open_elsewhere
        """Opens a file that the user has chosen, or dropped here: by default in a window of its own."""
        self.setAcceptDrops(True)

    def dragEnterEvent(self, event: qt.QDragEnterEvent) -> None:
        """Take files."""
        if dropped_files(event.mimeData()):
            event.acceptProposedAction()

    def dropEvent(self, event: qt.QDropEvent) -> None:
        """Open the files that are dropped."""
        for path in dropped_files(event.mimeData()):
            self.opens(path)
        event.acceptProposedAction()

    def say(self, sentence: str, wrong: bool) -> None:
        """Say what was done, or why it was not, for a while."""
        raise NotImplementedError

    def _open_elsewhere(self, path: str) -> None:
        trouble = start_viewer(path)
        self.say(trouble or f"{path} opens in a window of its own.", bool(trouble))
