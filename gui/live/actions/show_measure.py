"""Show or hide the measuring tools."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui.live.forms import Forms
from penstock.gui.live.icons import icon


class ShowMeasure(qt.QAction):
    """Checked: figures, beam, profiles and masks are below the picture, or in a window of their own."""

    def __init__(self, dock: qt.QDockWidget, forms: Forms, parent: qt.QObject | None = None) -> None:
        super().__init__("Measure", parent)
        self.setIcon(icon("fa5s.ruler-combined"))
        self.setToolTip(
            "Measure in the picture (G): counts of a rectangle, beam centre, resolution and rings, profiles, "
            "masks and backgrounds"
        )
        self.setShortcut("G")
        self.setCheckable(True)
        self.toggled.connect(lambda on: forms.show(dock, on))
        dock.visibilityChanged.connect(lambda _: forms.hides(dock) or self.setChecked(not dock.isHidden()))
