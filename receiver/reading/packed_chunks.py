"""Frames in chunks of HDF5 files, read so that a damaged one is an error, and a small one costs little.

HDF5's filters for bslz4 and lz4 trust the sizes that stand in the chunk: of a damaged one they read beyond
its end, and the process is killed (hdf5plugin 6.0). So chunks of one frame are unpacked by `codecs`, which
look first. To ask h5py for type, shape and filters takes ten times as long as to read a small frame, so this
is done once per dataset.
"""

from __future__ import annotations

from math import prod
from typing import Any

import h5py
import numpy as np
from h5py import h5d

from penstock.codecs.packed import CODECS, Codec, compression_of_filter
from penstock.receiver.files.stores.parts.linked_frames import LinkedFrames


class Chunks:
    """What is stored in one dataset.

    Args:
        data: the dataset. It may grow, but its chunks and filters stay.
    """

    def __init__(self, data: h5py.Dataset) -> None:
        self.data = data
        self.dtype, shape = data.dtype, data.shape
        self.frame = shape[1:]
        """Shape of the dataset without its first axis."""
        # Not by `data.chunks`, see `linked_frames.is_virtual`.
        how = data.id.get_create_plist()
        self.shape: tuple[int, ...] | None = (
            tuple(how.get_chunk()) if how.get_layout() == h5d.CHUNKED else None
        )
        """Shape of a chunk; `None` if there are none."""
        self._filters = -1 if self.shape is None or self.dtype.kind not in "uif" else how.get_nfilters()
        self._codec = _codec(how) if self._filters == 1 else None
        self._pixels = prod(self.shape or ())
        self._read_chunk = data.id.read_direct_chunk
        self._rest = {lead: shape[lead:] for lead in range(len(shape) + 1)}
        self._corners: set[tuple[int, ...]] | None = None

    def read(self, place: tuple[int, ...]) -> np.ndarray[Any, Any]:
        """Return `data[place]`, where the place is that of one frame.

        Raises:
            OSError: it cannot be read.
            ValueError: it cannot be unpacked.
        """
        pixels = self.whole(place)
        return np.asarray(self.data[place]) if pixels is None else pixels

    def whole(self, place: tuple[int, ...]) -> np.ndarray[Any, Any] | None:
        """Return `data[place]` if it is one chunk; else, or if `unpacked` returns nothing, `None`.

        Raises:
            ValueError: it cannot be unpacked.
        """
        rest = self._rest[len(place)]
        # A chunk may also have several frames, or a part of one: then HDF5 reads it.
        if self.shape != (*(1 for _ in place), *rest):
            return None
        pixels = self.unpacked((*place, *(0 for _ in rest)))
        return None if pixels is None else pixels.reshape(rest)

    def unpacked(self, corner: tuple[int, ...]) -> np.ndarray[Any, Any] | None:
        """Return the pixels of a chunk, as one row; `None` if HDF5 itself may read it: it was never written,
        or is neither a blob of `codecs` nor plain.

        Args:
            corner: index of the chunk's first pixel.

        Raises:
            ValueError: it cannot be unpacked.
        """
        if self._codec is None and self._filters:
            return None
        try:
            left_out, blob = self._read_chunk(corner)
        except (OSError, RuntimeError, ValueError):  # not there, which HDF5 knows best
            return None
        if self._codec is not None and not left_out:
            return self._codec.decompress(blob, self._pixels, self.dtype)
        return np.frombuffer(bytearray(blob), self.dtype, self._pixels)

    def blob(self, corner: tuple[int, ...]) -> bytes:
        """Return a chunk as stored; empty if there is none.

        Raises:
            OSError: it cannot be read.
            ValueError: its lengths show that it is damaged.
        """
        try:
            left_out, blob = self._read_chunk(corner)
        except (OSError, RuntimeError, ValueError):
            if not self.has(corner):
                return b""
            raise
        if self._codec is not None and not left_out:
            self._codec.check(blob, self._pixels, self.dtype)
        return bytes(blob)

    def has(self, corner: tuple[int, ...]) -> bool:
        """Return whether a chunk was ever written. All chunks are listed once: to find one, HDF5 goes through
        all of them, too. A file that grows has more by and by."""
        if (known := self._corners) is None:
            known = self._corners = set()
            add = known.add
            self.data.id.chunk_iter(lambda chunk: add(chunk.chunk_offset))
        return corner in known or self.data.id.get_chunk_info_by_coord(corner).byte_offset is not None


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
            return Chunks(source).read((index,))
    return Chunks(data).read(place)


def _codec(how: Any) -> Codec | None:
    number, _, options, _ = how.get_filter(0)
    compression = compression_of_filter(number, options)
    return None if compression is None else CODECS[compression]
