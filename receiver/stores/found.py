"""What a killed writer has left of the frames: their format, which are whole, and a store to go on with."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from h5py import h5d

from penstock.receiver.stores.channels import STATUS, ChannelStore
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
    compressed = COMPRESSED if data.id.get_create_plist().get_nfilters() > 0 else "none"
    names = channels_of(detector)
    shape = (len(names), *data.shape[1:]) if names else data.shape[1:]
    return FrameFormat(shape, data.dtype.name, compressed, planned, names)


def channels_of(detector: Any) -> tuple[str, ...]:
    """Datasets of the channels, where a frame has several; else none."""
    names = detector["series"].get("channels") if STATUS in detector else None
    return () if names is None else tuple(names.asstr()[:])


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
    found: np.ndarray[Any, Any] = np.ones(length, bool)
    for dataset in [detector[name] for name in channels_of(detector)] or [data]:
        found &= _chunks(dataset, length) == (dataset.shape[1] if dataset.ndim == 4 else 1)
    return found


def _chunks(data: Any, length: int) -> np.ndarray[Any, Any]:
    """How many chunks of each of the first frames are in the file."""
    size = os.fstat(data.file.id.get_vfd_handle()).st_size
    blobs = np.zeros(max(length, len(data)), np.int64)

    def note(chunk: Any) -> None:
        if chunk.size and chunk.byte_offset + chunk.size <= size:
            blobs[chunk.chunk_offset[0]] += 1

    data.id.chunk_iter(note)
    return blobs[:length]


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
    if frames.channels:
        return ChannelStore(detector, frames, is_found=True)
    if data.id.get_create_plist().get_fill_time() == h5d.FILL_TIME_NEVER:
        return PlacedStore(detector, frames, writing, data)
    return ChunkedStore(detector, frames, data=data)
