"""Let pyFAI make a matrix: a process of its own, so that pyFAI's memory and time are not a worker's.

python -P -m penstock.processing.azimuthal.build FOLDER FILE

FOLDER has `plan.json`, and the images that there are as `mask.npy`, `flat.npy` and `dark.npy`. The matrix is
written there, and moved to FILE; FOLDER is removed. If it cannot be made, the last line on standard error is
a sentence, and the status is 2; if FILE cannot be written, 3.
"""

from __future__ import annotations

import json
import logging
import shutil
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from penstock.processing.azimuthal import matrix as file_of
from penstock.processing.azimuthal.matrix import BINS, COUNTS, small
from penstock.processing.azimuthal.plan import Images, Plan
from penstock.processing.azimuthal.poni import HAS
from penstock.receiver.geometry import NO_ENERGY

GEOMETRY = "the geometry (poni)"
"""As sentences have it; who knows its file names that."""
REFUSED, NO_ROOM = 2, 3
"""Exit status."""
MOST_ENTRIES = 200_000_000
"""Of a matrix: some 8 GB while it is made, 1.5 GB afterwards."""


class CannotBuildError(Exception):
    """A matrix cannot be made of a plan; the sentence says why."""


def build(plan: Plan, images: Images, folder: Path) -> tuple[file_of.Matrix, str]:
    """Return the matrix of a plan, and its geometry as the text of a .poni file.

    Args:
        plan: what is integrated.
        images: of the plan's shape.
        folder: for a .poni file that pyFAI is to read.

    Raises:
        CannotBuildError: the geometry is none, or there is nothing to integrate.
    """
    ai = _geometry(plan, folder)
    divisor = np.ones(plan.shape, np.float32)
    if plan.solid_angle:
        divisor *= ai.solidAngleArray(plan.shape, True)
    if plan.polarisation is not None:
        divisor *= ai.polarization(plan.shape, plan.polarisation)
    if images.flat is not None:
        divisor *= np.where(images.flat > 0, images.flat, np.nan)
    mask = ~np.isfinite(divisor) | (divisor == 0)
    for other in (images.mask, ai.detector.mask):
        if other is not None:
            mask |= np.asarray(other) != 0
    if images.dark is not None:
        mask |= ~np.isfinite(images.dark)
    if mask.all():
        raise CannotBuildError("all pixels are masked, or have a flat field of 0 or less: no pixel is left")
    _check_size(ai, plan, mask)
    weights, radial, azimuth = _csr(ai, plan, mask)
    divisor[mask] = 0
    dark = np.zeros(0, np.float32) if images.dark is None else images.dark.astype(np.float32).ravel()
    exact = weights.astype(np.float64)
    by_pixel = weights.tocsc()
    counts = np.diff(by_pixel.indptr)
    made = file_of.Matrix(
        weights=by_pixel.data.astype("<f4"), bins=by_pixel.indices.astype(small(weights.shape[0], BINS)),
        counts=counts.astype(small(int(counts.max()), COUNTS)), norm=exact @ divisor.ravel(),
        dark=exact @ dark if dark.size else np.zeros(weights.shape[0]), divisor=divisor.ravel(),
        dark_image=dark, radial=radial, azimuth=azimuth,
    )  # fmt: skip
    return made, _poni(ai)


def _geometry(plan: Plan, folder: Path) -> Any:
    """Return pyFAI's integrator."""
    import pyFAI

    try:
        if isinstance(plan.geometry, dict):
            ai = pyFAI.load(plan.geometry)
        elif plan.geometry.lstrip().startswith("{"):
            ai = pyFAI.load(json.loads(plan.geometry))
        else:
            path = folder / "geometry.poni"
            path.write_text(plan.geometry)
            ai = pyFAI.load(str(path))
        distance = float(ai.dist)
    except Exception as error:
        said = " ".join(str(error).split()) or type(error).__name__
        raise CannotBuildError(f"pyFAI cannot read {GEOMETRY}: {said:.300}; {HAS}") from error
    if not distance > 0 or not ai.detector.pixel1 or not ai.detector.pixel2:
        raise CannotBuildError(
            f"{GEOMETRY} has no distance or no pixel size: give the text of a .poni file, or its path"
        )
    detector = ai.detector
    known = detector.shape or detector.max_shape
    if known is not None and tuple(known) != plan.shape:
        raise CannotBuildError(
            f"{GEOMETRY} is that of a detector of {list(known)} pixels, and the images have "
            f"{list(plan.shape)}: calibrate with these images, or remove the shape from it"
        )
    detector.shape = plan.shape
    if not ai.wavelength and plan.wavelength is not None:
        ai.wavelength = plan.wavelength
    if plan.unit.startswith("q_") and not ai.wavelength:
        raise CannotBuildError(f"the geometry has no wavelength, and the header {NO_ENERGY}")
    return ai


