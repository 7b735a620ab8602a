"""Rings of lattice planes over the picture, and the beam's cross, which can be dragged."""

from __future__ import annotations

from collections.abc import Sequence

from silx.gui import qt
from silx.gui.plot.items import Marker, Shape
from silx.gui.plot.items.roi import CrossROI
from silx.gui.plot.tools.roi import RegionOfInterestManager

from penstock.gui.live.measure.beam.geometry import Beam, Line, visible
from penstock.gui.live.measure.beam.state import BeamState
from penstock.gui.live.plot.image_plot import ImagePlot

RINGS_COLOUR = "#ff9f1c"
_GROUND = "#000000A0"
_WIDTH, _HEIGHT = 66, 26
"""Pixels of the screen that a name takes."""
_SHARES = (0.125, 0.375, 0.625, 0.875, 0.25, 0.5, 0.75)
"""Where on its ring a name may be."""


class Rings(qt.QObject):
    """Draws one ring for each distance that diffracts into the picture.

    Args:
        plot: plot over which they are drawn.
    """

    def __init__(self, plot: ImagePlot, parent: qt.QObject | None = None) -> None:
        super().__init__(parent)
        self._plot = plot
        self._items: list[Shape | Marker] = []
        self._shown: tuple[object, ...] = ()
        self._distances: list[float] = []

    def distances(self) -> list[float]:
        """Return those whose rings are in the picture, in angstrom."""
        return list(self._distances)

    def lines(self) -> list[Shape]:
        """Return what is drawn."""
        return [item for item in self._items if isinstance(item, Shape)]

    def names(self) -> list[Marker]:
        """Return what is written beside them."""
        return [item for item in self._items if isinstance(item, Marker)]

    def show_rings(self, beam: Beam, distances: Sequence[float]) -> None:
        """Draw the rings of these distances, in angstrom; those that are not known, or not in sight, are not.

        Args:
            beam: detector and beam.
            distances: of lattice planes.
        """
        extent = self._plot.frame_extent()
        wanted = (beam, tuple(distances), extent)
        if wanted == self._shown:
            return
        self._shown = wanted
        for item in self._items:
            self._plot.removeItem(item)
        self._items, self._distances = [], []
        if extent is None:
            return
        taken: list[tuple[float, float]] = []
        for distance in distances:
            angle = beam.two_theta(distance)
            ring = None if angle is None else beam.ring(angle)
            pieces = [] if ring is None else visible(ring, extent)
            for piece in pieces:
                line = Shape("polylines")
                line.setPoints(piece)
                line.setFill(False)
                line.setOverlay(True)
                line.setColor(RINGS_COLOUR)
                line.setLineWidth(1.2)
                self._add(line)
            if pieces:
                self._distances.append(distance)
                self._name(f"{distance:.4g} Å", max(pieces, key=len), taken)

    def _name(self, text: str, piece: Line, taken: list[tuple[float, float]]) -> None:
        """Write the distance beside its ring, unless names of others leave no room."""
        for share in _SHARES:
            point = piece[int(share * (len(piece) - 1))]
            there = self._plot.dataToPixel(*point, check=True)
            if (
                there is not None
                and self._has_room(there[0])
                and all(abs(there[0] - x) > _WIDTH or abs(there[1] - y) > _HEIGHT for x, y in taken)
            ):
                break
        else:
            return
        taken.append(there)
        name = Marker()
        name.setText(text)
        name.setSymbol("")
        name.setColor(RINGS_COLOUR)
        name.setBackgroundColor(_GROUND)
        name.setPosition(float(point[0]), float(point[1]))
        self._add(name)

    def _has_room(self, left: float) -> bool:
        """Return whether a name that begins there, in pixels of the screen, ends within the picture."""
        extent = self._plot.frame_extent()
        begin, _, width, _ = self._plot.getPlotBoundsInPixels()
        edge = None if extent is None else self._plot.dataToPixel(extent[0], 0, check=False)
        end = begin + width if edge is None else min(begin + width, edge[0])
        return bool(left + _WIDTH <= end)

    def _add(self, item: Shape | Marker) -> None:
        item.setName(f"__ring_{len(self._items)}")
        self._plot.addItem(item)
        self._items.append(item)


CROSS_COLOUR = "#ff4d4d"


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
            self._cross.setColor(CROSS_COLOUR)
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
