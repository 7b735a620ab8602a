"""The tools at the left edge of the picture: zoom, pan, save, copy."""

from __future__ import annotations

import qtawesome  # type: ignore[import-untyped]
from silx.gui import qt
from silx.gui.plot.actions.control import ResetZoomAction
from silx.gui.plot.actions.io import CopyAction, SaveAction
from silx.gui.plot.actions.mode import PanModeAction, ZoomModeAction

from penstock.gui import theme
from penstock.gui.live.image_plot import ImagePlot

SAVE = "Save the counts of this frame, all of them, or the picture"
SAVE_NOT = "This frame was transferred in blocks: set Transfer to all pixels to save its counts"


class PictureTools(qt.QToolBar):
    """silx' own tools, in the colours of the theme.

    Args:
        plot: plot to act on.
        parent: widget to which the bar belongs.
    """

    def __init__(self, plot: ImagePlot, parent: qt.QWidget) -> None:
        super().__init__("Picture", parent)
        self.setMovable(False)
        self.setOrientation(qt.Qt.Vertical)
        self.whole = ResetZoomAction(plot, parent=self)
        self.whole.setShortcut("Home")
        self.whole.setToolTip("Show the whole image (Home)")
        self.save = SaveAction(plot, parent=self)
        self.set_whole_frame(True)
        # silx' own icons are drawn for a light background.
        for action, icon in (
            (self.whole, "fa5s.expand"),
            (ZoomModeAction(plot, parent=self), "fa5s.search-plus"),
            (PanModeAction(plot, parent=self), "fa5s.arrows-alt"),
            (self.save, "fa5s.save"),
            (CopyAction(plot, parent=self), "fa5s.copy"),
        ):
            action.setIcon(qtawesome.icon(icon, color=theme.current().text))
            self.addAction(action)

    def set_whole_frame(self, whole: bool) -> None:
        """Set whether all pixels of the frame are here: only then may they be saved."""
        self.save.setEnabled(whole)
        self.save.setToolTip(SAVE if whole else SAVE_NOT)
