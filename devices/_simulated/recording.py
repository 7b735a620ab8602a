"""Reading a recording for replay: NumPy files with NumPy; TIFF, HDF5, CBF and EDF with fabio."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from penstock.stins.blobs import ITEM_BYTES
from penstock.streamer.unit import CameraError

MAX_BYTES = 2**30
"""Largest recording in bytes; .npy files, which are memory-mapped, may be larger."""


def load(name: str) -> np.ndarray:
    """Return the frames of the recording `name`: (frames, rows, cols), little-endian, C order.

    `name` is the path of a file; `file.h5::/path/to/dataset` names a dataset in HDF5.

    Raises:
        CameraError: no such file, not readable, not 2-D or 3-D, or a type that cannot be streamed.
    """
    path = find(name)
    try:
        frames = np.load(path, mmap_mode="r", allow_pickle=False) if path.suffix == ".npy" else _fabio(name)
    except CameraError:
        raise
    except Exception as error:  # fabio's readers may raise anything for a broken file
        raise CameraError(f"Recording {name} cannot be read: {type(error).__name__}: {error}") from error
    if frames.ndim == 2:
        frames = frames[np.newaxis]
    if frames.ndim != 3 or 0 in frames.shape:
        raise CameraError(f"Recording {name} has the shape {frames.shape}; (frames, rows, cols) is required")
    little = frames.dtype.newbyteorder("<")
    if little.name not in ITEM_BYTES:
        raise CameraError(f"Recording {name} holds {frames.dtype}; supported are {', '.join(ITEM_BYTES)}")
    return frames.astype(little, copy=False)


def find(name: str) -> Path:
    """Return the file of the recording `name`.

    Raises:
        CameraError: the name is empty, or there is no such file.
    """
    path = Path(name.partition("::")[0])
    if not name:
        raise CameraError("Pattern is recording, but Recording is empty; set it to a file")
    if not path.is_file():
        raise CameraError(f"Recording {path}: there is no such file on the streamer's host")
    return path


def _fabio(name: str) -> np.ndarray:
    import fabio

    with fabio.open(name) as image:
        first = image.get_frame(0).data
        total = image.nframes * first.nbytes
        if total > MAX_BYTES:
            raise CameraError(
                f"Recording {name} has {total} bytes, the limit is {MAX_BYTES}; save it as .npy"
            )
        return np.stack([image.get_frame(number).data for number in range(image.nframes)])
