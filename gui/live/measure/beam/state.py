"""Detector and beam as the window uses them: of the series, or as set here."""

from __future__ import annotations

from dataclasses import replace

from silx.gui import qt

from penstock.gui.live.measure.beam.geometry import Beam


class BeamState(qt.QObject):
    """What the series says, and what the user has set instead; that stays until `forget`."""

    changed = qt.Signal()
    """Something is another, or known now."""

    def __init__(self, parent: qt.QObject | None = None) -> None:
        super().__init__(parent)
        self._series = Beam()
        self._centre: tuple[float, float] | None = None
        self._distance: float | None = None
        self._wavelength: float | None = None

    def beam(self) -> Beam:
        """Return what is used."""
        return replace(
            self._series,
            centre=self._centre or self._series.centre,
            distance=self._distance or self._series.distance,
            wavelength=self._wavelength or self._series.wavelength,
        )

    def series(self) -> Beam:
        """Return what the series says."""
        return self._series

    def is_set_here(self) -> bool:
        """Return whether something was set by the user."""
        return (self._centre, self._distance, self._wavelength) != (None, None, None)

    def follow(self, series: Beam) -> None:
        """Take what the series says."""
        if series != self._series:
            self._series = series
            self.changed.emit()

    def set_centre(self, centre: tuple[float, float]) -> None:
        """Set the beam's centre, in pixels from the outer corner of the first one."""
        if centre != self._centre:
            self._centre = centre
            self.changed.emit()

    def set_distance(self, distance: float) -> None:
        """Set the distance from the sample, in m."""
        if distance != self._distance:
            self._distance = distance
            self.changed.emit()

    def set_wavelength(self, wavelength: float) -> None:
        """Set the wavelength, in angstrom."""
        if wavelength != self._wavelength:
            self._wavelength = wavelength
            self.changed.emit()

    def forget(self) -> None:
        """Use what the series says."""
        if self.is_set_here():
            self._centre = self._distance = self._wavelength = None
            self.changed.emit()
