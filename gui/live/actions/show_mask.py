"""Colour for the pixels that carry no count."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui.live.image_plot import ImagePlot


class ShowMask(qt.QAction):
    """Checked: invalid and saturated pixels have colours of their own."""

    def __init__(self, plot: ImagePlot, parent: qt.QObject | None = None) -> None:
        super().__init__("Mask", parent)
        self.setToolTip("Show invalid pixels (grey) and saturated ones (pink) (M); autoscale leaves both out")
        self.setShortcut("M")
        self.setCheckable(True)
        self.setChecked(True)
        self.toggled.connect(plot.set_mask_shown)
