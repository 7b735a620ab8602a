"""Hold the picture."""

from __future__ import annotations

from silx.gui import qt


class Pause(qt.QAction):
    """Checked: no frame is asked for; state and counts go on."""

    def __init__(self, parent: qt.QObject | None = None) -> None:
        super().__init__("Pause", parent)
        self.setToolTip("Hold this picture (Space); state and counts are still updated")
        self.setShortcut("Space")
        self.setCheckable(True)
