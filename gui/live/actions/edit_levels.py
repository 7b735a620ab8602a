"""silx' dialog for levels and colours."""

from __future__ import annotations

from silx.gui import qt
from silx.gui.dialog.ColormapDialog import ColormapDialog

from penstock.gui.live.image_plot import ImagePlot


class EditLevels(qt.QAction):
    """Opens the dialog on the plot's colour map; autoscale then ends, or it would undo each edit."""

    def __init__(self, plot: ImagePlot, autoscale: qt.QAction, parent: qt.QWidget) -> None:
        super().__init__("Levels…", parent)
        self.setToolTip("Set levels and colours by hand; switches autoscale off")
        self._plot = plot
        self._autoscale = autoscale
        self._dialog: ColormapDialog | None = None
        self.triggered.connect(self._open)

    def _open(self) -> None:
        self._autoscale.setChecked(False)
        if self._dialog is None:
            self._dialog = ColormapDialog(self.parent())
            self._dialog.setModal(False)
            self._dialog.setColormap(self._plot.colours())
        self._dialog.setItem(self._plot.image())
        self._dialog.show()
