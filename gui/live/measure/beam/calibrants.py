"""Distances between lattice planes of calibrants, in angstrom: pure functions.

All but silver behenate are cubic: d = a / sqrt(h² + k² + l²), for the planes that the lattice lets diffract.
"""

from __future__ import annotations

import re
from collections.abc import Callable

LAB6 = 4.156826
"""NIST, certificate of SRM 660c (2015): 0.415 682 6 nm at 22.5 °C."""
CEO2 = 5.411651
"""NIST, certificate of SRM 674b, as pyFAI 2026.9 has it (resources/calibration/CeO2.D)."""
SILICON = 5.431179
"""NIST, certificate of SRM 640e, as pyFAI 2026.9 has it (resources/calibration/Si_SRM640e.D)."""
AGBH = 58.380
"""Distance (001) of silver behenate: Huang, Toraya, Blanton and Wu, J. Appl. Cryst. 26 (1993) 180-184,
doi:10.1107/S0021889892009762."""
GREATEST = 9
"""Greatest h, k and l that are looked at."""


def spacings(calibrant: str, most: int = 12) -> tuple[float, ...]:
    """Return the greatest `most` distances, descending.

    Args:
        calibrant: one of `NAMES`.
        most: how many.
    """
    return _SPACINGS[calibrant]()[:most]


def typed(text: str) -> tuple[float, ...]:
    """Return distances as typed, in angstrom, parted by commas, semicolons or spaces.

    Raises:
        ValueError: one of them is no number above 0; the sentence says which.
    """
    found = []
    for word in re.split(r"[,;\s]+", text.strip()):
        try:
            value = float(word) if word else 0.0
        except ValueError:
            value = -1.0
        if word and not 0 < value < float("inf"):
            raise ValueError(f"{word!r} is no distance: give angstrom above 0, such as 3.5, 1.9")
        if word:
            found.append(value)
    return tuple(sorted(found, reverse=True))


def _cubic(edge: float, diffracts: Callable[[int, int, int], bool]) -> tuple[float, ...]:
    squares = {
        h * h + k * k + l * l
        for h in range(GREATEST + 1)
        for k in range(h + 1)
        for l in range(k + 1)  # noqa: E741 - they are called so
        if h and diffracts(h, k, l)
    }
    return tuple(edge / square**0.5 for square in sorted(squares) if square <= GREATEST**2)


def _primitive(h: int, k: int, l: int) -> bool:  # noqa: E741
    return True


def _face_centred(h: int, k: int, l: int) -> bool:  # noqa: E741
    return h % 2 == k % 2 == l % 2


def _diamond(h: int, k: int, l: int) -> bool:  # noqa: E741
    return _face_centred(h, k, l) and (h % 2 == 1 or (h + k + l) % 4 == 0)


_SPACINGS: dict[str, Callable[[], tuple[float, ...]]] = {
    "LaB6": lambda: _cubic(LAB6, _primitive),
    "CeO2": lambda: _cubic(CEO2, _face_centred),
    "Si": lambda: _cubic(SILICON, _diamond),
    "AgBh": lambda: tuple(AGBH / order for order in range(1, 31)),
}
NAMES = tuple(_SPACINGS)
