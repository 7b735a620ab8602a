"""What azimuthal integration should find, counted in plain NumPy: no pyFAI, and nothing of ours."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

PIXEL, DISTANCE = 172e-6, 0.15


class Points(NamedTuple):
    """Points of an image, each (rows x k, cols x k): k x k in each pixel, or its centre with k = 1."""

    radius: np.ndarray[Any, Any]
    """The scattering angle 2theta, in degrees."""
    azimuth: np.ndarray[Any, Any]
    """In degrees, from -180 to 180."""
    k: int

    def counted(
        self, radial: Any, azimuth: Any, value: np.ndarray[Any, Any] | None = None
    ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Return how many pixels lie in each bin, and the mean of a value there, each (sectors, points).

        Args:
            radial, azimuth: the edges of the bins.
            value: of each point.
        """
        radial, azimuth = (np.array(edges) for edges in (radial, azimuth))
        for edges in (radial, azimuth):
            edges[0] -= 1e-9  # for rounding: the image's own limits are places of pixels
        found = np.zeros((len(azimuth) - 1, len(radial) - 1))
        total = np.zeros_like(found)
        turned = azimuth[0] + (self.azimuth - azimuth[0]) % 360
        for row, (low, high) in enumerate(itertools.pairwise(azimuth)):
            is_in = (turned >= low) & (turned < high)
            found[row] = np.histogram(self.radius[is_in], radial)[0]
            if value is not None:
                total[row] = np.histogram(self.radius[is_in], radial, weights=value[is_in])[0]
        with np.errstate(invalid="ignore"):
            return found / self.k**2, total / found


def points(shape: tuple[int, int], beam: tuple[float, float], tilt: float = 0.0, k: int = 1) -> Points:
    """Return where points lie.

    Args:
        shape: of the image.
        beam: where the normal of the detector goes through the sample, x and y in pixels.
        tilt: of the detector about the vertical axis, in radians.
        k: of `Points`.
    """
    y, x = (np.indices((shape[0] * k, shape[1] * k)) + 0.5) / k
    right, up = (x - beam[0]) * PIXEL, (beam[1] - y) * PIXEL
    across = right * np.cos(tilt) + DISTANCE * np.sin(tilt)
    along = DISTANCE * np.cos(tilt) - right * np.sin(tilt)
    angle = np.arctan2(np.hypot(across, up), along)
    return Points(np.degrees(angle), np.degrees(np.arctan2(up, across)), k)
