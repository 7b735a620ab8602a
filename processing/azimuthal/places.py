"""The entries of a matrix: where pixels lie, by pyFAI's geometry, and how they are shared (`split.py`).

pyFAI's own sharing (2026.9) puts what lies up to one bin below a range into its first bin, and what lies
above it into the last one, counts a pixel of which a part lies in a sector as a whole, and is some degrees
off beyond 180 degrees with `full`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from penstock.processing.azimuthal import split
from penstock.processing.azimuthal.matrix import BINS, COUNTS, small
from penstock.processing.azimuthal.plan import CannotBuildError, Plan, Range
from penstock.processing.azimuthal.split import TURN, Bins

MOST_ENTRIES = 200_000_000
"""Most entries of a matrix: 1.7 GB."""
UPPER = 1 + float(np.finfo(np.float32).eps)
"""Factor by which bins end above the image's last pixel, as in pyFAI, so that it lies in the last one."""
HALF = TURN / 2


class Entries(NamedTuple):
    """The entries of a matrix: see `Matrix`."""

    bins: np.ndarray[Any, Any]
    weights: np.ndarray[Any, Any]
    counts: np.ndarray[Any, Any]


class Places:
    """The places of pixels over radius and azimuth.

    Args:
        ai: pyFAI's geometry.
        plan: what is integrated.
        mask: bool, (rows, cols), true where a pixel does not count.

    Raises:
        CannotBuildError: no pixel has a place.
    """

    def __init__(self, ai: Any, plan: Plan, mask: np.ndarray[Any, Any]) -> None:
        self._plan = plan
        self._needs_azimuth = bool(plan.azimuth_points) or plan.azimuth_range is not None
        self.corners = self._corners(ai)
        """(pixels, n, 2), radius and azimuth in degrees: of n = 1 the centre, 2 a box, more the outline."""
        self.mask: np.ndarray[Any, Any] = mask.ravel() | ~np.isfinite(self.corners).all(axis=(1, 2))
        """bool, (pixels,)."""
        if self.mask.all():
            raise CannotBuildError("no pixel has a place: see the geometry and the mask")

    def radial(self) -> Range:
        """Return the limits of the radius: those of the plan, or of the image."""
        if self._plan.radial_range is not None:
            return self._plan.radial_range
        there = self.corners[~self.mask]
        radius = there[..., 0]
        low, high = float(radius.min()), float(radius.max())
        # A pixel in which the beam lies begins at 0; of it is the corner that is nearest to the beam.
        near = there[radius.min(axis=1) <= low * UPPER]
        return _around(0.0 if _goes_around(near[..., 1]).any() else low, high)

    def azimuth(self) -> Range:
        """Return the limits of the azimuth, in degrees: those of the plan, or of the image."""
        if self._plan.azimuth_range is not None:
            return self._plan.azimuth_range
        there = self.corners[~self.mask, :, 1]
        low, high = float(there.min()), float(there.max())
        # Of a pixel across the cut a box reaches beyond it, and an outline has corners on both sides.
        across = low < -HALF or high > HALF or bool((np.ptp(there, axis=1) > HALF).any())
        return (-HALF, HALF) if across else _around(low, high)

    def entries(self, radial: Range, azimuth: Range) -> Entries:
        """Return the entries of the matrix with bins between these limits.

        Raises:
            CannotBuildError: there are none, or too many.
        """
        plan = self._plan
        over, sectors = Bins.between(radial, plan.points), Bins(0.0, 1.0, 0)
        if self._needs_azimuth:
            sectors = Bins.between(azimuth, max(1, plan.azimuth_points))
        made = self._points(over, sectors) if self.corners.shape[1] == 1 else self._shared(over, sectors)
        if not len(made.bins):
            raise CannotBuildError(
                "no pixel lies in this range: see radial_range and azimuth_range, and the units of each"
            )
        return made

    def _corners(self, ai: Any) -> np.ndarray[Any, Any]:
        plan, pixels = self._plan, self._plan.shape[0] * self._plan.shape[1]
        if plan.splitting == "full":
            found = np.array(ai.array_from_unit(plan.shape, "corner", plan.unit)).reshape(pixels, -1, 2)
            found[..., 1] *= HALF / np.pi
            return found
        box = plan.splitting == "bbox"
        found = np.zeros((pixels, 1 + box, 2))
        for axis, unit in enumerate((plan.unit, "chi_deg")[: 1 + self._needs_azimuth]):
            found[..., axis] = ai.array_from_unit(plan.shape, "center", unit).reshape(pixels, 1)
            if box:
                half = ai.array_from_unit(plan.shape, "delta", unit, scale=True).ravel()
                found[:, 0, axis] -= half
                found[:, 1, axis] += half
        if box:
            np.maximum(found[..., 0], 0, out=found[..., 0])  # of a box around the beam
            if not self._needs_azimuth:
                found[:, 1, 1] = 1
        return found

    def _points(self, radial: Bins, sectors: Bins) -> Entries:
        bins = split.points(self.corners[:, 0, 0], self.corners[:, 0, 1], radial, sectors)
        bins[self.mask] = -1
        is_in = bins >= 0
        number = radial.number * max(1, sectors.number)
        return Entries(
            bins[is_in].astype(small(number, BINS)), np.ones(is_in.sum(), "<f4"), is_in.astype(COUNTS[0])
        )

    def _shared(self, radial: Bins, sectors: Bins) -> Entries:
        kind = small(radial.number * max(1, sectors.number), BINS)
        counts = np.zeros(len(self.mask), COUNTS[1])

        def run(most: int) -> tuple[int, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
            bins, weights = np.empty(most, kind), np.empty(most, "<f4")
            made = split.share(self.corners, self.mask, radial, sectors, bins, weights, counts)
            return made, bins[:made], weights[:made]

        if (most := run(0)[0]) > MOST_ENTRIES:
            plan = self._plan
            raise CannotBuildError(
                f"points is {plan.points}, azimuth_points {plan.azimuth_points}: each pixel would lie in "
                f"{most / (~self.mask).sum():.0f} of these bins on average, and the matrix have "
                f"{most / 1e6:.0f} million entries, of {MOST_ENTRIES / 1e6:.0f} million at most: take fewer "
                "points, or `splitting: no`"
            )
        _, bins, weights = run(most)
        return Entries(bins, weights, counts.astype(small(int(counts.max()), COUNTS)))


def _goes_around(azimuth: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return for which outlines, (pixels, corners), the azimuths go around the circle: the beam is within."""
    steps = np.roll(azimuth, -1, axis=1) - azimuth
    steps -= TURN * np.round(steps / TURN)
    return np.asarray(np.abs(steps.sum(axis=1)) > HALF)


def _around(low: float, high: float) -> Range:
    """Return limits between which the last pixel lies, too."""
    above = high * UPPER if high > 0 else high / UPPER
    return low, above if above > low else low + 1


def edges(limits: Range, number: int) -> np.ndarray[Any, Any]:
    """Return the edges of so many bins between two limits, float64, (number + 1,)."""
    return np.linspace(*limits, number + 1)
