"""The matrix times an image: sums and variances of all bins, in one pass over the pixels.

The matrix is in the order of the pixels, so that image and matrix are read from front to back, and only the
bins, which the processor's cache holds, are written anywhere. Over bins, as pyFAI has it, the same product
takes twice as long: each entry of the matrix is a look into the image.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any, NamedTuple

import numpy as np

from penstock.processing.azimuthal.matrix import BINS, COUNTS, Matrix, small
from penstock.processing.compiled import compiled


class Curve(NamedTuple):
    """Intensity and its standard deviation, float32, of the matrix's shape; NaN where no pixel counts."""

    intensity: np.ndarray[Any, Any]
    sigma: np.ndarray[Any, Any] | None
    """`None` without an error model."""


def integrate(
    matrix: Matrix, image: np.ndarray[Any, Any], limits: tuple[float, float, float], poisson: bool
) -> Curve:
    """Return the curve of an image.

    Args:
        matrix: of images of this size.
        image: (rows, cols), of any type of numbers.
        limits: a pixel counts from the first on, below the second, and if it is not the third: see
            `receiver.validity.pixels.Limits`. NaN and infinity never count.
        poisson: whether the variance of a pixel is its count, at least 1, as it came: with its dark.
    """
    pixels = image.reshape(-1)
    if pixels.dtype.kind == "b":
        pixels = pixels.view(np.uint8)
    sums = sums_of(matrix, pixels, limits)
    norm = matrix.norm - sums[:, 2]
    dark = matrix.dark - sums[:, 3]
    with np.errstate(divide="ignore", invalid="ignore"):
        # What is left of rounding where all pixels of a bin are marked is no pixel.
        inverse = np.where(norm > 1e-9 * matrix.norm, 1 / norm, np.nan)
        intensity = ((sums[:, 0] - dark) * inverse).astype(np.float32).reshape(matrix.shape)
        if not poisson:
            return Curve(intensity, None)
        sigma = np.sqrt(sums[:, 1]) * inverse
    return Curve(intensity, sigma.astype(np.float32).reshape(matrix.shape))


@contextmanager
def loading(kind: np.dtype[Any], bins: int) -> Iterator[None]:
    """Compile for frames of a type, or load what is compiled, in another thread; wait for it at the end.

    Args:
        kind: type of the pixels.
        bins: of the matrix.
    """

    def load() -> None:
        pixels, floats, places, counts = (
            np.zeros(0, it) for it in (kind, "f4", small(bins, BINS), COUNTS[0])
        )
        for array in (pixels, floats, places, counts):
            array.flags.writeable = False  # as those of a frame and of a file
        add(pixels, floats, places, counts, floats, floats, 0.0, 0.0, 0.0, np.zeros((0, 4)))

    thread = Thread(target=load)
    if kind.kind in "iuf":
        thread.start()
    try:
        yield
    finally:
        if thread.ident is not None:
            thread.join()


def sums_of(
    matrix: Matrix, pixels: np.ndarray[Any, Any], limits: tuple[float, float, float]
) -> np.ndarray[Any, Any]:
    """Return what `add` makes of pixels, (pixels,): float64, (bins, 4)."""
    sums = np.zeros((len(matrix.norm), 4))
    low, high, mark = map(float, limits)
    counts, divisor, dark = matrix.counts, matrix.divisor, matrix.dark_image
    add(pixels, matrix.weights, matrix.bins, counts, divisor, dark, low, high, mark, sums)
    return sums


@compiled
def add(
    image: Any, weights: Any, bins: Any, counts: Any, divisor: Any, dark: Any, low: Any, high: Any, mark: Any,
    sums: Any,
) -> None:  # fmt: skip  # pragma: no cover
    """Add each pixel to its bins.

    Args:
        image: (pixels,).
        weights, bins, counts, divisor, dark: of the matrix.
        low, high, mark: limits.
        sums: float64, (bins, 4), of zeros: becomes the sums of values and variances; and of pixels that are
            not counted, those of what they would be divided by, and of their dark.
    """
    entry = 0
    for pixel in range(len(counts)):
        count = counts[pixel]
        if count == 0:
            continue
        value = np.float64(image[pixel])
        if (value >= low) & (value < high) & (value != mark):  # of NaN, neither is true
            variance = value if value > 1.0 else 1.0
            for _ in range(count):
                weight = np.float64(weights[entry])
                place = bins[entry]
                sums[place, 0] += weight * value
                sums[place, 1] += weight * weight * variance
                entry += 1
        else:
            darkness = np.float64(dark[pixel]) if len(dark) else 0.0
            for _ in range(count):
                weight = np.float64(weights[entry])
                place = bins[entry]
                sums[place, 2] += weight * divisor[pixel]
                sums[place, 3] += weight * darkness
                entry += 1
