"""Levels of what is in sight, at a key."""

from __future__ import annotations

from collections.abc import Callable

from silx.gui import qt

from penstock.gui.live.icons import icon


class LevelsInSight(qt.QAction):
    """Takes the levels from what is zoomed to; they stay until Autoscale is switched on.

    Args:
        take: takes them.
    """

    def __init__(self, take: Callable[[], None], parent: qt.QObject | None = None) -> None:
        super().__init__("Levels of what is in sight", parent)
        self.setIcon(icon("fa5s.search"))
        self.setToolTip(
            "Take the levels from what is zoomed to (V), between the chosen percentiles; they stay until "
            "Autoscale (A) is switched on, which takes them from the whole frame"
        )
        self.setShortcut("V")
        self.triggered.connect(lambda _=False: take())
