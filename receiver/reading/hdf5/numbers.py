"""Numbers and texts of HDF5 files, and their units."""

from __future__ import annotations

from typing import Any

import h5py
import numpy as np

from penstock.receiver.reading.reader import text

LENGTHS = {
    "m": 1.0, "meter": 1.0, "metre": 1.0, "cm": 1e-2, "centimeter": 1e-2, "centimetre": 1e-2, "mm": 1e-3,
    "millimeter": 1e-3, "millimetre": 1e-3, "um": 1e-6, "\u00b5m": 1e-6, "\u03bcm": 1e-6, "micrometer": 1e-6,
    "micrometre": 1e-6, "micron": 1e-6, "nm": 1e-9, "nanometer": 1e-9, "nanometre": 1e-9, "pm": 1e-12,
    "angstrom": 1e-10, "\u00c5": 1e-10, "\u212b": 1e-10, "A": 1e-10,
}  # fmt: skip
"""What a unit of length is in m; a plural is the same. LAMBDA writes "micrometer"; micro and
angstrom have two characters each."""
ENERGIES = {"eV": 1.0, "keV": 1e3, "MeV": 1e6, "J": 1 / 1.602176634e-19}
"""What a unit of energy is in eV."""
PIXELS = ("", "pixel", "pixels", "px")
"""How places in the image are told; NeXus' own unit of a beam centre is a length, which is optional there."""
_MOST = 100
"""Numbers that something short has."""


def factor(unit: str, units: dict[str, float]) -> float | None:
    """Return what a unit, even with spaces around it, is in that of the table; `None` if it is not known."""
    unit = unit.strip()
    known = {name.lower(): value for name, value in units.items()} if len(unit) > 3 else units
    unit = unit.lower() if len(unit) > 3 else unit
    return known.get(unit, known.get(unit.removesuffix("s")))


def number(found: Any) -> float | None:
    """Return a positive number, of a scalar dataset or an attribute."""
    value = finite(found)
    return value if value is not None and value > 0 else None


def finite(found: Any) -> float | None:
    """Return a finite number, of a scalar dataset or an attribute."""
    if isinstance(found, h5py.Dataset):
        found = found[()] if found.size == 1 else None
    value = np.asarray(found if found is not None else np.nan)
    if value.size != 1 or value.dtype.kind not in "iuf":
        return None
    one = float(value.reshape(-1)[0])
    return one if abs(one) < 1e300 else None


def plain(found: Any) -> Any:
    """Return a dataset's number, numbers or text; `None` if there is none."""
    if not isinstance(found, h5py.Dataset) or found.shape is None or found.size > _MOST:
        return None
    value = found[()]
    if isinstance(value, np.ndarray):
        return value.tolist() if value.dtype.kind in "iuf" and value.size > 1 else _plain_one(value)
    return _plain_one(value)


def _plain_one(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value = value.reshape(-1)[0]
    return float(value) if isinstance(value, (int, float, np.number)) else text(value)
