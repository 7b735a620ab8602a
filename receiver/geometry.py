"""Position of the detector, from keys of the header; and pyFAI's geometry of it.

The keys are those of the table in `receiver.files.nexus`: `distance`, `beam_center_x` and `_y`,
`x_pixel_size` and `y_pixel_size`, and the energy or the wavelength. They describe a flat detector
perpendicular to the beam, and its image as sent: seen along the beam, row 0 is at the top and column 0 on the
left, as DECTRIS detectors send it, unless `detector_orientation` says otherwise; pixel coordinates begin at
the outer corner of the first pixel.

The axes of NeXus are those of McStas: seen along the beam, x points to the left and y up; z points along the
beam. pyFAI (2026.9) reads no geometry from NeXus, but loads its own as JSON (`pyFAI.load`), so the file has
both. See docs/explanation/decisions/0012-geometry-for-pyfai.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.receiver import models
from penstock.stins.metadata import number
from penstock.stins.texts import plain_text

PLANCK_LIGHT = 12398.419843320026
"""h c in eV angstrom: exact since the SI of 2019."""
ANGSTROM = 1e-10

TOP_LEFT = 2
"""pyFAI's (EXIF's) number for this orientation of the image: origin at the top left, seen from the sample."""


ORIENTATION = "detector_orientation"
"""Key with the directions in which columns and rows increase, six numbers: (right, down, along the beam) of
each, seen along the beam; upright is [1, 0, 0, 0, 1, 0]. Any other of a DECTRIS stream whose
detector_translation points against the beam is in the axes of DECTRIS' files: left, up, against the beam."""
UPRIGHT = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
CENTRE = ("beam_center_x", "beam_center_y")
WAVELENGTHS = ("incident_wavelength", "wavelength")
"""Keys of the wavelength in angstrom; the first one that is set counts."""
ENERGIES = ("incident_energy", "photon_energy")
"""Keys of the photon energy in eV, likewise."""
TOLERANCE = 1e-6
"""Tolerance of directions and angles: how exactly a detector can be turned."""


NEEDED = (
    "its stream's header must give distance, beam_center_x, beam_center_y, x_pixel_size and y_pixel_size, or "
    "set these on the detector's device; a detector_orientation has to be a turn about the beam"
)
"""What is missing where there is no geometry, for sentences."""
REMARKS = "geometry_remarks"
"""Key of sentences, in what is made of a file: why values that it has are not known."""
NO_ENERGY = "has neither incident_energy nor incident_wavelength; take 2th_deg or r_mm instead"


@dataclass(frozen=True, slots=True)
class Geometry:
    """A flat detector perpendicular to the beam."""

    distance: float
    """Distance from the sample, in m."""
    centre: tuple[float, float]
    """Beam centre (x, y) in pixels: columns, rows."""
    pixel: tuple[float, float]
    """Pixel size (x, y) in m: width, height."""
    wavelength: float | None
    """Wavelength in angstrom; `None` if unknown."""
    turn: float = 0.0
    """Radians by which columns and rows are turned about the beam, clockwise seen along it."""


def known(metadata: Mapping[str, Any], series: str = "") -> models.Geometry:
    """Return what the header says of the detector's position, its sensor and the beam.

    Zeros mean "not set", as everywhere in the header; a beam centre is not set if no number of it is above or
    below 0. The photon energy follows from the wavelength, and the other way round, where one is not given.

    Args:
        metadata: metadata of the series, behind the transforms.
        series: id of the series.
    """
    x, y = (number(metadata.get(key)) for key in CENTRE)
    if not x and not y:
        x = y = None
    wavelength, energy = (_first_length(metadata, keys) for keys in (WAVELENGTHS, ENERGIES))
    orientation = None if _is_turned(metadata) else _orientation(metadata)
    material = metadata.get("sensor_material")
    said: dict[str, Any] = {
        "beam_center_x": x,
        "beam_center_y": y,
        "distance": _length(metadata.get("distance")),
        "x_pixel_size": _length(metadata.get("x_pixel_size")),
        "y_pixel_size": _length(metadata.get("y_pixel_size")),
        "wavelength": wavelength if energy is None else wavelength or _length(PLANCK_LIGHT / energy),
        "energy": energy if wavelength is None else energy or _length(PLANCK_LIGHT / wavelength),
        "detector_orientation": None if orientation is None else list(orientation),
        "sensor_thickness": _length(metadata.get("sensor_thickness")),
        "sensor_material": plain_text(material) if isinstance(material, str) and material else None,
    }
    return models.Geometry(
        series=series, unknown=[key for key, value in said.items() if value is None], **said
    )


