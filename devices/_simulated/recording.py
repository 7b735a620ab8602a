"""Reading a recording for replay: NumPy files with NumPy; HDF5, CBF, TIFF and EDF as the viewer does."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np

from penstock.receiver.reading.frame_files import open_frames
from penstock.receiver.reading.reader import ReaderError
from penstock.receiver.validity.frames import with_data
from penstock.stins.blobs import ITEM_BYTES
from penstock.streamer.camera.unit import CameraError

log = logging.getLogger(__name__)

MAX_BYTES = 2**30
"""Largest recording in bytes; .npy files, which are memory-mapped, may be larger."""


def load(name: str) -> np.ndarray:
    """Return the frames of the recording `name`: (frames, rows, cols), little-endian, C order.

    `name` is the path of a file; `file.h5::/path/to/dataset` names a dataset in HDF5. Frames that the file
    does not have, such as missing ones, are left out.

    Raises:
        CameraError: no such file, not readable, without frames, not 2-D or 3-D, or of a type that cannot be
            streamed.
    """
    path = find(name)
    try:
        frames = np.load(path, mmap_mode="r", allow_pickle=False) if path.suffix == ".npy" else _stored(name)
    except CameraError:
        raise
    except ReaderError as error:
        raise CameraError(f"Recording {name} cannot be read: {error}") from error
    except Exception as error:  # NumPy may raise anything for a broken file
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


def _stored(name: str) -> np.ndarray:
    path, _, dataset = name.partition("::")
    with open_frames(path, dataset or None) as file:
        frames = file.shape[0]
        wanted = with_data(file.status, frames)
        if not len(wanted):
            raise CameraError(f"Recording {name} has no frame that is stored")
        if len(wanted) < frames:
            log.warning(
                "recording %s: %d of its %d frames are stored, and replayed", name, len(wanted), frames
            )
        first = file.frame(int(wanted[0]))
        if (total := len(wanted) * first.nbytes) > MAX_BYTES:
            raise CameraError(
                f"Recording {name} has {total} bytes, the limit is {MAX_BYTES}; save it as .npy"
            )
        return np.stack([first, *(file.frame(int(index)) for index in wanted[1:])])
