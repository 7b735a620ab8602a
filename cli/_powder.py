"""A powder pattern of a series file by pyFAI, from nothing but the file.

pyFAI reads frames and detectors from NeXus, but no geometry (as of 2026.9): so the file has pyFAI's own
description beside that of NeXus (see `receiver.geometry`), which is read here. With pyFAI and h5py
alone this takes two more lines, see docs/how-to/integrate-with-pyfai.md.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyFAI

from penstock.checks.series_check import unreadable_files
from penstock.receiver.geometry import NEEDED, NO_ENERGY
from penstock.receiver.models import FrameStatus
from penstock.receiver.reader import ReaderError, SeriesFile, text
from penstock.stins.texts import plural

PONI = "pyFAI/poni/data"
"""Below the NXentry: JSON text."""
UNITS = ("2th_deg", "q_A^-1", "q_nm^-1", "r_mm")


def integrator(series: SeriesFile) -> Any:
    """Return pyFAI's `AzimuthalIntegrator` with the geometry and pixel mask of the file.

    It has no flat field: where the header has one, `flatfield_applied` says whether the detector applied it.

    Raises:
        ReaderError: there is no geometry in the file.
    """
    entry = series.group.parent.parent
    found = entry.get(PONI)
    if found is None and not series.has_account:
        raise ReaderError(
            f"{series.path} was not written by Penstock, and has no geometry at {PONI} of its NXentry, which "
            "pyFAI would need"
        )
    if found is None:
        raise ReaderError(f"{series.path} has no geometry: {NEEDED}")
    made = pyFAI.load(json.loads(text(found[()])))
    mask = series.pixel_mask
    if mask is not None and mask.shape == series.shape[-2:]:
        made.detector.mask = (mask != 0).astype(np.int8)
    return made


def mean(series: SeriesFile) -> np.ndarray[Any, Any]:
    """Return the mean of the stored frames, float64; NaN where no frame has a pixel that counts.

    Raises:
        ReaderError: no frame is stored, or one cannot be read, or a file that holds some of them cannot be.
    """
    if unreadable := unreadable_files(series.unreadable_files()):
        raise ReaderError(f"{series.path}: {'; '.join(unreadable.values())}")
    total = np.zeros(series.shape[-2:])
    number = np.zeros(series.shape[-2:], np.int64)
    status = series.frame_status
    for index in range(len(series)):
        if status is None or (index < len(status) and status[index] == FrameStatus.STORED):
            frame = series.frame(index)
            if series.channels:
                frame = frame[0]
            if frame.ndim != 2:
                raise ReaderError(f"{series.path} has frames of {plural(frame.shape[0], 'blob')}, not images")
            counts = _has_value(frame)
            total += np.where(counts, frame, 0)
            number += counts
    if not number.any():
        raise ReaderError(f"{series.path} has no stored frame to integrate")
    with np.errstate(invalid="ignore"):
        return np.asarray(total / number)


def integrate(path: str | Path, *, points: int = 1000, unit: str = "2th_deg", out: Path | None = None) -> Any:
    """Return the mean of the stored frames as intensity over angle; pyFAI's `Integrate1dResult`.

    Args:
        path: a series file with geometry.
        points: number of points of the curve.
        unit: of its abscissa; one of `UNITS`.
        out: text file for the curve, in pyFAI's form; replaced if it exists.

    Raises:
        ReaderError: the file cannot be read, or has no geometry, no frames, or no energy for a curve over q.
    """
    with SeriesFile(path) as series:
        ai = integrator(series)
        if unit.startswith("q_") and not ai.wavelength:
            raise ReaderError(f"{path} {NO_ENERGY}")
        image = mean(series)
    empty = np.isnan(image)
    if ai.detector.mask is not None:
        empty |= ai.detector.mask != 0
    if out is not None:
        out.unlink(missing_ok=True)  # pyFAI would append to it
    return ai.integrate1d(
        np.where(empty, 0.0, image), points, unit=unit, mask=empty, filename=None if out is None else str(out)
    )


def _has_value(frame: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return which pixels count: the maximum of an unsigned type stands for gaps and masked pixels."""
    if frame.dtype.kind == "u":
        return np.asarray(frame != np.iinfo(frame.dtype).max)
    return np.asarray(frame >= 0) if frame.dtype.kind == "i" else np.isfinite(frame)
