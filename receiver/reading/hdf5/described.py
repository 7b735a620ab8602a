"""What an NXdetector and an NXbeam say: geometry, pixel mask, and the values that pixels can have."""

from __future__ import annotations

from typing import Any

import h5py
import numpy as np

from penstock.receiver import geometry
from penstock.receiver.models import Geometry
from penstock.receiver.reading.hdf5 import numbers
from penstock.receiver.reading.hdf5.nodes import dataset
from penstock.receiver.reading.reader import text

_LENGTHS = ("distance", "detector_distance", "x_pixel_size", "y_pixel_size", "sensor_thickness")
_STANDS = {
    "user": ("detector_orientation",), "vendor": ("detector_orientation", "detector_translation"),
    "acquisition": ("receiver_transforms",),
}  # fmt: skip
"""Parts of start messages, and of Penstock's files of them, that say how the image stands: see
`geometry.known`."""
# DECTRIS: "countrate_correction_count_cutoff", beside it in newer files "saturation_value".
_SATURATIONS = ("saturation_value", "detectorSpecific/countrate_correction_count_cutoff")


def described(
    detector: h5py.Group, beam: h5py.Group | None, series: str = ""
) -> tuple[Geometry, tuple[str, ...]]:
    """Return what is said of the detector's position and the beam, as the start message of a series says it.

    Args:
        detector: an NXdetector.
        beam: the NXbeam, if there is one.
        series: id of the series.

    Returns:
        Geometry, and why something that is said is not understood: sentences.
    """
    remarks: list[str] = []

    def quantity(group: h5py.Group, name: str, units: dict[str, float]) -> float | None:
        found = dataset(group, name)
        value = numbers.number(found)
        if found is None or value is None:
            return None
        unit = text(found.attrs.get("units"))
        factor = numbers.factor(unit, units)
        if factor is None:
            remarks.append(_unknown(found, unit))
            return None
        return value * factor

    said: dict[str, Any] = {name: quantity(detector, name, numbers.LENGTHS) for name in _LENGTHS}
    for name in ("detector_orientation", "sensor_material"):
        said[name] = numbers.plain(detector.get(name))
    for name, parts in _STANDS.items():  # by which the header's orientation counts, or does not
        there = {part: numbers.plain(detector.get(f"{name}/{part}")) for part in parts}
        said[name] = {part: value for part, value in there.items() if value is not None} or None
    said["distance"] = said["distance"] or said["detector_distance"]
    for name, side in zip(geometry.CENTRE, ("x_pixel_size", "y_pixel_size"), strict=True):
        said[name] = _centre(dataset(detector, name), side, said[side], remarks)
    if beam is not None:
        wavelength = quantity(beam, "incident_wavelength", numbers.LENGTHS)
        said["wavelength"] = None if wavelength is None else wavelength / geometry.ANGSTROM
        said["photon_energy"] = quantity(beam, "incident_energy", numbers.ENERGIES)
    known = {name: value for name, value in said.items() if value is not None}
    return geometry.known(known, series), tuple(remarks)


def _centre(
    found: h5py.Dataset | None, side: str, pixel_size: float | None, remarks: list[str]
) -> float | None:
    """Return a coordinate of the beam centre in pixels; NeXus allows it as a length, too."""
    value = numbers.finite(found)
    if found is None or value is None:
        return None
    unit = text(found.attrs.get("units"))
    if unit.strip().lower() in numbers.PIXELS:
        return value
    factor = numbers.factor(unit, numbers.LENGTHS)
    if factor is None:
        remarks.append(_unknown(found, unit))
    elif pixel_size is None:
        remarks.append(f"{found.name} is in {unit}, and there is no {side} to make pixels of it")
    else:
        return value * factor / pixel_size
    return None


def _unknown(found: h5py.Dataset, unit: str) -> str:
    if not unit.strip():
        return f"{found.name} has no units: it is not known what its number means"
    return f'{found.name} is in "{unit}", which is not known here'


def mask(
    detector: h5py.Group, channel: str | None, shape: tuple[int, ...] | None
) -> np.ndarray[Any, Any] | None:
    """Return the pixel mask, (rows, cols), of a channel, or of the first; `None` if there is none.

    Args:
        detector: an NXdetector.
        channel: name of the channel.
        shape: that it must have; `None`: any.
    """
    places = [f"{channel}_channel/pixel_mask"] if channel is not None else []
    for place in (*places, "pixel_mask", "detectorSpecific/pixel_mask"):
        found = dataset(detector, place)
        # LAMBDA has one mask for a stack of one.
        if found is None or not (found.ndim == 2 or (found.ndim == 3 and len(found) == 1)):
            continue
        if shape is None or found.shape[-2:] == shape:
            return np.asarray(found[...]).reshape(found.shape[-2:])
    return None


def saturation(detector: h5py.Group) -> float | None:
    """Return the value from which a pixel counts as saturated."""
    return next(filter(None, (numbers.number(detector.get(name)) for name in _SATURATIONS)), None)


def underload(detector: h5py.Group) -> float | None:
    """Return the value below which a pixel holds no value."""
    return numbers.finite(detector.get("underload_value"))
