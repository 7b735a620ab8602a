"""Levels that follow each frame, or that stay."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui.live.image_plot import ImagePlot
from penstock.gui.live.levels import HIGH, LOW


class Autoscale(qt.QAction):
    """Checked: the levels follow each frame."""

    def __init__(self, plot: ImagePlot, parent: qt.QObject | None = None) -> None:
        super().__init__("Autoscale", parent)
        self.setToolTip(
            f"Levels follow each frame (A): {LOW:g} % to {HIGH:g} % of the valid pixels; "
            "off, they stay as they are and the colour dialog sets them"
        )
        self.setShortcut("A")
        self.setCheckable(True)
        self.setChecked(plot.is_autoscale())
        self.toggled.connect(plot.set_autoscale)
