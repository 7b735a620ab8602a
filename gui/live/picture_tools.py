"""The tools at the left edge of the picture: open, zoom, pan, save, copy."""

from __future__ import annotations

from collections.abc import Sequence

import qtawesome  # type: ignore[import-untyped]
from silx.gui import qt
from silx.gui.plot.actions.control import ResetZoomAction
from silx.gui.plot.actions.mode import PanModeAction, ZoomModeAction

from penstock.gui import theme
from penstock.gui.live.image_plot import ImagePlot


class PictureTools(qt.QToolBar):
    """silx' own tools, in the colours of the theme, and others above and below them.

    Args:
        plot: plot to act on.
        before: tools above silx' own.
        after: tools below them.
        parent: widget to which the bar belongs.
    """

    def __init__(
        self, plot: ImagePlot, before: Sequence[qt.QAction], after: Sequence[qt.QAction], parent: qt.QWidget
    ) -> None:
        super().__init__("Picture", parent)
        self.setMovable(False)
        self.setOrientation(qt.Qt.Vertical)
        self.whole = ResetZoomAction(plot, parent=self)
        self.whole.setShortcut("Home")
        self.whole.setToolTip("Show the whole image (Home)")
        self.addActions(before)
        # silx' own icons are drawn for a light background.
        for action, icon in (
            (self.whole, "fa5s.expand"),
            (ZoomModeAction(plot, parent=self), "fa5s.search-plus"),
            (PanModeAction(plot, parent=self), "fa5s.arrows-alt"),
        ):
            action.setIcon(qtawesome.icon(icon, color=theme.current().text))
            self.addAction(action)
        self.addActions(after)
