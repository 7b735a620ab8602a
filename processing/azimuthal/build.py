"""Let pyFAI make a matrix: a process of its own, so that pyFAI's memory and time are not a worker's.

python -P -m penstock.processing.azimuthal.build FOLDER FILE

FOLDER has `plan.json`, and the images that there are as `mask.npy`, `flat.npy` and `dark.npy`. The matrix is
written there, and moved to FILE; FOLDER is removed. If it cannot be made, the last line on standard error is
a sentence, and the status is 2; if FILE cannot be written, 3.
"""

from __future__ import annotations

import json
import logging
import math
import shutil
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from penstock.processing.azimuthal import matrix as file_of
from penstock.processing.azimuthal import product
from penstock.processing.azimuthal.places import Places, edges
from penstock.processing.azimuthal.plan import CannotBuildError, Images, Plan
from penstock.processing.azimuthal.poni import HAS
from penstock.receiver.geometry import NO_ENERGY

GEOMETRY = "the geometry (poni)"
"""The geometry, as sentences name it; a caller who knows its file names that."""
EVERY = (-math.inf, math.inf, math.nan)
"""Limits within which all values count."""
REFUSED, NO_ROOM = 2, 3
"""Exit status."""


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
    divisor[mask] = 0
    dark = np.zeros(0, np.float32) if images.dark is None else images.dark.astype(np.float32).ravel()
    places = Places(ai, plan, mask)
    radial, azimuth = places.radial(), places.azimuth() if plan.azimuth_points else plan.azimuth_range
    entries = places.entries(radial, azimuth or (0.0, 0.0))
    nothing = np.zeros(plan.points * max(1, plan.azimuth_points))
    made = file_of.Matrix(
        **entries._asdict(), norm=nothing, dark=nothing, divisor=divisor.ravel(), dark_image=dark,
        radial_edges=edges(radial, plan.points),
        azimuth_edges=edges(azimuth, plan.azimuth_points) if azimuth and plan.azimuth_points else np.zeros(0),
    )  # fmt: skip
    norm = product.sums_of(made, made.divisor, EVERY)[:, 0]
    darkness = product.sums_of(made, dark, EVERY)[:, 0] if dark.size else nothing
    made = made._replace(norm=norm, dark=darkness)
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
