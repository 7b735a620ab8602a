"""Show or hide the regions' list and curve."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui.live.forms import Forms
from penstock.gui.live.icons import icon


class ShowRegions(qt.QAction):
    """Checked: the regions of interest are listed below the picture, and can be changed."""

    def __init__(self, dock: qt.QDockWidget, forms: Forms, parent: qt.QObject | None = None) -> None:
        super().__init__("Regions", parent)
        self.setIcon(icon("fa5s.object-ungroup"))
        self.setToolTip(
            "Regions of interest (R): sums, means and maxima of rectangles; add, move, rename, delete"
        )
        self.setShortcut("R")
        self.setCheckable(True)
        self.toggled.connect(lambda on: forms.show(dock, on))
        dock.visibilityChanged.connect(lambda _: forms.hides(dock) or self.setChecked(not dock.isHidden()))
