"""Intensity and sigma are pyFAI's, where pyFAI is right: all types of pixels, splittings and corrections."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.processing.azimuthal import product
from tests.processing.azimuthal.compared import SPLITTINGS, TYPES, Case, all_but, case, frame

SMALL = (120, 140)


@pytest.fixture(scope="module", params=SPLITTINGS)
def small(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    return case(tmp_path_factory.mktemp("case"), SMALL, splitting=request.param)


@pytest.mark.parametrize(
    ("kind", "saturated"),
    [
        pytest.param(kind, saturated, marks=[] if saturated or kind == "uint16" else [pytest.mark.slow])
        for kind, saturated in itertools.product(TYPES, (False, True))
    ],
)
def test_a_curve(small: Case, kind: str, saturated: bool) -> None:
    small.is_equal(*frame(SMALL, kind, saturated))


@pytest.mark.parametrize(
    "keys",
    [
        {"corrected": False, "solid_angle": False, "polarisation": None, "unit": "2th_deg"},
        {"unit": "r_mm", "azimuth_range": (-30.0, 60.0), "splitting": "no"},
        {"unit": "q_A^-1", "azimuth_points": 12, "points": 30, "azimuth_range": (-180.0, 180.0)},
        {"azimuth_points": 5, "points": 20, "azimuth_range": (-90.0, 90.0)},
        {"azimuth_points": 8, "points": 20, "splitting": "no", "unit": "r_mm"},
    ],
    ids=["plain", "sector", "cake", "part of a cake", "cake without splitting"],
)
def test_units_and_cakes(tmp_path: Path, keys: dict[str, Any]) -> None:
    made = case(tmp_path, SMALL, **keys)
    for saturated in (False, True):
        made.is_equal(*frame(SMALL, "uint16", saturated))


def test_infinity_does_not_count(small: Case) -> None:
    image, _ = frame(SMALL, "float32", False)
    image[60, ::7] = -np.inf
    image[61, ::7] = np.inf
    other = np.where(np.isfinite(image), image, np.float32(np.nan))
    found, expected = (product.integrate(small.matrix, each, all_but(None), True) for each in (image, other))
    np.testing.assert_array_equal(found.intensity, expected.intensity)
    assert np.isfinite(found.intensity).any()


def test_a_bin_whose_pixels_are_all_marked_has_no_value(small: Case) -> None:
    image, _ = frame(SMALL, "uint16", False)
    image[:] = 65535
    curve = product.integrate(small.matrix, image, all_but(65535), True)
    assert curve.sigma is not None
    assert np.isnan(curve.intensity).all() and np.isnan(curve.sigma).all()


@pytest.fixture(
    scope="module",
    params=list(itertools.product((1024, 2048), SPLITTINGS)),
    ids=lambda given: f"{given[0]}²-{given[1]}",
)
def large(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    side, splitting = request.param
    return case(tmp_path_factory.mktemp("case"), (side, side), splitting=splitting, points=1000)


@pytest.mark.slow
@pytest.mark.parametrize("saturated", [False, True], ids=["", "saturated"])
@pytest.mark.parametrize("kind", TYPES)
def test_curves_of_large_images(large: Case, kind: str, saturated: bool) -> None:
    large.is_equal(*frame(large.plan.shape, kind, saturated))
