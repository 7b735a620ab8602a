"""Files of transforms: an image of a file with frames is the mean of those that are stored."""

from __future__ import annotations

import logging
import os
from functools import lru_cache

import numpy as np

from penstock.receiver.transforms.steps import tables
from penstock.receiver.transforms.steps.format import TransformConfigError

log = logging.getLogger(__name__)


def read(path: str, step: str) -> np.ndarray:
    """Return the array in a file: .npy, text, or the mean of the stored frames of any file with frames (HDF5,
    TIFF, EDF, CBF), or `FILE.h5::/path/of/dataset`; NaN where a pixel has no value in any of them.

    Args:
        path: the file.
        step: name of the step that needs it, for the error.

    Raises:
        TransformConfigError: it cannot be read, or has no stored frame.
    """
    return _read(path, step)[0]


def read_and_log(path: str, step: str) -> np.ndarray:
    """Return the same, and log of how many frames it is."""
    array, used = _read(path, step)
    if used:
        log.info("%s: %s: mean of %s", step, path, used)
    return array


def _read(path: str, step: str) -> tuple[np.ndarray, str]:
    if path.lower().endswith((".npy", *tables.TEXT)):
        return tables.read(path, step), ""
    from penstock.receiver.reading.stored_image import split

    file, place = split(path)
    try:
        found = os.stat(file)
        array, used = _image(file, place, found.st_mtime_ns, found.st_size)
    except Exception as error:  # fabio raises whatever its readers do
        if isinstance(error, KeyError) and error.args:
            why = str(error.args[0])
        else:
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise TransformConfigError(
            f"{step}: {path} cannot be read ({why}); give a .npy file, text, a file with frames, or an image "
            "in it as FILE.h5::/path/of/dataset"
        ) from error
    return tables.checked(array, path, step), used


# Each check of a series asks for the same files.
@lru_cache(maxsize=4)
def _image(file: str, place: str, _modified: int, _size: int) -> tuple[np.ndarray, str]:
    from penstock.receiver.reading.stored_image import stored_image

    array, used = stored_image(file, place)
    if array.ndim == 3 and len(array) == 1:
        array = array[0]
    if array.dtype.kind in "iuf":
        array = array.astype("<f4")
        array.flags.writeable = False
    return array, used
