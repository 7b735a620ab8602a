"""The colour bar beside the picture."""

from __future__ import annotations

import numpy as np
from silx.gui import qt
from silx.gui.plot import PlotWidget
from silx.gui.plot.ColorBar import ColorBarWidget

LEAST = 100
"""Pixels of its height: silx' 180 take the room of what is below a small picture."""


class ColourBar(ColorBarWidget):
    """silx' colour bar, without ticks beyond its ends.

    silx takes round numbers from below the minimum on, and draws those that lie outside over what is above
    and below the bar (3.1.3, `ColorBar._TickBar`).
    """

    def __init__(self, plot: PlotWidget, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent=parent, plot=plot, legend="counts")
        self.getColorScaleBar().setMinimumHeight(LEAST)
        self._ticks = self.getColorScaleBar().getTickBar()
        self._compute_ticks = self._ticks.computeTicks
        self._ticks.computeTicks = self._compute_inside
        self._compute_inside()

    def ticks(self) -> list[float]:
        """Values of all ticks, with a label or without."""
        return [float(value) for value in (*self._ticks.ticks, *self._ticks.subTicks)]

    def _activeImageChanged(self, previous: str | None, legend: str | None) -> None:
        # silx makes the bar anew with each frame; the colour map itself says when it has changed.
        image = self.getPlot().getActiveImage()
        if image is None or image.getColormap() is not self.getColormap():
            super()._activeImageChanged(previous, legend)

    def _compute_inside(self) -> None:
        self._compute_ticks()
        low, high = self._ticks._vmin, self._ticks._vmax
        margin = 1e-9 * (high - low)  # 0.30000000000000004 is the end of 0 to 0.3
        for name in ("ticks", "subTicks"):
            values = np.asarray(getattr(self._ticks, name), float)
            setattr(self._ticks, name, values[(values >= low - margin) & (values <= high + margin)])
