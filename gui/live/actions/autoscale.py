"""Levels that follow each frame, or that stay."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui.live.icons import icon
from penstock.gui.live.look import Look


class Autoscale(qt.QAction):
    """Checked: the levels follow each frame."""

    def __init__(self, look: Look, parent: qt.QObject | None = None) -> None:
        super().__init__("Autoscale", parent)
        self.setIcon(icon("fa5s.adjust"))
        self.setToolTip(
            "Levels follow each frame (A), between the chosen percentiles of the whole frame as this window "
            "draws it, whatever is zoomed to; off, they stay as they are. Dragging a level on the histogram "
            "switches it off"
        )
        self.setShortcut("A")
        self.setCheckable(True)
        self._look = look
        self.toggled.connect(self._set)
        look.changed.connect(self._follow)
        self._follow()

    def _set(self, on: bool) -> None:
        if on != self._look.is_autoscale():
            self._look.set_autoscale(on)

    def _follow(self) -> None:
        self.setChecked(self._look.is_autoscale())
