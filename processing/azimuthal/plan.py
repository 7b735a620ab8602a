"""What is integrated, and how: all that a matrix depends on, and the name that follows from it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np

FORMAT = 2
"""Version of the format of matrices: of their file, and of how pixels are shared; another version has another
name."""

Unit: TypeAlias = Literal["q_nm^-1", "q_A^-1", "2th_deg", "2th_rad", "r_mm"]
Splitting: TypeAlias = Literal["no", "bbox", "full"]
Range: TypeAlias = tuple[float, float]


class CannotBuildError(Exception):
    """A matrix cannot be made of a plan; the sentence says why."""


class UnitText(NamedTuple):
    """How an axis is labelled."""

    label: str
    unit: str
    factor: float = 1.0
    """Factor from pyFAI's unit to this one."""


UNITS: Mapping[str, UnitText] = {
    "q_nm^-1": UnitText("q", "1/nm"),
    "q_A^-1": UnitText("q", "1/angstrom"),
    "2th_deg": UnitText("2theta", "deg"),
    "2th_rad": UnitText("2theta", "rad"),
    "r_mm": UnitText("r", "mm"),
}
"""Name and unit of each axis, by pyFAI's name."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """All but the images that a matrix depends on."""

    geometry: dict[str, Any] | str
    """The geometry as pyFAI reads it: its own keys, or the text of a .poni file."""
    shape: tuple[int, int]
    """Rows and columns of the images."""
    unit: str
    points: int
    splitting: str
    radial_range: Range | None = None
    """Range of the radius, in `unit`; `None`: that of the image."""
    azimuth_points: int = 0
    """0: one curve."""
    azimuth_range: Range | None = None
    """Range of the azimuth, in degrees."""
    solid_angle: bool = True
    polarisation: float | None = None
    wavelength: float | None = None
    """Wavelength in m, for a geometry that has none."""


class Images(NamedTuple):
    """The images that a matrix depends on; each of the plan's shape, or `None`."""

    mask: np.ndarray[Any, Any] | None = None
    """bool, true where a pixel does not count."""
    flat: np.ndarray[Any, Any] | None = None
    """float32."""
    dark: np.ndarray[Any, Any] | None = None
    """float32."""


def key(plan: Plan, images: Images) -> str:
    """Return the name of a matrix: the SHA-256 of all that it depends on, in hexadecimal."""
    text = msgspec.json.encode((FORMAT, version("pyFAI"), np.__version__, plan))
    found = hashlib.sha256(text)
    for image in images:
        if image is None:
            found.update(b"none")
        else:
            found.update(repr((image.dtype.str, image.shape)).encode())
            found.update(np.ascontiguousarray(image).data)
    return found.hexdigest()
