"""The beam's cross over the picture; it can be dragged."""

from __future__ import annotations

from silx.gui import qt
from silx.gui.plot.items.roi import CrossROI
from silx.gui.plot.tools.roi import RegionOfInterestManager

from penstock.gui.live.image_plot import ImagePlot
from penstock.gui.live.measure.beam_state import BeamState

COLOUR = "#ff4d4d"


class Cross(qt.QObject):
    """Draws the beam's centre, if it is known, while it is to be shown.

    Args:
        plot: plot over which it is drawn.
        state: the beam; where the user drags the cross, its centre is.
    """

    def __init__(self, plot: ImagePlot, state: BeamState, parent: qt.QObject | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self._manager = RegionOfInterestManager(plot)
        self._cross: CrossROI | None = None
        self._shown = False
        self._placing = False
        state.changed.connect(self._follow)

    def cross(self) -> CrossROI | None:
        """Return what is drawn."""
        return self._cross

    def set_shown(self, shown: bool) -> None:
        """Set whether it is drawn."""
        self._shown = shown
        self._follow()

    def _follow(self) -> None:
        centre = self._state.beam().centre
        if not self._shown or centre is None:
            if self._cross is not None:
                cross, self._cross = self._cross, None
                self._manager.removeRoi(cross)
            return
        self._placing = True
        if self._cross is None:
            self._cross = CrossROI()
            self._cross.setPosition(centre)
            self._cross.setName("beam")
            self._cross.setColor(COLOUR)
            self._cross.setEditable(True)
            self._manager.addRoi(self._cross, useManagerColor=False)
            self._cross.sigRegionChanged.connect(self._drag)
        elif tuple(self._cross.getPosition()) != centre:
            self._cross.setPosition(centre)
        self._placing = False

    def _drag(self) -> None:
        if self._cross is not None and not self._placing:
            x, y = self._cross.getPosition()
            self._state.set_centre((round(float(x), 2), round(float(y), 2)))
