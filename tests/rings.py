"""Powder rings of CeO2 on a detector, computed from the header's geometry: Bragg and a tangent."""

from __future__ import annotations

import numpy as np

LATTICE = 5.4116
"""CeO2 in angstrom (NIST SRM 674b)."""
PLANES = (3, 4, 8, 11, 12, 16, 19, 20, 24)
"""h2 + k2 + l2 of the fluorite structure's lines."""

GEOMETRY = {
    "distance": 0.15, "beam_center_x": 130.5, "beam_center_y": 171.0,
    "x_pixel_size": 172e-6, "y_pixel_size": 172e-6, "incident_energy": 60_000.0,
}  # fmt: skip
WAVELENGTH = 12398.4198 / GEOMETRY["incident_energy"]


def two_theta(wavelength: float = WAVELENGTH, planes: tuple[int, ...] = PLANES) -> np.ndarray:
    """Angles of the lines, in degrees."""
    return np.degrees(2 * np.arcsin(wavelength * np.sqrt(planes) / 2 / LATTICE))


def momentum_transfer() -> np.ndarray:
    """q of the lines, in 1/angstrom."""
    return 2 * np.pi * np.sqrt(PLANES) / LATTICE


def image(shape: tuple[int, int], width: float = 0.05) -> np.ndarray:
    """The rings, uint16; each pixel at its own angle.

    Args:
        shape: (rows, cols).
        width: of a line, in degrees.
    """
    y, x = np.mgrid[: shape[0], : shape[1]] + 0.5
    height = (y - GEOMETRY["beam_center_y"]) * GEOMETRY["y_pixel_size"]
    across = (x - GEOMETRY["beam_center_x"]) * GEOMETRY["x_pixel_size"]
    angle = np.degrees(np.arctan2(np.hypot(height, across), GEOMETRY["distance"]))
    lines = sum(np.exp(-(((angle - line) / width) ** 2)) for line in two_theta())
    return np.asarray(20 + 2000 * lines).astype("uint16")


def peaks(radial: np.ndarray, intensity: np.ndarray, near: np.ndarray, within: float) -> np.ndarray:
    """Centre of gravity of the intensity above the ground around each expected place."""
    found = []
    for place in near:
        inside = np.abs(radial - place) < within
        weight = intensity[inside] - intensity[inside].min()
        found.append(np.sum(radial[inside] * weight) / np.sum(weight))
    return np.array(found)
