"""Draw the rectangle that is measured."""

from __future__ import annotations

import qtawesome  # type: ignore[import-untyped]
from silx.gui import qt

from penstock.gui import theme
from penstock.gui.live.measure.rectangle import RectangleTool


class DrawRectangle(qt.QAction):
    """Checked: the next drag in the picture draws it."""

    def __init__(self, tool: RectangleTool, parent: qt.QObject | None = None) -> None:
        super().__init__("Rectangle", parent)
        self.setIcon(qtawesome.icon("fa5s.vector-square", color=theme.current().text))
        self.setToolTip("Measure a rectangle (B): press, then drag in the picture")
        self.setShortcut("B")
        self.setCheckable(True)
        self.triggered.connect(tool.draw)
        tool.drawing.connect(self.setChecked)
