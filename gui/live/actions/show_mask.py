"""Colour for the pixels that have no value."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui.live.icons import icon
from penstock.gui.live.look import Look


class ShowMask(qt.QAction):
    """Checked: invalid and saturated pixels have colours of their own."""

    def __init__(self, look: Look, parent: qt.QObject | None = None) -> None:
        super().__init__("Mask", parent)
        self.setIcon(icon("fa5s.eye-slash"))
        self.setToolTip("Show invalid pixels (grey) and saturated ones (pink) (M); autoscale leaves both out")
        self.setShortcut("M")
        self.setCheckable(True)
        self._look = look
        self.toggled.connect(self._set)
        look.changed.connect(self._follow)
        self._follow()

    def _set(self, on: bool) -> None:
        if on != self._look.is_mask_shown():
            self._look.set_mask_shown(on)

    def _follow(self) -> None:
        self.setChecked(self._look.is_mask_shown())
