"""Patterns for the simulator and the generator: synthetic ones, and diffraction with photon (Poisson) noise.

Frames of random patterns come from a pool that is computed once and used in turn, so that they
cost no more than a copy.
"""

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


PATTERNS = ("gradient", "flat", "noise", "powder", "spots")

POOL_PIXELS = 3_000_000
"""Most random pixels of a pool, which take about 0.2 s of Arm."""
POOL_FRAMES = 16
STAMP_PIXELS = 4
"""Pixels of row 0 that hold the frame number of a gradient, low byte first."""

RINGS = (
    (3, 1.0), (4, 0.3), (8, 0.55), (11, 0.45), (12, 0.08), (16, 0.08), (19, 0.2), (20, 0.13), (24, 0.15),
)  # fmt: skip
"""CeO2, fluorite structure: h2 + k2 + l2 of its lattice planes (all odd or all even), intensity."""
LATTICE = 5.4116
"""Lattice constant of CeO2, in angstrom (NIST SRM 674b)."""
ENERGY = 40_000.0
"""Photon energy for the rings, in eV."""
DISTANCE = 3.0
"""Distance from sample to detector, in units of half the longer side of the image."""
PIXEL = 75e-6
"""Pixel size for the rings, in m."""


def gradient(shape: tuple[int, ...], dtype: str, number: int = 0) -> np.ndarray:
    """Return frame `number` of the gradient: column + row, modulo the type's range, with the number
    stamped."""
    rows, cols = np.ogrid[: shape[-2], : shape[-1]]
    top = 2**16 if dtype.startswith("float") else int(np.iinfo(dtype).max) + 1
    image = np.broadcast_to((rows + cols) % top, shape).astype(dtype)
    stamp(image, number)
    return image


def stamp(image: np.ndarray, number: int) -> None:
    """Write the frame number into the first pixels of row 0."""
    width = min(STAMP_PIXELS, image.shape[-1])
    image[..., 0, :width] = [number >> 8 * place & 255 for place in range(width)]


def frame_number(image: np.ndarray) -> int:
    """Return the frame number in the pixels of a gradient."""
    row = image.reshape(-1, *image.shape[-2:])[0, 0, :STAMP_PIXELS]
    return sum(int(value) << 8 * place for place, value in enumerate(row))


def powder(rows: int, cols: int) -> np.ndarray:
    """Return rings of CeO2 around the centre, on decreasing scattering; 1 at the brightest pixel."""
    steps = np.linspace(0, 1.5, 1 + 2 * max(rows, cols))
    profile = 0.12 * np.exp(-3 * steps)
    for planes, strength in RINGS:
        angle = 2 * np.arcsin(12398.42 / ENERGY * np.sqrt(planes) / (2 * LATTICE))
        profile += strength * np.exp(-(((steps - DISTANCE * np.tan(angle)) / 0.006) ** 2))
    image: np.ndarray = (profile / profile.max()).astype(np.float32)[_radius(rows, cols, steps.size / 1.5)]
    return image


def powder_geometry(rows: int, cols: int) -> dict[str, float]:
    """Return the header keys for `powder`; in m, eV, and pixels from the corner of the first pixel."""
    return {
        "distance": DISTANCE * 0.5 * max(rows, cols) * PIXEL,
        "beam_center_x": cols / 2 + 0.5, "beam_center_y": rows / 2 + 0.5,
        "x_pixel_size": PIXEL, "y_pixel_size": PIXEL, "incident_energy": ENERGY,
    }  # fmt: skip


def _radius(rows: int, cols: int, scale: float) -> np.ndarray:
    """Return the distance from the centre as an index: `scale` at half the longer side."""
    y = np.arange(rows, dtype=np.float32)[:, np.newaxis] - rows / 2
    x = np.arange(cols, dtype=np.float32) - cols / 2
    index: np.ndarray = (np.hypot(y, x) * (scale / (0.5 * max(rows, cols)))).astype(np.int32)
    return index


def spots(rows: int, cols: int) -> np.ndarray:
    """Return some 200 Bragg spots of a crystal on diffuse scattering; 1 at the brightest pixel."""
    rng = np.random.default_rng(1913)
    diffuse = 0.01 * np.exp(-np.linspace(0, 2.2, 1500, dtype=np.float32))
    image = diffuse[_radius(rows, cols, 1000.0)]
    for cy, cx, height in zip(
        rng.uniform(0, rows, 200), rng.uniform(0, cols, 200), rng.exponential(0.2, 200), strict=True
    ):
        top, left = max(0, int(cy) - 6), max(0, int(cx) - 6)
        near = image[top : top + 13, left : left + 13]
        yy, xx = np.ogrid[top : top + near.shape[0], left : left + near.shape[1]]
        near += height * np.exp(-((yy - cy) ** 2 + (xx - cx) ** 2) / 4)
    return np.asarray(image / image.max())


def pool(pattern: str, shape: tuple[int, ...], dtype: str, photons: float) -> np.ndarray:
    """Return frames of a pattern, (n, *shape), with `photons` in the brightest pixel."""
    if pattern == "gradient":
        return gradient(shape, dtype)[np.newaxis]
    if pattern == "flat":
        return _clip(np.full((1, *shape), round(photons)), dtype)
    rng = np.random.default_rng(1895)
    frames = max(2, min(POOL_FRAMES, POOL_PIXELS // int(np.prod(shape))))
    if pattern == "noise":
        expected = np.full(shape, photons, np.float32)
    else:
        image = powder if pattern == "powder" else spots
        expected = np.broadcast_to(np.float32(photons) * image(*shape[-2:]), shape)
    return _clip(draw(expected, frames, rng), dtype)


def _clip(counts: np.ndarray, dtype: str) -> np.ndarray:
    """Limit counts to the range of the type."""
    if dtype.startswith("float"):
        return counts.astype(dtype, copy=False)
    top = np.iinfo(dtype).max
    # A float32 cannot hold every maximum: compare as float, then set the maximum itself.
    saturated = counts >= top
    counts[saturated] = 0
    clipped: np.ndarray = counts.astype(dtype)
    clipped[saturated] = top
    return clipped
