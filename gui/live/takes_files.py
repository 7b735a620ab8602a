"""A view into which files can be dropped."""

from __future__ import annotations

from collections.abc import Callable

from silx.gui import qt

from penstock.gui.elsewhere import start_viewer
from penstock.gui.live.actions.open_file import dropped_files
from penstock.gui.live.seen import Seen


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
