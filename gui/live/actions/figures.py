"""Show or hide the column of figures."""

from __future__ import annotations

from silx.gui import qt


class Figures(qt.QAction):
    """If checked, frame, series, account and rates are shown next to the picture."""

    def __init__(self, parent: qt.QObject | None = None) -> None:
        super().__init__("Figures", parent)
        self.setToolTip("Frame, series, account and rates in figures")
        self.setCheckable(True)
