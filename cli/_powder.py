"""A powder pattern of a series file by pyFAI, from nothing but the file.

pyFAI reads frames and detectors from NeXus, but no geometry (as of 2026.9): so the file has pyFAI's own
description beside that of NeXus (see `receiver.geometry`), which is read here. With pyFAI and h5py
alone this takes two more lines, see docs/how-to/integrate-with-pyfai.md.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyFAI

from penstock.checks.series_check import unreadable_files
from penstock.receiver.geometry import NEEDED, NO_ENERGY
from penstock.receiver.reading.frame_files import open_frames
from penstock.receiver.reading.hdf5.module_places import with_gaps
from penstock.receiver.reading.reader import ReaderError, SeriesFile, text
from penstock.receiver.reading.stored_image import stored_mean
from penstock.receiver.validity import raw_words

PONI = "pyFAI/poni/data"
"""Path of the geometry below the NXentry: JSON text."""
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
    try:
        made = pyFAI.load(json.loads(text(found[()])))
    except Exception as error:  # pyFAI raises whatever its parsers do
        said = f"{type(error).__name__}: {error}"
        raise ReaderError(
            f"{series.path}: {PONI} is no geometry that pyFAI reads ({said:.100}); it is a JSON object with "
            "the keys of a .poni file"
        ) from error
    mask = with_gaps(series.group, series.pixel_mask, series.shape[1:])
    if mask is not None and mask.shape == series.shape[-2:]:
        made.detector.mask = (mask != 0).astype(np.int8)
    return made


class Powder(NamedTuple):
    """A powder pattern."""

    curve: Any
    """pyFAI's `Integrate1dResult`."""
    notes: tuple[str, ...]
    """Notes on the number of frames that it is made of, and on what else its reader has to know; in the file
    as comments, too."""


def integrate(
    path: str | Path, *, points: int = 1000, unit: str = "2th_deg", out: Path | None = None
) -> Powder:
    """Return the mean of the stored frames as intensity over angle.

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
        # What a series has stored is missed; of a file of others, frames that are away are absent.
        if series.has_account and (unreadable := unreadable_files(series.unreadable_files())):
            raise ReaderError(f"{series.path}: {'; '.join(unreadable.values())}")
        detector = text(found[()]) if (found := series.group.get("description")) is not None else ""
        is_running = series.state == "in progress"
    with open_frames(path) as frames:
        image, used = stored_mean(frames)
        words = raw_words.note({"description": detector}, None if frames.dtype is None else frames.dtype.name)
    said = (f"mean of {used}", "the file is still being written" if is_running else "", words)
    notes = tuple(filter(None, said))
    empty = np.isnan(image)
    if ai.detector.mask is not None:
        empty |= ai.detector.mask != 0
    if out is not None:
        out.unlink(missing_ok=True)  # pyFAI would append to it
    curve = ai.integrate1d(
        np.where(empty, 0.0, image), points, unit=unit, mask=empty, filename=None if out is None else str(out)
    )
    if out is not None:
        out.write_text("".join(f"# {note}\n" for note in notes) + out.read_text())
    return Powder(curve, notes)
