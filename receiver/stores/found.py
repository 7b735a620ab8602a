"""What a killed writer has left of the frames: their format, which are whole, and a store to go on with."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from h5py import h5d

from penstock.receiver.stores.chunked import ChunkedStore
from penstock.receiver.stores.contract import COMPRESSED, FrameFormat, FrameStore, Writing
from penstock.receiver.stores.placed import PlacedStore


def format_of(detector: Any, planned: int | None) -> FrameFormat | None:
    """What the frames in a file look like; `None` before the first.

    Args:
        detector: NXdetector group of the file.
        planned: frames announced.

    Raises:
        ValueError: they lie in other files, whose writers are gone too.
    """
    data = detector.get("data")
    if data is None:
        return None
    if data.is_virtual:
        raise ValueError("its frames are spread over several files")
    compressed = data.id.get_create_plist().get_nfilters() > 0
    return FrameFormat(data.shape[1:], data.dtype.name, COMPRESSED if compressed else "none", planned)


def whole(detector: Any, length: int) -> np.ndarray[Any, Any]:
    """Which of the first frames have all their pixels in the file; bool.

    HDF5's index can lack a chunk that was written, and can name one for which there is no file.
    """
    data = detector.get("data")
    if data is None:
        return np.zeros(length, bool)
    if data.is_virtual:  # an image that is assembled of the blobs of its modules, or lies in other files
        if "modules" not in detector:
            return np.ones(length, bool)
        data = detector["modules"]
    size = os.fstat(data.file.id.get_vfd_handle()).st_size
    blobs = np.zeros(max(length, len(data)), np.int64)

    def note(chunk: Any) -> None:
        if chunk.size and chunk.byte_offset + chunk.size <= size:
            blobs[chunk.chunk_offset[0]] += 1

    data.id.chunk_iter(note)
    found: np.ndarray[Any, Any] = blobs[:length] == (data.shape[1] if data.ndim == 4 else 1)
    return found


def reopen(detector: Any, planned: int | None, writing: Writing) -> FrameStore | None:
    """The store to go on with; `None` where no frame had come.

    Args:
        detector: NXdetector group of the file, open for writing.
        planned: frames announced.
        writing: by whom, as it is configured.

    Raises:
        OSError, RuntimeError, ValueError: the dataset cannot be used.
    """
    frames = format_of(detector, planned)
    if frames is None:
        return None
    data = detector["data"]
    if data.id.get_create_plist().get_fill_time() == h5d.FILL_TIME_NEVER:
        return PlacedStore(detector, frames, writing, data)
    return ChunkedStore(detector, frames, data=data)
