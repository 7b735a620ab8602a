"""Where a pixel is: as seen from the sample, with angles, resolution and rings; and in the image as sent.

The detector is flat. It is upright on the beam unless its orientation is known, which may be turned, tilted
or mirrored: a point of it is the beam's centre, `distance` down the beam, and from there so many pixels along
its rows and columns. Against pyFAI in tests/gui/live/measure/beam/test_geometry.py.

The receiver's transforms may turn and mirror what it stores and shows, and the beam centre of the start
message with it: what the detector is told has to be turned back. Pure functions, without Qt.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.receiver.models import Geometry

UPRIGHT = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
"""Directions in which columns and rows increase: (right, down, along the beam) of each."""
POINTS = 361
"""Points of a ring."""
PLANCK_LIGHT = 12398.419843320026
"""h c in eV angstrom: exact since the SI of 2019."""

Line = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Place:
    """A point of the detector; what cannot be known of it is `None`."""

    pixels: float | None
    """From the beam centre, in pixels: of square ones only."""
    millimetres: float | None
    """From the beam centre, on the detector."""
    two_theta: float | None
    """Angle from the beam, in degrees."""
    d: float | None
    """Distance of lattice planes that diffract there, in angstrom; `None` as well in the beam itself."""
    q: float | None
    """Length of the scattering vector, 4 pi sin(theta) / wavelength, in 1/angstrom."""


@dataclass(frozen=True)
class Beam:
    """Detector and beam, as far as they are known."""

    centre: tuple[float, float] | None = None
    """(x, y) in pixels from the outer corner of the first one."""
    distance: float | None = None
    """From the sample along the beam, in m."""
    pixel: tuple[float, float] | None = None
    """Width and height of a pixel, in m."""
    wavelength: float | None = None
    """In angstrom."""
    orientation: tuple[float, ...] | None = None
    """See `UPRIGHT`; `None`: not known, and taken as that."""

    @property
    def energy(self) -> float | None:
        """Energy of a photon, in eV."""
        return PLANCK_LIGHT / self.wavelength if self.wavelength else None

    @property
    def is_tilted(self) -> bool:
        """True if it is known not to be perpendicular to the beam."""
        along = (self.orientation or UPRIGHT)[2::3]
        return any(abs(each) > 1e-6 for each in along)

    def lacks(self) -> tuple[str, ...]:
        """Return what is not known of all that a resolution needs."""
        known = {
            "beam centre": self.centre, "distance": self.distance, "pixel size": self.pixel,
            "wavelength": self.wavelength,
        }  # fmt: skip
        return tuple(name for name, value in known.items() if value is None)

    def at(self, x: float, y: float) -> Place:
        """Return what is known of a point, in pixels from the outer corner of the first one."""
        if self.centre is None:
            return Place(None, None, None, None, None)
        columns, rows = x - self.centre[0], y - self.centre[1]
        square = self.pixel is None or math.isclose(*self.pixel, rel_tol=1e-6)
        pixels = math.hypot(columns, rows) if square else None
        if self.pixel is None:
            return Place(pixels, None, None, None, None)
        right, down, along = (columns * self.pixel[0] * self._axes()[0]) + (
            rows * self.pixel[1] * self._axes()[1]
        )
        millimetres = 1000 * math.hypot(columns * self.pixel[0], rows * self.pixel[1])
        if self.distance is None:
            return Place(pixels, millimetres, None, None, None)
        angle = math.atan2(math.hypot(right, down), self.distance + along)
        if self.wavelength is None:
            return Place(pixels, millimetres, math.degrees(angle), None, None)
        twice = 2 * math.sin(angle / 2)
        d = self.wavelength / twice if twice > 0 else None
        return Place(pixels, millimetres, math.degrees(angle), d, 2 * math.pi * twice / self.wavelength)

    def two_theta(self, d: float) -> float | None:
        """Return the angle from the beam at which planes of this distance diffract, in degrees; `None` if
        they do not, or the wavelength is not known."""
        if self.wavelength is None or self.wavelength > 2 * d:
            return None
        return math.degrees(2 * math.asin(self.wavelength / (2 * d)))

    def ring(self, two_theta: float) -> Line | None:
        """Return points of the detector at this angle from the beam, in degrees: (n, 2) in pixels, NaN where
        the ring does not meet it; `None` if that is not known.

        On a tilted detector it is an ellipse, or a hyperbola.
        """
        if self.centre is None or self.distance is None or self.pixel is None:
            return None
        around = np.linspace(0, 2 * math.pi, POINTS)
        angle = math.radians(two_theta)
        rays = np.stack(
            (
                math.sin(angle) * np.cos(around),
                math.sin(angle) * np.sin(around),
                np.full(POINTS, math.cos(angle)),
            ),
            axis=1,
        )
        fast, slow = self._axes()
        normal = np.cross(fast, slow)
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = self.distance * normal[2] / (rays @ normal)
        reach[~((reach > 0) & (reach < 1e6 * self.distance))] = np.nan
        there = rays * reach[:, np.newaxis] - np.array([0.0, 0.0, self.distance])
        x = self.centre[0] + there @ fast / self.pixel[0]
        y = self.centre[1] + there @ slow / self.pixel[1]
        return np.stack((x, y), axis=1)

    def _axes(self) -> Line:
        return np.array(self.orientation or UPRIGHT, np.float64).reshape(2, 3)


def known(geometry: Geometry | None) -> Beam:
    """Return what the source knows."""
    if geometry is None:
        return Beam()
    x, y = geometry.beam_center_x, geometry.beam_center_y
    width, height = geometry.x_pixel_size, geometry.y_pixel_size
    given = geometry.detector_orientation
    return Beam(
        None if x is None or y is None else (x, y),
        geometry.distance,
        None if width is None or height is None else (width, height),
        geometry.wavelength,
        tuple(given) if given is not None else None,
    )


def visible(line: Line, extent: tuple[int, int]) -> list[Line]:
    """Return the pieces of a line that may be in a picture of so many columns and rows.

    Those are told by the rectangles around each two points: of a large ring a corner of the picture may have
    a part, and none of its points.
    """
    begins, ends = line[:-1], line[1:]
    finite = np.isfinite(begins).all(1) & np.isfinite(ends).all(1)
    with np.errstate(invalid="ignore"):
        low, high = np.minimum(begins, ends), np.maximum(begins, ends)
        meets = finite & (high >= 0).all(1) & (low <= np.array(extent)).all(1)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], meets, [False])).astype(np.int8)))
    return [line[first : last + 1] for first, last in zip(edges[::2], edges[1::2], strict=True)]


def sentence(place: Place) -> str:
    """Return what is known of a place, for the status bar; "" if nothing is."""
    parts: Sequence[tuple[float | None, str]] = (
        (place.millimetres, "{:,.2f} mm"),
        (place.pixels if place.millimetres is None else None, "{:,.1f} pixels from the beam"),
        (place.two_theta, "2θ {:.3f}°"),
        (place.d, "d {:.4g} Å"),
        (place.q, "q {:.4g} Å⁻¹"),
    )
    return "   ".join(form.format(value) for value, form in parts if value is not None)


ASSEMBLE, ROTATE, FLIP = "assemble", "rotate", "flip"
IN_PLACE = frozenset(
    {"bslz4", "cbf", "counts_to_energy", "dark_flat", "decompress", "mask", "mono12p", "mono12packed"}
)
"""Steps that leave each pixel where it is."""
NOT_ASKED = "What the receiver does to its images is not known yet: take a frame first."
IN_BLOCKS = "The receiver turns its images, and of a frame in blocks the size is not known: set Transfer to "\
            "all pixels."  # fmt: skip

Step = Mapping[str, Any]
Point = tuple[float, float]


class NotKnown(Exception):
    """The point cannot be known; a sentence with the remedy."""


@dataclass(frozen=True)
class Turned:
    """What was done to the image on show.

    Args:
        steps: the receiver's transforms, as in its configuration; `None` if they are not known.
        size: rows and columns of the image as it is shown; `None` if they are not known.
        why: why the steps are not known: a sentence.
    """

    steps: Sequence[Step] | None = ()
    size: tuple[int, int] | None = None
    why: str = NOT_ASKED

    def as_sent(self, point: Point) -> Point:
        """Return a point (x, y) of the image as sent, in pixels from the outer corner of its first one.

        Raises:
            NotKnown: it cannot be known.
        """
        turns = self._turns()
        if not turns:
            return point
        if self.size is None:
            raise NotKnown(IN_BLOCKS)
        (x, y), (rows, columns) = point, self.size
        for step in reversed(turns):
            if step["type"] == ROTATE:
                for _ in range(step["quarter_turns"]):  # back: clockwise
                    x, y, rows, columns = rows - y, x, columns, rows
            elif step["direction"] == "left-right":
                x = columns - x
            else:
                y = rows - y
        return x, y

    @property
    def is_turned(self) -> bool:
        """True if it is known that the image is not as it was sent."""
        try:
            return bool(self._turns())
        except NotKnown:
            return False

    def _turns(self) -> list[Step]:
        """Return the steps that move pixels; those of single modules move none of the beam's centre."""
        if self.steps is None:
            raise NotKnown(self.why)
        kinds = [step.get("type") for step in self.steps]
        after = kinds.index(ASSEMBLE) + 1 if ASSEMBLE in kinds else 0
        turns = [step for step in self.steps[after:] if step.get("type") not in IN_PLACE]
        for step in turns:
            if step.get("type") not in (ROTATE, FLIP):
                raise NotKnown(
                    f"Where the receiver's step {step.get('type')} puts the pixels is not known here: type "
                    "the numbers of the image as the detector sends it."
                )
        return turns