def _check_size(ai: Any, plan: Plan, mask: np.ndarray[Any, Any]) -> None:
    """Refuse bins that are so narrow that each pixel would lie in hundreds of them."""
    if plan.splitting == "no":
        return
    shares = _spread(ai, plan.shape, plan.unit, plan.radial_range, plan.points)
    if plan.azimuth_points:
        shares = shares * _spread(ai, plan.shape, "chi_deg", plan.azimuth_range, plan.azimuth_points)
    shares = shares[~mask]
    if (entries := float(shares.sum())) > MOST_ENTRIES:
        raise CannotBuildError(
            f"points is {plan.points}, azimuth_points {plan.azimuth_points}: each pixel would lie in "
            f"{entries / len(shares):.0f} of these bins on average, and the matrix have {entries / 1e6:.0f} "
            f"million entries, of {MOST_ENTRIES / 1e6:.0f} million at most: take fewer points, or "
            "`splitting: no`"
        )


def _spread(
    ai: Any, shape: tuple[int, int], unit: str, limits: tuple[float, float] | None, bins: int
) -> np.ndarray[Any, Any]:
    """Return in about how many bins of an axis each pixel lies, (rows, cols)."""
    middle, half = (ai.array_from_unit(shape, kind, unit) for kind in ("center", "delta"))
    first, last = middle - half, middle + half
    low, high = limits or (np.nanmin(first), np.nanmax(last))
    inside = np.minimum(last, high) - np.maximum(first, low)
    found = np.minimum(inside * (bins / (high - low)) + 1, bins) if high > low else np.ones(shape)
    return np.where(inside >= 0, found, 0.0)


def _csr(ai: Any, plan: Plan, mask: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    """Return the matrix (bins, pixels), and its axes."""
    from scipy.sparse import csr_matrix

    method = (plan.splitting, "csr", "cython")
    if plan.azimuth_range is not None and plan.azimuth_range[1] > 180:
        ai.setChiDiscAtZero()  # so that the range is not cut at 180 degrees
    keys = {
        "mask": mask.astype(np.int8), "unit": plan.unit, "method": method, "correctSolidAngle": False,
        "radial_range": plan.radial_range, "azimuth_range": plan.azimuth_range,
    }  # fmt: skip
    empty = np.zeros(plan.shape, np.float32)
    try:
        if plan.azimuth_points:
            made = ai.integrate2d(empty, plan.points, plan.azimuth_points, **keys)
            azimuth = np.asarray(made.azimuthal, np.float64)
        else:
            made = ai.integrate1d(empty, plan.points, **keys)
            azimuth = np.zeros(0)
    except Exception as error:
        said = " ".join(str(error).split()) or type(error).__name__
        raise CannotBuildError(f"pyFAI cannot make the matrix: {said:.300}") from error
    engine = next(
        each.engine for used, each in ai.engines.items() if used.algo_lower == "csr" and each.engine
    )
    ends = np.asarray(engine.indptr)
    shape = (len(ends) - 1, plan.shape[0] * plan.shape[1])
    weights = csr_matrix((np.asarray(engine.data), np.asarray(engine.indices), ends), shape=shape)
    if not weights.nnz:
        raise CannotBuildError(
            "no pixel lies in this range: see radial_range and azimuth_range, and the units of each"
        )
    if plan.azimuth_points:  # pyFAI has the azimuth as its fast axis
        weights = weights[np.arange(shape[0]).reshape(plan.points, plan.azimuth_points).T.ravel()]
    return weights, np.asarray(made.radial, np.float64), azimuth


def _poni(ai: Any) -> str:
    """Return the geometry as the text of a .poni file."""
    from pyFAI.io.ponifile import PoniFile

    text = StringIO()
    PoniFile(ai).write(text)
    return text.getvalue()


def main() -> None:
    """Make the matrix of a folder, also for others if who has asked for it is dead."""
    logging.basicConfig(level=logging.ERROR)
    folder, path = map(Path, sys.argv[1:])
    try:
        plan = msgspec.json.decode((folder / "plan.json").read_bytes(), type=Plan)
        images = Images(*(np.load(each) if each.exists() else None for each in paths(folder)))
        made, poni = build(plan, images, folder)
        file_of.write(folder / "matrix", made, poni)
        (folder / "matrix").rename(path)
    except CannotBuildError as error:
        print(error, file=sys.stderr)
        sys.exit(REFUSED)
    except MemoryError:
        print("azimuthal integration needs more memory than there is: take fewer points", file=sys.stderr)
        sys.exit(REFUSED)
    except OSError as error:
        print(f"{path}: {error.strerror or error}", file=sys.stderr)
        sys.exit(NO_ROOM)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def paths(folder: Path) -> list[Path]:
    """Return where the images are, in the order of `Images`."""
    return [folder / f"{name}.npy" for name in Images._fields]


if __name__ == "__main__":
    main()
