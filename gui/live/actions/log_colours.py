"""Logarithmic or linear colours."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui.live.image_plot import ImagePlot


class LogColours(qt.QAction):
    """Checked: colours are logarithmic."""

    def __init__(self, plot: ImagePlot, parent: qt.QObject | None = None) -> None:
        super().__init__("Log", parent)
        self.setToolTip("Logarithmic colours (L): for diffraction; zeros are drawn in the lowest colour")
        self.setShortcut("L")
        self.setCheckable(True)
        self.setChecked(plot.is_logarithmic())
        self.toggled.connect(plot.set_logarithmic)
