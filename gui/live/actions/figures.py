"""Show or hide the column of figures."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui.live.icons import icon


class Figures(qt.QAction):
    """If checked, frame, series, account and rates are shown next to the picture."""

    def __init__(self, parent: qt.QObject | None = None) -> None:
        super().__init__("Figures", parent)
        self.setIcon(icon("fa5s.list-ul"))
        self.setToolTip("Frame, series, account and rates in figures")
        self.setCheckable(True)
