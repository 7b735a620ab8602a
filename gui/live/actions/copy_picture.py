"""Put the picture into the clipboard, for a talk or a logbook."""

from __future__ import annotations

from collections.abc import Callable

import qtawesome  # type: ignore[import-untyped]
from silx.gui import qt

from penstock.gui import theme


class CopyPicture(qt.QAction):
    """Copies the picture as it is seen, with the line that says which frame it is.

    Args:
        picture: the picture; `None` before the first frame.
    """

    said = qt.Signal(str, bool)
    """A sentence, and whether something is wrong."""

    def __init__(self, picture: Callable[[], qt.QImage | None], parent: qt.QWidget) -> None:
        super().__init__("Copy", parent)
        self.setToolTip("Copy the picture as you see it, with frame and file (Ctrl+C)")
        self.setShortcut("Ctrl+C")
        self.setIcon(qtawesome.icon("fa5s.copy", color=theme.current().text))
        self._picture = picture
        self.triggered.connect(self._copy)

    def _copy(self) -> None:
        picture = self._picture()
        if picture is None:
            self.said.emit("There is no picture to be copied yet.", True)
            return
        qt.QApplication.clipboard().setImage(picture)
        self.said.emit("The picture is in the clipboard.", False)
