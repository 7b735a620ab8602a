"""Detector and beam as the window uses them: of the series, or as set here."""

from __future__ import annotations

from dataclasses import replace

from silx.gui import qt

from penstock.gui.live.measure.beam.geometry import PLANCK_LIGHT, Beam


class BeamState(qt.QObject):
    """What the series says, and what the user has set instead; that stays until `forget`."""

    changed = qt.Signal()
    """Something is another, or known now."""

    def __init__(self, parent: qt.QObject | None = None) -> None:
        super().__init__(parent)
        self._series = Beam()
        self._own = Beam()

    def beam(self) -> Beam:
        """Return what is used."""
        series, own = self._series, self._own
        return replace(
            series, centre=own.centre or series.centre, distance=own.distance or series.distance,
            wavelength=own.wavelength or series.wavelength,
        )  # fmt: skip

    def series(self) -> Beam:
        """Return what the series says."""
        return self._series

    def is_set_here(self) -> bool:
        """Return whether something was set by the user."""
        return self._own != Beam()

    def follow(self, series: Beam) -> None:
        """Take what the series says."""
        if series != self._series:
            self._series = series
            self.changed.emit()

    def set_centre(self, centre: tuple[float, float]) -> None:
        """Set the beam's centre, in pixels from the outer corner of the first one."""
        self._set(replace(self._own, centre=centre))

    def set_distance(self, distance: float) -> None:
        """Set the distance from the sample, in m."""
        self._set(replace(self._own, distance=distance))

    def set_energy(self, energy: float) -> None:
        """Set the energy of a photon, in eV."""
        self._set(replace(self._own, wavelength=PLANCK_LIGHT / energy))

    def forget(self) -> None:
        """Use what the series says."""
        self._set(Beam())

    def _set(self, own: Beam) -> None:
        if own != self._own:
            self._own = own
            self.changed.emit()
