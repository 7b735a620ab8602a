"""Frames that HDF5 files hold packed, read so that a damaged one is an error.

HDF5's filters for bslz4 and lz4 trust the sizes that stand in the chunk: of a damaged one they read beyond
its end, and the process is killed (hdf5plugin 6.0). So chunks of one frame are unpacked by `codecs`, which
look first.
"""

from __future__ import annotations

from typing import Any

import h5py
import numpy as np
from h5py import h5d

from penstock.codecs.packed import CODECS, Codec, compression_of_filter
from penstock.receiver.files.stores.linked_frames import LinkedFrames


def read(
    data: h5py.Dataset, place: tuple[int, ...], shown: LinkedFrames | None = None
) -> np.ndarray[Any, Any]:
    """Return `data[place]`, where the place is that of one frame.

    Args:
        data: the dataset.
        place: indices along its first axes.
        shown: the frames that it shows, if it is virtual.

    Raises:
        OSError: it cannot be read.
        ValueError: it cannot be unpacked.
    """
    if shown is not None and len(place) == 1 and (found := shown.find(place[0])) is not None:
        source, index = found
        if (source.dtype, source.shape[1:]) == (data.dtype, data.shape[1:]):
            return read(source, (index,))
    shape = data.shape[len(place) :]
    # A chunk may also have several frames, or a part of one: then HDF5 reads it.
    if _chunk(data) == (*(1 for _ in place), *shape):
        pixels = unpacked(data, (*place, *(0 for _ in shape)))
        if pixels is not None:
            return pixels.reshape(shape)
    return np.asarray(data[place])


def unpacked(data: h5py.Dataset, corner: tuple[int, ...]) -> np.ndarray[Any, Any] | None:
    """Return the pixels of a chunk, as one row; `None` if HDF5 itself may read it: it was never written, or
    is no blob of `codecs`.

    Args:
        data: the dataset.
        corner: index of the chunk's first pixel.

    Raises:
        ValueError: it cannot be unpacked.
    """
    codec, chunk = _codec(data), _chunk(data)
    if codec is None or chunk is None:
        return None
    try:
        left_out, blob = data.id.read_direct_chunk(corner)
    except (OSError, RuntimeError, ValueError):  # not there, which HDF5 knows best
        return None
    return None if left_out else codec.decompress(blob, int(np.prod(chunk)), data.dtype)


def _chunk(data: h5py.Dataset) -> tuple[int, ...] | None:
    """Return the shape of a chunk; not by `data.chunks`, see `linked_frames.is_virtual`."""
    how = data.id.get_create_plist()
    return tuple(how.get_chunk()) if how.get_layout() == h5d.CHUNKED else None


def _codec(data: h5py.Dataset) -> Codec | None:
    how = data.id.get_create_plist()
    if data.dtype.kind not in "uif" or how.get_layout() != h5d.CHUNKED or how.get_nfilters() != 1:
        return None
    number, _, options, _ = how.get_filter(0)
    compression = compression_of_filter(number, options)
    return None if compression is None else CODECS[compression]
