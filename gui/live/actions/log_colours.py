"""Logarithmic or linear colours, at a key."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui.live.levels import Scale
from penstock.gui.live.look import Look


class LogColours(qt.QAction):
    """Checked: colours are logarithmic."""

    def __init__(self, look: Look, parent: qt.QObject | None = None) -> None:
        super().__init__("Log", parent)
        self.setShortcut("L")
        self.setCheckable(True)
        self._look = look
        self.toggled.connect(self._set)
        look.changed.connect(self._follow)
        self._follow()

    def _set(self, on: bool) -> None:
        if on != (self._look.scale() is Scale.LOG):
            self._look.set_scale(Scale.LOG if on else Scale.LIN)

    def _follow(self) -> None:
        self.setChecked(self._look.scale() is Scale.LOG)
