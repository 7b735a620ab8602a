"""Show or hide the histogram beside the colour bar."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui.live.icons import icon


class ShowHistogram(qt.QAction):
    """Checked: the histogram is shown, on which the levels are dragged."""

    def __init__(self, parent: qt.QObject | None = None) -> None:
        super().__init__("Levels", parent)
        self.setIcon(icon("fa5s.chart-bar"))
        self.setToolTip(
            "Histogram beside the colour bar (H): drag its lines, or type a number, to set the levels"
        )
        self.setShortcut("H")
        self.setCheckable(True)
