"""What crystallographers' programs look for in a file: NeXus' application definition NXmx, DECTRIS' names.

DIALS and xia2 take a file for NXmx by `definition` alone, and then need the wavelength and a sample, whose
`depends_on` leads through the goniometer. neggia and eiger2cbf look below /entry/instrument/detector,
whatever the detector's group is called, there for `detectorSpecific`, and for the frames in
/entry/data/data_000001. durin unpacks bitshuffle/LZ4 by itself, without a plugin of HDF5, where the
NXdetector has data_000001 (https://github.com/DiamondLightSource/durin, `create_dataset_descriptor` in
src/file.c). A frame that is not there is an error for it then, so files with gaps have no such name.

The goniometer is the object `goniometer` of the header or of the user's metadata: {"omega": {"start": 90,
"increment": 0.1}}, in degrees; a DECTRIS stream has it. A direction is given as `axis`, in the axes of
`receiver.files.geometry_fields`. Nothing here imports h5py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.receiver.files.contents.nexus import Field
from penstock.stins.metadata import number

SAMPLE = ("sample",)
TRANSFORMATIONS = "transformations"
SPECIFIC = "detectorSpecific"
"""NXcollection of the detector with what DECTRIS' own files have there."""
BLOCK = "data_000001"
"""DECTRIS' name of the first dataset of frames."""
DIRECTIONS: Mapping[str, tuple[float, float, float] | None] = {
    "omega": (-1, 0, 0), "kappa": None, "chi": (0, 0, 1), "phi": (-1, 0, 0),
}  # fmt: skip
"""Rotations of the sample, the one that carries all others first, with their usual directions. That of kappa
is different at each goniometer: without one it is left out."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A rotation of the sample, in degrees."""

    name: str
    start: float
    increment: float
    """Rotation per frame."""
    direction: tuple[float, float, float]


def goniometer(metadata: Mapping[str, Any]) -> list[Axis]:
    """Return the axes that are given and turned, or omega alone if none is; empty without a goniometer."""
    user = metadata.get("user")
    given = user.get("goniometer") if isinstance(user, Mapping) else None
    given = given if isinstance(given, Mapping) else metadata.get("goniometer")
    if not isinstance(given, Mapping):
        return []
    axes = [axis for name, usual in DIRECTIONS.items() if (axis := _axis(name, given.get(name), usual))]
    return [axis for axis in axes if axis.start or axis.increment] or axes[:1]


def fields(metadata: Mapping[str, Any], wavelength: float, dtype: str, detector: str) -> Iterator[Field]:
    """Yield the datasets that complete a file with geometry and wavelength; those that are there stay.

    Args:
        metadata: metadata of the series.
        wavelength: wavelength in angstrom.
        dtype: type of a pixel.
        detector: name of the NXdetector group.
    """
    yield Field(("definition",), (), "NXmx")
    beam = "beam" if detector != "beam" else "incident_beam"
    inside = ("NXinstrument", "NXbeam")
    yield Field(("instrument", beam, "incident_wavelength"), inside, np.float64(wavelength), "angstrom")
    group, classes = ("instrument", detector), ("NXinstrument", "NXdetector")
    kind = np.dtype(dtype)
    if kind.kind in "iu":
        yield Field((*group, "bit_depth_image"), classes, np.int64(8 * kind.itemsize))
    if kind.kind == "u":
        yield Field((*group, "underload_value"), classes, np.int64(0))
    after = "."
    for axis in goniometer(metadata):
        place = (*SAMPLE, TRANSFORMATIONS, axis.name)
        yield Field(
            place, ("NXsample", "NXtransformations"), np.array([axis.start]), "deg",
            attributes={
                "transformation_type": "rotation", "vector": np.array(axis.direction, np.float64),
                "depends_on": after,
            },
        )  # fmt: skip
        step = (*place[:-1], f"{axis.name}_increment_set")
        yield Field(step, ("NXsample", "NXtransformations"), np.float64(axis.increment), "deg")
        after = "/".join(("/entry", *place))
    yield Field((*SAMPLE, "depends_on"), ("NXsample",), after)


def _axis(name: str, given: Any, usual: tuple[float, float, float] | None) -> Axis | None:
    if not isinstance(given, Mapping):
        return None
    start, increment = number(given.get("start")), number(given.get("increment"))
    direction = _direction(given.get("axis")) or usual
    if direction is None or (start is None and increment is None):
        return None
    return Axis(name, start or 0.0, increment or 0.0, direction)


def _direction(given: Any) -> tuple[float, float, float] | None:
    if not isinstance(given, (list, tuple)) or len(given) != 3:
        return None
    x, y, z = map(number, given)
    return None if x is None or y is None or z is None or (x, y, z) == (0, 0, 0) else (x, y, z)
