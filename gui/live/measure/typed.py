"""Numbers as somebody types them, with a unit or without. Pure functions, without Qt."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

LENGTHS = {"mm": 1e-3, "cm": 1e-2, "m": 1.0}
"""In m; the first unit is that of a number alone."""
ENERGIES = {"eV": 1.0, "keV": 1e3}
"""In eV."""
PIXELS = {"": 1.0, "px": 1.0}
_NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([^\W\d]*)")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?(?![\d,])")
MOST = 1e12
"""Greater ones are taken for slips."""


def number(name: str, text: str, units: Mapping[str, float], *, positive: bool = False) -> float:
    """Return a number in the base unit.

    Args:
        name: what it is, for the sentence.
        text: what was typed.
        units: those that may stand behind it, and what they are in the base unit; the first is meant if
            there is none.
        positive: whether it is above 0.

    Raises:
        ValueError: it is no such number; the sentence says what would be one.
    """
    text = text.strip()
    plain = text.replace(",", "") if _THOUSANDS.match(text) else text
    found = _NUMBER.fullmatch(plain)
    first, *others = units
    if found is None or (found[2] or first) not in units:
        comma = "; the decimal mark is a point" if "," in plain else ""
        unit = f"in {first}{''.join(f', or with {each}' for each in others)}" if first else "in pixels"
        raise ValueError(f'{name}: "{text:.30}" is no number {unit}{comma}')
    value = float(found[1]) * units[found[2] or first]
    if not math.isfinite(value) or abs(value) >= MOST or (positive and value <= 0):
        raise ValueError(f"{name}: {text:.30} is {'not above 0' if value <= 0 else 'too large'}")
    return float(f"{value:.15g}")