def find(metadata: Mapping[str, Any]) -> Geometry | None:
    """Return the geometry given by the header; `None` without distance, beam centre or pixel size, or with an
    orientation that is not understood; see `known`.
    """
    said, turn = known(metadata), _turn(metadata)
    x, y, distance = said.beam_center_x, said.beam_center_y, said.distance
    width, height = said.x_pixel_size, said.y_pixel_size
    if x is None or y is None or distance is None or width is None or height is None or turn is None:
        return None
    return Geometry(distance, (x, y), (width, height), said.wavelength, turn)


def poni(geometry: Geometry, shape: tuple[int, int]) -> dict[str, Any]:
    """Return the geometry in pyFAI's terms (version 2.1 of its format): SI units, slow axis first.

    pyFAI counts the point of normal incidence from the lower left corner, seen from the sample.
    """
    (x, y), (width, height) = geometry.centre, geometry.pixel
    known = {} if geometry.wavelength is None else {"wavelength": geometry.wavelength * ANGSTROM}
    return {
        "poni_version": 2.1, "detector": "Detector",
        "detector_config": {
            "pixel1": height, "pixel2": width, "max_shape": list(shape), "orientation": TOP_LEFT
        },
        "dist": geometry.distance, "poni1": (shape[0] - y) * height, "poni2": x * width,
        "rot1": 0.0, "rot2": 0.0, "rot3": geometry.turn, **known,
    }  # fmt: skip


def _turn(metadata: Mapping[str, Any]) -> float | None:
    """Return the detector's turn about the beam, see `Geometry.turn`; `None` if the orientation is not
    understood (see `_orientation`), or of a tilted or mirrored image. Without one, the image is upright."""
    if not any(
        ORIENTATION in each for each in (_object(metadata, "user"), metadata, _object(metadata, "vendor"))
    ):
        return 0.0
    directions = _orientation(metadata)
    if directions is None:
        return None
    right, down, *rest = directions
    if not np.allclose(rest, [0.0, -down, right, 0.0], atol=TOLERANCE):
        return None
    turn = math.atan2(down, right)
    return turn if abs(turn) > TOLERANCE else 0.0


def _orientation(metadata: Mapping[str, Any]) -> tuple[float, ...] | None:
    """Return the directions of columns and rows, see `ORIENTATION`; `None` if they are not given, or not
    understood: of an image that the receiver has turned, or in unknown axes."""
    user, vendor = _object(metadata, "user"), _object(metadata, "vendor")
    if ORIENTATION in user:
        return _directions(user[ORIENTATION])
    if ORIENTATION in metadata:
        directions = _directions(metadata[ORIENTATION])
    else:
        directions = _directions_of_dectris(vendor.get(ORIENTATION), vendor.get("detector_translation"))
    if directions is None or _is_alike(directions, UPRIGHT):
        return directions
    return None if _is_turned(metadata) else directions


def _is_turned(metadata: Mapping[str, Any]) -> bool:
    """Return whether the receiver has rotated or mirrored the image, and the user has not said how it stands
    then."""
    is_by_receiver = "receiver_transforms" in _object(metadata, "acquisition")
    return is_by_receiver and ORIENTATION not in _object(metadata, "user")


def _directions_of_dectris(given: Any, translation: Any) -> tuple[float, ...] | None:
    """Return the directions in a DECTRIS stream, whose translation says which axes it has."""
    directions = _directions(given)
    if directions is None or _is_alike(directions, UPRIGHT):
        return directions  # the default of SIMPLON 1.8, whatever a client has made of the translation
    known = isinstance(translation, (list, tuple)) and len(translation) == 3
    along = (number(translation[2]) if known else None) or 0.0
    negative = tuple(0.0 - each for each in directions)
    if along < 0:
        return negative
    if along == 0 or _is_alike(negative, UPRIGHT):
        return None  # half a turn is what upright is in the other axes
    return directions


def _directions(given: Any) -> tuple[float, ...] | None:
    """Return two directions at a right angle, six numbers; `None` for anything else."""
    if not isinstance(given, (list, tuple, np.ndarray)) or len(given) != 6:
        return None
    found = tuple(math.nan if (value := number(each)) is None else value for each in given)
    columns, rows = np.array(found).reshape(2, 3)
    products = [columns @ columns, rows @ rows, columns @ rows]
    return found if np.allclose(products, [1.0, 1.0, 0.0], atol=TOLERANCE) else None


def _is_alike(directions: tuple[float, ...], others: tuple[float, ...]) -> bool:
    return np.allclose(directions, others, atol=TOLERANCE)


def _object(metadata: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = metadata.get(key)
    return value if isinstance(value, Mapping) else {}


def _first_length(metadata: Mapping[str, Any], keys: tuple[str, ...]) -> float | None:
    return next((found for key in keys if (found := _length(metadata.get(key))) is not None), None)


def _length(value: Any) -> float | None:
    """Return a finite number above 0; `None` for any other value: 0 means "not set"."""
    found = number(value)
    return found if found is not None and found > 0 else None
