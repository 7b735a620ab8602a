"""One image of a file, by its path or by that of a dataset in it: what darks, flat fields and gains are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np

from penstock.receiver.reading.frame_files import FrameFile, open_frames
from penstock.receiver.reading.reader import ReaderError, SeriesFile
from penstock.receiver.validity import frames as which_frames
from penstock.receiver.validity.pixels import PixelRule


class StoredMean(NamedTuple):
    """A mean over frames."""

    image: np.ndarray[Any, Any]
    """(rows, cols), float64: of each pixel over the frames in which it has a value and is not saturated; NaN
    where there is none, as in masked pixels."""
    used: str
    """Number of frames that it is made of, such as "8 of 10 frames (2 missing)"."""


def stored_mean(file: FrameFile) -> StoredMean:
    """Return the mean of the frames that are stored as a whole; of several channels, of the first.

    Raises:
        ReaderError: no frame is stored, one cannot be read, or they are no images of [rows, cols].
    """
    channel = file.channels[0] if file.channels else None
    shape = file.shape[1:] if channel is None else file.shape[2:]
    if len(shape) == 3 and shape[0] == 1 and file.interpretation == "image":
        shape = shape[1:]
    if len(shape) != 2:
        what = "none" if not shape else f"{list(shape)}, {file.interpretation}"
        raise ReaderError(f"{file.path} has no images of [rows, cols]: its frames are {what}")
    indices = which_frames.whole(file.status, file.shape[0])
    used = which_frames.used(file.status, file.shape[0])
    if not len(indices):
        raise ReaderError(f"{file.path} has no stored frame: {used}")
    rule, masked = PixelRule(file.saturation, file.underload), no_value(file, channel, shape)
    total, number = np.zeros(shape), np.zeros(shape, np.int64)
    for index in indices.tolist():
        image = file.frame(index, channel).reshape(shape)
        good = rule.good(image, masked)
        total += image if good is None else np.where(good, image, 0)
        number += True if good is None else good
    with np.errstate(invalid="ignore"):
        return StoredMean(total / number, used)  # 0 / 0 is NaN


def no_value(file: FrameFile, channel: str | None, shape: tuple[int, ...]) -> np.ndarray[Any, Any] | None:
    """Return which pixels the file's own mask leaves out, bool; `None` if it has no mask of this shape."""
    mask = file.mask(channel)
    return None if mask is None or mask.shape != shape else np.asarray(mask != 0)


INSIDE = re.compile(r"(?P<file>.+\.(?:h5|hdf5|hdf|nxs|nx5))::(?P<path>/?.+)")
"""A dataset within an HDF5 file, as silx writes it."""


class StoredImage(NamedTuple):
    """An image, and of what it was made."""

    image: np.ndarray[Any, Any]
    """(rows, cols) of a mean, NaN where there is no value; of another dataset as it is."""
    used: str
    """Number of frames that it is the mean of, such as "8 of 10 frames (2 missing)"; "" of one image."""


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
