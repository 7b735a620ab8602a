"""Read a file again, which others may have written meanwhile."""

from __future__ import annotations

from collections.abc import Callable

import qtawesome  # type: ignore[import-untyped]
from silx.gui import qt

from penstock.gui import theme


class Reload(qt.QAction):
    """Reads the file on show again; the frame on show stays the same.

    Args:
        reload: does it.
    """

    def __init__(self, reload: Callable[[], None], parent: qt.QWidget) -> None:
        super().__init__("Reload", parent)
        self.setToolTip("Read the file again; one that Penstock is writing is followed by itself (F5)")
        self.setShortcut(qt.QKeySequence.Refresh)
        self.setIcon(qtawesome.icon("fa5s.sync-alt", color=theme.current().text))
        self.triggered.connect(lambda _=False: reload())
