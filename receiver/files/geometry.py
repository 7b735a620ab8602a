"""Position of the detector: from keys of the header to NeXus transformations, and to pyFAI's geometry.

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

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.receiver.files.nexus import Field
from penstock.receiver.files.values import number

PLANCK_LIGHT = 12398.419843320026
"""h c in eV angstrom: exact since the SI of 2019."""
ANGSTROM = 1e-10

TOP_LEFT = 2
"""pyFAI's (EXIF's) number for this orientation of the image: origin at the top left, seen from the sample."""


ORIENTATION = "detector_orientation"
"""Key with the directions in which columns and rows increase, six numbers: (right, down, along the beam) of
each, seen along the beam; upright is [1, 0, 0, 0, 1, 0]. Any other of a DECTRIS stream whose
detector_translation points against the beam is in the axes of DECTRIS' files: left, up, against the beam."""
TOLERANCE = 1e-6
"""Of directions and angles: how exactly a detector can be turned."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """A flat detector perpendicular to the beam."""

    distance: float
    """From the sample, in m."""
    centre: tuple[float, float]
    """Beam centre (x, y) in pixels: columns, rows."""
    pixel: tuple[float, float]
    """Pixel size (x, y) in m: width, height."""
    wavelength: float | None
    """In angstrom; `None` if unknown."""
    turn: float = 0.0
    """Radians by which columns and rows are turned about the beam, clockwise seen along it."""


def find(metadata: Mapping[str, Any]) -> Geometry | None:
    """Return the geometry given by the header; `None` without distance, beam centre or pixel size, or with an
    orientation that is not understood.

    Zeros mean "not set", as everywhere in the header; a beam centre is not set if both numbers are 0.
    """
    keys = ("distance", "beam_center_x", "beam_center_y", "x_pixel_size", "y_pixel_size")
    numbers = [number(metadata.get(key)) for key in keys]
    if None in numbers:
        return None
    distance, x, y, width, height = (float(value or 0.0) for value in numbers)
    turn = _turn(metadata)
    if turn is None or min(distance, width, height) <= 0 or (x, y) == (0, 0):
        return None
    return Geometry(distance, (x, y), (width, height), _wavelength(metadata), turn)


def fields(geometry: Geometry, shape: tuple[int, int], detector: str) -> Iterator[Field]:
    """Yield the datasets that describe the geometry in the file.

    Args:
        geometry: geometry, see `find`.
        shape: (rows, cols) of the image.
        detector: name of the NXdetector group, a NeXus name already.
    """
    (x, y), (width, height) = geometry.centre, geometry.pixel
    group, classes = ("instrument", detector), ("NXinstrument", "NXdetector")
    place = (*group, "transformations", "translation")
    module = (*group, "detector_module")
    here, corner = "/".join(("/entry", *place)), "/".join(("/entry", *module, "module_offset"))
    yield Field((*group, "depends_on"), classes, here)
    yield _axis(place, (*classes, "NXtransformations"), geometry.distance, (0, 0, 1), ".")
    inside = (*classes, "NXdetector_module")
    yield Field((*module, "data_origin"), inside, np.zeros(2, np.int64))
    yield Field((*module, "data_size"), inside, np.array(shape, np.int64))
    cos, sin = math.cos(geometry.turn), math.sin(geometry.turn)
    fast, slow = (-cos, -sin, 0.0), (sin, -cos, 0.0)
    offset = tuple(-x * width * along - y * height * down for along, down in zip(fast, slow, strict=True))
    length = math.hypot(*offset) or 1.0
    direction = tuple(value / length for value in offset)
    yield _axis((*module, "module_offset"), inside, length, direction, here)
    yield _axis((*module, "fast_pixel_direction"), inside, width, fast, corner)
    yield _axis((*module, "slow_pixel_direction"), inside, height, slow, corner)
    note = (("pyFAI", "poni"), ("NXcollection", "NXnote"))
    yield Field((*note[0], "type"), note[1], "application/json")
    yield Field((*note[0], "description"), note[1], "what pyFAI.load takes; from the header of the stream")
    yield Field((*note[0], "data"), note[1], json.dumps(poni(geometry, shape)))


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


def _axis(
    path: tuple[str, ...], classes: tuple[str, ...], length: float, vector: tuple[float, ...], after: str
) -> Field:
    return Field(
        path, classes, np.float64(length), "m",
        attributes={
            "transformation_type": "translation", "vector": np.array(vector, np.float64), "depends_on": after
        },
    )  # fmt: skip


def _turn(metadata: Mapping[str, Any]) -> float | None:
    """Return the detector's turn about the beam, see `Geometry.turn`; `None` if the orientation is not
    understood: of a tilted or mirrored image, of one that the receiver has turned, or in unknown axes."""
    user, acquisition = _object(metadata, "user"), _object(metadata, "acquisition")
    if ORIENTATION in user:
        return _angle(user[ORIENTATION])
    vendor = _object(metadata, "vendor")
    if ORIENTATION in metadata:
        turn = _angle(metadata[ORIENTATION])
    elif ORIENTATION in vendor:
        turn = _angle_of_dectris(vendor[ORIENTATION], vendor.get("detector_translation"))
    else:
        return 0.0
    return None if turn and "receiver_transforms" in acquisition else turn


def _angle_of_dectris(given: Any, translation: Any) -> float | None:
    """Return the turn in a DECTRIS stream, whose translation says which axes it has."""
    turn = _angle(given)
    if not turn:
        return turn  # the default of SIMPLON 1.8, whatever a client has made of the translation
    known = isinstance(translation, (list, tuple)) and len(translation) == 3
    along = (number(translation[2]) if known else None) or 0.0
    if along < 0:
        return _rounded(math.remainder(turn + math.pi, math.tau))
    if along == 0 or abs(turn) > math.pi - TOLERANCE:
        return None  # half a turn is what upright is in the other axes
    return turn


def _angle(given: Any) -> float | None:
    """Return the turn that an orientation describes; `None` if it is not only a turn about the beam."""
    if not isinstance(given, (list, tuple, np.ndarray)) or len(given) != 6:
        return None
    numbers = [math.nan if (value := number(each)) is None else value for each in given]
    right, down, *rest = numbers
    if not np.allclose([math.hypot(right, down), *rest], [1.0, 0.0, -down, right, 0.0], atol=TOLERANCE):
        return None
    return _rounded(math.atan2(down, right))


def _rounded(turn: float) -> float:
    return turn if abs(turn) > TOLERANCE else 0.0


def _object(metadata: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = metadata.get(key)
    return value if isinstance(value, Mapping) else {}


def _wavelength(metadata: Mapping[str, Any]) -> float | None:
    """Return the wavelength in angstrom, from the wavelength or the energy of the header."""
    for key in ("incident_wavelength", "wavelength"):
        if (length := number(metadata.get(key))) is not None and length > 0:
            return length
    for key in ("incident_energy", "photon_energy"):
        if (energy := number(metadata.get(key))) is not None and energy > 0:
            return PLANCK_LIGHT / energy
    return None
