"""One image of a file, by its path or by that of a dataset in it: what darks, flat fields and gains are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np

from penstock.receiver.reading.frame_files import open_frames
from penstock.receiver.reading.reader import ReaderError, SeriesFile
from penstock.receiver.reading.stored_mean import stored_mean

INSIDE = re.compile(r"(?P<file>.+\.(?:h5|hdf5|hdf|nxs|nx5))::(?P<path>/?.+)")
"""A dataset within an HDF5 file, as silx writes it."""


class StoredImage(NamedTuple):
    """An image, and of what it was made."""

    image: np.ndarray[Any, Any]
    """(rows, cols) of a mean, NaN where there is no value; of another dataset as it is."""
    used: str
    """Of how many frames it is the mean, such as "8 of 10 frames (2 missing)"; "" of one image."""


def split(path: str) -> tuple[str, str]:
    """Return the file, and the dataset in it of `FILE.h5::/path/of/dataset`; "" of a path without one."""
    inside = INSIDE.fullmatch(path)
    return (path, "") if inside is None else (inside["file"], inside["path"])


def stored_image(file: str, place: str = "") -> StoredImage:
    """Return the mean of the stored frames of a file, or a dataset in it.

    Args:
        file: HDF5, TIFF, EDF, CBF …
        place: path of a dataset in an HDF5 file: its frames, or one image; "" for the frames that the file
            itself puts first.

    Raises:
        ReaderError: it cannot be read, or no frame is stored.
        OSError, KeyError, ValueError: there is no such dataset.
    """
    images = images_at(file, place) if place else ""
    if images is None:
        return StoredImage(dataset(file, place), "")
    with open_frames(file, images or None) as frames:
        mean, used = stored_mean(frames)
        return StoredImage(mean, used if frames.shape[0] > 1 else "")


def images_at(file: str, place: str) -> str | None:
    """Return by which name a dataset holds frames of a file, for `open_frames`: "" of a series of Penstock;
    `None` if it holds none."""
    if (series := SeriesFile.own(Path(file))) is not None:
        with series:
            found = series.file.get(place)
            is_data = isinstance(found, h5py.Dataset) and series.data is not None and found == series.data
        return "" if is_data else None
    try:
        with open_frames(file, place.strip("/")):
            return place.strip("/")
    except ReaderError:
        return None  # it may have the dataset all the same


def dataset(file: str, place: str) -> np.ndarray[Any, Any]:
    """Return a dataset.

    Raises:
        KeyError: there is none.
        ValueError: it is a group.
    """
    import hdf5plugin  # noqa: F401  of filters

    with h5py.File(file, "r") as opened:
        found = opened[place]
        if not isinstance(found, h5py.Dataset):
            raise ValueError(f"{place} is a group; give a dataset in it")
        return np.asarray(found[()])
