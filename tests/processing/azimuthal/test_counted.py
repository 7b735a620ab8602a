"""Bins have the pixels that lie in them, counted one by one: first and last bins, all ranges, the circle."""

from __future__ import annotations

import functools
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.processing.azimuthal import product
from penstock.processing.azimuthal.build import EVERY, build
from penstock.processing.azimuthal.matrix import Matrix
from penstock.processing.azimuthal.plan import Images, Plan
from penstock.receiver.geometry import Geometry, poni
from tests.processing.azimuthal.counted import DISTANCE, PIXEL, Points, points

SHAPE = (60, 70)
BEAMS = {"straight": ((33.3, 27.8), 0.0), "on a corner": ((33.0, 28.0), 0.0), "tilted": ((35.3, 27.8), 0.01)}
RANGES: dict[str, dict[str, Any]] = {
    "all": {},
    "radial": {"radial_range": (0.6, 1.6)},
    "sector": {"azimuth_range": (-35.0, 50.0)},
    "across 180": {"azimuth_range": (155.0, 230.0)},
    "both": {"radial_range": (0.6, 1.6), "azimuth_range": (155.0, 230.0)},
    "circle": {"azimuth_range": (-180.0, 180.0), "radial_range": (0.0, 1.6)},
    "circle from 0": {"azimuth_range": (0.0, 360.0)},
}
FAST = ("both", "circle")
POINTS = 10


def made(folder: Path, beam: str, splitting: str, **keys: Any) -> tuple[Matrix, Any]:
    """The matrix, and the edges of its sectors: of a curve that is one sector."""
    place, tilt = BEAMS[beam]
    geometry = poni(Geometry(DISTANCE, place, (PIXEL, PIXEL), 1.0), SHAPE) | {"rot1": tilt}
    plan = Plan(
        geometry=geometry, shape=SHAPE, unit="2th_deg", points=POINTS, splitting=splitting, solid_angle=False,
        **keys,
    )  # fmt: skip
    matrix = build(plan, Images(), folder)[0]
    whole = keys.get("azimuth_range", (-180.0, 180.0))
    return matrix, matrix.azimuth_edges if plan.azimuth_points else np.array(whole)


@functools.cache
def there(beam: str, k: int = 1) -> Points:
    place, tilt = BEAMS[beam]
    return points(SHAPE, place, tilt, k)


@pytest.mark.parametrize("sectors", [0, 5], ids=["curve", "cake"])
@pytest.mark.parametrize("limits", RANGES)
@pytest.mark.parametrize("beam", ["straight", "tilted"])
def test_without_splitting_each_bin_has_the_pixels_whose_centres_lie_in_it(
    tmp_path: Path, beam: str, limits: str, sectors: int
) -> None:
    matrix, azimuth = made(tmp_path, beam, "no", azimuth_points=sectors, **RANGES[limits])
    centres = there(beam)
    for value in (centres.radius, (centres.azimuth - azimuth[0]) % 360):
        counts, mean = centres.counted(matrix.radial_edges, azimuth, value)
        found = product.integrate(matrix, value, EVERY, False).intensity
        assert matrix.norm.tolist() == counts.ravel().tolist()
        np.testing.assert_allclose(found.ravel(), mean.ravel(), rtol=1e-6)
    if "radial_range" not in RANGES[limits]:
        assert matrix.norm.sum() == np.sum((centres.azimuth - azimuth[0]) % 360 < azimuth[-1] - azimuth[0])
        ends = matrix.radial_edges[[0, -1]]
        np.testing.assert_allclose(ends, [centres.radius.min(), centres.radius.max()], rtol=1e-6)


@pytest.mark.parametrize(
    ("splitting", "bin_off", "all_off", "mean_off"), [("bbox", 1.2, 0.7, 0.1), ("full", 1.0, 0.35, 0.05)]
)
@pytest.mark.parametrize("sectors", [0, 5], ids=["curve", "cake"])
@pytest.mark.parametrize(
    ("beam", "limits"),
    [
        pytest.param(beam, limits, marks=[] if limits in FAST else [pytest.mark.slow])
        for beam, limits in [*itertools.product(("straight", "tilted"), RANGES), ("on a corner", "circle")]
    ],
)
def test_with_splitting_each_bin_has_the_parts_of_pixels_that_lie_in_it(
    tmp_path: Path, beam: str, limits: str, sectors: int, splitting: str, bin_off: float, all_off: float,
    mean_off: float,
) -> None:  # fmt: skip
    """Beside 7 x 7 points per pixel, in pixels; a box is larger than its pixel, as seen around the beam."""
    matrix, azimuth = made(tmp_path, beam, splitting, azimuth_points=sectors, **RANGES[limits])
    parts = there(beam, 7)
    counts, mean = parts.counted(matrix.radial_edges, azimuth, parts.radius)
    found = matrix.norm.reshape(counts.shape)
    assert np.abs(found - counts).max() < bin_off and abs(found.sum() - counts.sum()) < all_off
    curve = product.integrate(matrix, there(beam).radius, EVERY, False).intensity
    off = np.abs(curve.reshape(counts.shape) - mean)[counts > 4]
    assert len(off) > 5 and off.max() < mean_off * (matrix.radial[1] - matrix.radial[0])
