"""Random photon counts, computed fast enough for a whole sensor within Arm."""

from __future__ import annotations

from functools import cache

import numpy as np

BRIGHT = 50.0
"""Expected photons above which a normal distribution is as good as Poisson's (its skewness is below
0.15), and four times as fast."""
LEVELS = 256
QUANTILES = 1024
"""Quantiles per level of brightness for faint pixels, in a table that fits into the processor's cache."""
MOST = 128
"""Upper bound for the count of a faint pixel: 11 standard deviations above BRIGHT."""
STEP = np.sqrt(BRIGHT) / (LEVELS - 1)
"""Step of the square root between levels: they are equally far apart, in units of their noise."""


@cache
def _quantiles() -> np.ndarray:
    """Return the quantiles of Poisson's distribution, level after level: uint8."""
    expected = (np.arange(LEVELS) * STEP)[:, np.newaxis] ** 2
    counts = np.arange(MOST)
    log_factorial = np.concatenate(([0.0], np.cumsum(np.log(counts[1:]))))
    log_expected = np.log(np.maximum(expected, 1e-300))  # finite, and as good as 0, for the dark level
    probability = np.exp(counts * log_expected - expected - log_factorial)
    middles = (np.arange(QUANTILES) + 0.5) / QUANTILES
    levels = [np.searchsorted(cumulated, middles) for cumulated in probability.cumsum(axis=1)]
    return np.concatenate(levels).astype(np.uint8)


def draw(expected: np.ndarray, frames: int, rng: np.random.Generator) -> np.ndarray:
    """Return `frames` images of photon counts, (frames, *expected.shape), integers as float32."""
    table = _quantiles()
    root = np.sqrt(expected, dtype=np.float32)
    first = np.minimum(root / STEP + 0.5, LEVELS - 1).astype(np.int32) * QUANTILES
    bright = np.flatnonzero(expected > BRIGHT)
    means, sigmas = expected.ravel()[bright], root.ravel()[bright]
    counts = np.empty((frames, *expected.shape), np.float32)
    for image in counts:
        image[...] = table[first + rng.integers(0, QUANTILES, expected.shape, np.uint16)]
        noise = rng.standard_normal(bright.size, np.float32)
        image.ravel()[bright] = np.maximum(np.rint(means + sigmas * noise), 0)
    return counts
