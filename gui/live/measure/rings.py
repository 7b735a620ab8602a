"""Rings of lattice planes over the picture."""

from __future__ import annotations

from collections.abc import Sequence

from silx.gui import qt
from silx.gui.plot.items import Marker, Shape

from penstock.gui.live.image_plot import ImagePlot
from penstock.gui.live.measure.beam import Beam, Line, visible

COLOUR = "#ff9f1c"
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
                line.setColor(COLOUR)
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
        name.setColor(COLOUR)
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
