"""The blobs of one dataset as they are stored: HDF5 says once where they lie, then they are read from there.

A look-up in HDF5 takes ten times as long as the reading of a small frame. What lies neither in one chunk per
blob nor one behind the other, or is packed in another way, HDF5 reads and unpacks.
"""

from __future__ import annotations

import os
from math import prod
from typing import Any, TypeAlias

import numpy as np

from penstock.codecs.packed import compression_of_filter
from penstock.processing.wire import StoredFile

NONE = "none"
Located: TypeAlias = "tuple[str, StoredFile | None, int, int]"
"""A blob: its compression, file, offset and bytes; one that was never stored has no file and no bytes."""


class StoredBlobs:
    """The blobs in one dataset of frames.

    Args:
        data: h5py dataset: (frames, …), not virtual.
        parts: blobs per frame; with several, the second axis counts them.
    """

    def __init__(self, data: Any, parts: int) -> None:
        self._data = data
        self._parts = parts
        self._shape = data.shape[2:] if parts > 1 else data.shape[1:]
        self._nbytes = prod(self._shape) * data.dtype.itemsize
        self._packed = _compression(data)
        self._offsets: np.ndarray[Any, Any] | None = None
        """Offset of each blob, (frames, parts), −1: none; `None`: HDF5 reads them."""
        self._sizes: np.ndarray[Any, Any] = np.zeros(0)
        self._plain: np.ndarray[Any, Any] = np.zeros(0)
        self._file = -1
        self._closed = False
        self._said: StoredFile | None = None
        if data.file.userblock_size == 0 and data.dtype.kind in "biuf" and data.file.driver == "sec2":
            self._find()
        if self._offsets is not None:
            # HDF5's own descriptor: under the path there may be another file by now.
            self._file = os.dup(data.file.id.get_vfd_handle())
            state = os.fstat(self._file)
            self._said = StoredFile(os.path.abspath(data.file.filename), state.st_dev, state.st_ino)

    def read(self, index: int) -> list[tuple[str, bytes]]:
        """Return the blobs of a frame, each with its compression; one that was never stored is empty.

        Raises:
            OSError, RuntimeError, ValueError: HDF5 cannot read them.
        """
        if (located := self.locate(index)) is None:
            found = np.asarray(self._data[index])
            parts = found if self._parts > 1 else (found,)
            return [(NONE, np.ascontiguousarray(part).tobytes()) for part in parts]
        blobs = []
        for compression, file, offset, size in located:
            blob = b"" if file is None else os.pread(self._file, size, offset)
            if len(blob) != size:
                raise OSError(f"{self._data.file.filename} is truncated: {len(blob)} of {size} bytes")
            blobs.append((compression, blob))
        return blobs

    def locate(self, index: int) -> list[Located] | None:
        """Return where the blobs of a frame lie; `None` if only HDF5 can read them."""
        if self._offsets is None:
            return None
        columns = (self._offsets[index], self._sizes[index], self._plain[index])
        return [
            (NONE, None, 0, 0)
            if offset < 0
            else (NONE if is_plain else self._packed or NONE, self._said, offset, size)
            for offset, size, is_plain in zip(*(column.tolist() for column in columns), strict=True)
        ]

    @property
    def is_closed(self) -> bool:
        """True if `close` was called."""
        return self._closed

    def close(self) -> None:
        """Close the file."""
        self._closed = True
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _find(self) -> None:
        data = self._data
        shape = (len(data), self._parts)
        if data.chunks is None:
            start = data.id.get_offset()
            if start is not None and not data.is_virtual and not data.external:
                places = start + np.arange(shape[0] * shape[1], dtype=np.int64) * self._nbytes
                self._offsets = places.reshape(shape)
                self._sizes = np.broadcast_to(np.uint32(self._nbytes), shape)
                self._plain = np.broadcast_to(np.True_, shape)
            return
        chunk = (1, 1, *self._shape) if self._parts > 1 else (1, *self._shape)
        if data.chunks != chunk or self._packed is None:
            return
        offsets, sizes = np.full(shape, -1, np.int64), np.zeros(shape, np.uint32)
        plain = np.full(shape, self._packed == NONE)

        def keep(found: Any) -> None:
            at = found.chunk_offset[0], found.chunk_offset[1] if shape[1] > 1 else 0
            if at[0] < shape[0]:
                offsets[at], sizes[at] = found.byte_offset, found.size
                plain[at] |= bool(found.filter_mask & 1)

        data.id.chunk_iter(keep)
        self._offsets, self._sizes, self._plain = offsets, sizes, plain


def _compression(data: Any) -> str | None:
    """Return the compression of a dataset's chunks as frames have it; `None` if it is another."""
    properties = data.id.get_create_plist()
    number = properties.get_nfilters()
    if number == 0:
        return NONE
    if number > 1:
        return None
    code, _, options, _ = properties.get_filter(0)
    return compression_of_filter(code, options)
