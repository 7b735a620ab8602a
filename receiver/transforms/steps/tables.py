"""Tables and images from files, for steps that need them."""

from __future__ import annotations

import os

import numpy as np

from penstock.receiver.transforms.steps.format import TransformConfigError

TEXT = (".csv", ".dat", ".txt")


def read(path: str, step: str) -> np.ndarray:
    """Return the array in a file: .npy, columns of text, or an image that fabio can read (TIFF, EDF, CBF …).

    Raises:
        TransformConfigError: the file cannot be read.
    """
    ending = os.path.splitext(path)[1].lower()
    try:
        if ending == ".npy":
            array = np.load(path, allow_pickle=False)
        elif ending in TEXT:
            array = np.loadtxt(path, delimiter="," if ending == ".csv" else None, ndmin=1)
        else:
            import fabio

            with fabio.open(path) as image:
                array = image.data
    except Exception as error:  # fabio raises whatever its readers do
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise TransformConfigError(
            f"{step}: {path} cannot be read ({why}); give a .npy file, text, or an image"
        ) from error
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iuf" or array.size == 0:
        raise TransformConfigError(f"{step}: {path} holds no numbers")
    return array
