"""Hold the picture."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui.live.icons import icon


class Pause(qt.QAction):
    """If checked, no frames are requested; state and counts are still updated."""

    def __init__(self, parent: qt.QObject | None = None) -> None:
        super().__init__("Pause", parent)
        self.setIcon(icon("fa5s.pause"))
        self.setToolTip("Hold this picture (Space); state and counts are still updated")
        self.setShortcut("Space")
        self.setCheckable(True)
