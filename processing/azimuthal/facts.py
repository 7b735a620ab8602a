"""What azimuthal integration takes from a series, from the text of a .poni file, and from parameters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from penstock.receiver import geometry as header_geometry
from penstock.receiver.validity.pixels import PixelRule
from penstock.stins.texts import plain_text

UNKNOWN = "unknown"


def limits(
    mask_value: float | str, rule: PixelRule, kind: np.dtype[Any], *, partial: bool
) -> tuple[float, float, float]:
    """Return the limits of pixels that count, see `receiver.validity.pixels.Limits`.

    Args:
        mask_value: "auto" is the rule of the series; a number is the one value that does not count.
        rule: of the series.
        kind: type of the pixels.
        partial: whether a part of the frame is missing.
    """
    found = (rule if mask_value == "auto" else PixelRule()).limits(kind, partial=partial)
    if mask_value == "auto":
        return found
    mark = float(mask_value) if isinstance(mask_value, int | float) else math.nan
    return found._replace(high=math.inf, mark=mark)


def ends(edges: np.ndarray[Any, Any]) -> tuple[float, float] | None:
    """Return the outer ones of the edges of bins; `None` of no bins."""
    return (float(edges[0]), float(edges[-1])) if len(edges) else None


def wavelength_in(metadata: dict[str, Any]) -> float | None:
    """Return the wavelength of a series, in m."""
    found = header_geometry.known(metadata).wavelength
    return None if found is None else found * header_geometry.ANGSTROM


def wavelength_of(poni: str) -> float | None:
    """Return the wavelength in the text of a .poni file, in m."""
    for line in poni.splitlines():
        name, _, value = line.partition(":")
        if name.strip().lower() == "wavelength":
            try:
                return float(value)
            except ValueError:
                return None
    return None


def text(metadata: dict[str, Any], *names: str, default: str = UNKNOWN) -> str:
    """Return the first text that the user's part of the metadata has under one of some names."""
    for name in names:
        user = metadata.get("user")
        found: Any = user.get(name) if isinstance(user, dict) else None
        if isinstance(found, str) and found:
            return plain_text(found)
        found = user
        for part in name.split("."):
            found = found.get(part) if isinstance(found, dict) else None
        if isinstance(found, str) and found:
            return plain_text(found)
    return default
