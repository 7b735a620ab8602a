"""Images, corrections and pyFAI's own answer about them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyFAI

from penstock.processing.azimuthal import matrix, product
from penstock.processing.azimuthal.build import build
from penstock.processing.azimuthal.matrix import Matrix
from penstock.processing.azimuthal.places import UPPER
from penstock.processing.azimuthal.plan import Images, Plan
from penstock.receiver.geometry import Geometry, poni

TYPES = ("uint16", "uint32", "int32", "float32")
SPLITTINGS = ("no", "bbox", "full")
TOLERANCE = 1e-5
AROUND = 4
"""Bins around the beam, whose pixels pyFAI shares otherwise."""
FINITE = float(np.finfo(np.float64).max)


def make_here(plan: Plan, images: Images, path: Path, _lock: int) -> None:
    """Make a matrix in this process, in place of `kept._make`: another process would import pyFAI again."""
    matrix.write(path, *build(plan, images, path.parent))


class Case(NamedTuple):
    """A plan, its images, its matrix, and pyFAI's integrator, which keeps its own from image to image."""

    plan: Plan
    images: Images
    matrix: Matrix
    integrator: Any

    def pyfai(self, image: np.ndarray[Any, Any], dummy: float | None) -> Any:
        """pyFAI's result: CSR, Cython."""
        plan, images, ai = self.plan, self.images, self.integrator
        keys = {
            "unit": plan.unit, "method": (plan.splitting, "csr", "cython"), "error_model": "poisson",
            "correctSolidAngle": plan.solid_angle, "polarization_factor": plan.polarisation,
            "flat": images.flat, "dark": images.dark, "dummy": dummy, "radial_range": plan.radial_range,
            "azimuth_range": plan.azimuth_range,
            "mask": None if images.mask is None else images.mask.astype(np.int8),
        }  # fmt: skip
        if (
            plan.splitting == "full" and plan.radial_range is None
        ):  # pyFAI's begins where the first corner lies
            keys["radial_range"] = (self.matrix.radial_edges[0], self.matrix.radial_edges[-1] / UPPER)
        if plan.azimuth_points:
            return ai.integrate2d(image, plan.points, plan.azimuth_points, **keys)
        return ai.integrate1d(image, plan.points, **keys)

    def is_equal(self, image: np.ndarray[Any, Any], dummy: float | None) -> None:
        """Intensity and sigma are pyFAI's, wherever a pixel counts and pyFAI is right: not around the beam,
        nor in the first and the last sector (see test_counted)."""
        ours = product.integrate(self.matrix, image, all_but(dummy), True)
        theirs = self.pyfai(image, dummy)
        right = np.s_[1:-1, AROUND:-1] if self.plan.azimuth_points else np.s_[AROUND:]
        counts = theirs.sum_normalization[right] != 0
        assert counts.sum() > 0.5 * counts.size
        assert ours.sigma is not None
        np.testing.assert_array_equal(np.isfinite(ours.intensity[right]), counts)
        for mine, other in ((ours.intensity, theirs.intensity), (ours.sigma, theirs.sigma)):
            np.testing.assert_allclose(mine[right][counts], other[right][counts], rtol=TOLERANCE)
        np.testing.assert_allclose(self.matrix.radial, theirs.radial, rtol=1e-12)
        if self.plan.azimuth_points:
            np.testing.assert_allclose(self.matrix.azimuth, theirs.azimuthal, rtol=1e-6, atol=1e-4)


def all_but(mark: float | None) -> tuple[float, float, float]:
    """Limits within which all finite values lie, but one."""
    return -FINITE, math.inf, math.nan if mark is None else mark


def case(folder: Path, shape: tuple[int, int], *, corrected: bool = True, **keys: Any) -> Case:
    """All corrections of one dimension; of a cake without a dark, of which pyFAI takes another variance."""
    chance = np.random.default_rng(1)
    rows, columns = shape
    geometry = Geometry(0.15, (columns * 0.47, rows * 0.55), (172e-6, 172e-6), 0.2)
    given = {"unit": "q_nm^-1", "points": 100, "splitting": "bbox", "polarisation": 0.95, **keys}
    plan = Plan(geometry=poni(geometry, shape), shape=shape, **given)
    images = Images()
    if corrected:
        dark = chance.random(shape, np.float32) * 3
        images = Images(
            chance.random(shape) < 0.02, chance.normal(1, 0.1, shape).astype(np.float32),
            None if plan.azimuth_points else dark,
        )  # fmt: skip
    return Case(plan, images, build(plan, images, folder)[0], pyFAI.load(plan.geometry))


def frame(shape: tuple[int, int], kind: str, saturated: bool) -> tuple[np.ndarray[Any, Any], float | None]:
    """An image, and the value of its pixels that do not count."""
    chance = np.random.default_rng(2)
    image = chance.poisson(12, shape).astype(kind)
    if not saturated:
        return image, None
    dummy = {"u": lambda: np.iinfo(kind).max, "i": lambda: -1, "f": lambda: np.nan}[image.dtype.kind]()
    image[chance.random(shape) < 0.01] = dummy
    return image, dummy
