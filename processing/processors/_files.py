"""Images of calibration from files: darks and flat fields."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from penstock.processing.processor import CannotProcess

INSIDE = re.compile(r"(?P<file>.+\.(?:h5|hdf5|hdf|nxs|nx5))::(?P<path>/?.+)")
"""A dataset within an HDF5 file, as silx writes it."""


class CalibrationError(CannotProcess):
    """A file of calibration cannot be used; the sentence names it and the remedy."""


def image(name: str, path: str) -> np.ndarray[Any, Any]:
    """Return the image in a file, float32, (rows, cols); of several frames their mean.

    Args:
        name: name of the parameter, for sentences.
        path: absolute path of an .npy file, of a file with frames (HDF5, TIFF, EDF, CBF), or
            `FILE.h5::/path/of/dataset`.

    Raises:
        CalibrationError: it cannot be read, or is no image of numbers.
    """
    inside = INSIDE.fullmatch(path)
    file = Path(inside["file"] if inside is not None else path)
    if not file.is_absolute():
        raise CalibrationError(
            f"{name} is {path}: workers run in folders of their own; give an absolute path, or put it into "
            "the pipeline's file, to whose folder it may be relative"
        )
    try:
        status = file.stat()
    except OSError as error:
        raise CalibrationError(
            f"{name}: {file}: {error.strerror}; the file has to be where the workers run"
        ) from error
    place = "" if inside is None else inside["path"]
    # Each change of a parameter configures anew, and each series has instances of its own.
    return _read(name, os.fspath(file), place, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=4)
def _read(name: str, file: str, place: str, _modified: int, _size: int) -> np.ndarray[Any, Any]:
    try:
        if place:
            found = _dataset(file, place)
        elif file.endswith(".npy"):
            found = np.load(file, allow_pickle=False)
        else:
            found = _frames(file)
    except (OSError, ValueError, KeyError, EOFError) as error:
        said = error.args[0] if isinstance(error, KeyError) and error.args else error
        raise CalibrationError(f"{name}: {file} cannot be read: {said}") from error
    if found.dtype.kind not in "biuf" or found.ndim < 2:
        raise CalibrationError(
            f"{name}: {file} has {list(found.shape)} of {found.dtype}; give an image of numbers, [rows, cols]"
        )
    if found.ndim > 2:
        found = found.reshape(-1, *found.shape[-2:]).mean(axis=0, dtype=np.float64)
    image = found.astype(np.float32)
    image.flags.writeable = False  # all instances share it
    return image


def _dataset(file: str, place: str) -> np.ndarray[Any, Any]:
    """Return a dataset; `KeyError` if there is none."""
    import h5py
    import hdf5plugin  # noqa: F401  of filters

    with h5py.File(file, "r") as opened:
        found = opened[place]
        if not isinstance(found, h5py.Dataset):
            raise ValueError(f"{place} is a group; give a dataset in it")
        return np.asarray(found[()])


def _frames(file: str) -> np.ndarray[Any, Any]:
    """Return the mean of the frames of a file."""
    from penstock.receiver.frame_files import open_frames
    from penstock.receiver.reader import ReaderError

    try:
        with open_frames(file) as frames:
            count = frames.shape[0]
            if not count or len(frames.shape) != 3:
                raise ValueError(
                    f"its frames are {list(frames.shape)}; name an image in it as {file}::/path/of/dataset"
                )
            total = np.zeros(frames.shape[1:], np.float64)
            for index in range(count):
                total += frames.frame(index)
    except ReaderError as error:
        raise ValueError(str(error)) from error
    return np.asarray(total / count)


def of_shape(
    name: str, path: str, found: np.ndarray[Any, Any], shape: tuple[int, ...]
) -> np.ndarray[Any, Any]:
    """Return an image that has the shape of the frames.

    Raises:
        CalibrationError: it has another one.
    """
    if found.shape != tuple(shape):
        raise CalibrationError(
            f"{name} {path} has {list(found.shape)} pixels, the frames {list(shape)}; take it with the same "
            "region, binning and orientation"
        )
    return found
