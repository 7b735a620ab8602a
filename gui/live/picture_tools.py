"""The tools with which one moves in the picture: whole image, zoom, pan."""

from __future__ import annotations

from silx.gui import qt
from silx.gui.plot.actions.control import ResetZoomAction
from silx.gui.plot.actions.mode import PanModeAction, ZoomModeAction

from penstock.gui.live.icons import icon
from penstock.gui.live.image_plot import ImagePlot


class PictureTools:
    """silx' own tools, in the colours of the theme.

    Args:
        plot: plot to act on.
        parent: widget to which they belong.
    """

    def __init__(self, plot: ImagePlot, parent: qt.QWidget) -> None:
        self.whole = ResetZoomAction(plot, parent=parent)
        self.whole.setShortcut("Home")
        self.whole.setToolTip("Show the whole image (Home)")
        self.zoom = ZoomModeAction(plot, parent=parent)
        self.pan = PanModeAction(plot, parent=parent)
        for action, name in (
            (self.whole, "fa5s.expand"), (self.zoom, "fa5s.search-plus"), (self.pan, "fa5s.arrows-alt"),
        ):  # fmt: skip
            action.setIcon(icon(name))
