"""Arrays from files, for steps that need them. Files with frames are read by `process.transform_files`."""

from __future__ import annotations

import os

import numpy as np

from penstock.receiver.transforms.steps.format import TransformConfigError

TEXT = (".csv", ".dat", ".txt")


def read(path: str, step: str) -> np.ndarray:
    """Return the array in a file: .npy, or columns of text.

    Args:
        path: the file.
        step: name of the step that needs it, for the error.

    Raises:
        TransformConfigError: the file cannot be read, or is of another kind.
    """
    ending = os.path.splitext(path)[1].lower()
    try:
        if ending == ".npy":
            array = np.load(path, allow_pickle=False)
        elif ending in TEXT:
            array = np.loadtxt(path, delimiter="," if ending == ".csv" else None, ndmin=1)
        else:
            raise ValueError(f"its name ends neither with .npy nor with {', '.join(TEXT)}")
    except (OSError, ValueError, EOFError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise TransformConfigError(
            f"{step}: {path} cannot be read ({why}); give a .npy file, or text"
        ) from error
    return checked(array, path, step)


def checked(array: np.ndarray, path: str, step: str) -> np.ndarray:
    """Return the array if it holds numbers.

    Raises:
        TransformConfigError: it holds none.
    """
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iuf" or array.size == 0:
        raise TransformConfigError(f"{step}: {path} holds no numbers")
    return array
