"""lz4 blobs (HDF5 filter 32004) by the library that hdf5plugin ships; without the interpreter lock.

A blob is a chunk of the filter: 8 bytes big-endian unpacked size, 4 bytes big-endian block size, then blocks,
each with a length of 4 bytes big-endian. A block of which that is its unpacked length is plain. Source: "HDF5
LZ4" of the HDF Group's registered filters.
"""

from __future__ import annotations

import ctypes
import struct
from functools import cache

import numpy as np

from penstock.codecs import libraries
from penstock.stins.blobs import LZ4_HEADER, end_of_blocks
from penstock.stins.messages import Buffer

_LENGTH = struct.Struct(">I")


@cache
def _library() -> ctypes.CDLL:
    library = libraries.load("libh5lz4.so")
    library.LZ4_compressBound.argtypes = [ctypes.c_int]
    for function in (library.LZ4_compress_default, library.LZ4_decompress_safe):
        function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
    return library


def compress(pixels: np.ndarray) -> bytes:
    """Return the blob of one image or module, of one block."""
    library = _library()
    pixels = np.ascontiguousarray(pixels)
    packed = np.empty(library.LZ4_compressBound(pixels.nbytes), np.uint8)
    used = library.LZ4_compress_default(pixels.ctypes.data, packed.ctypes.data, pixels.nbytes, len(packed))
    if used <= 0:
        raise RuntimeError(f"LZ4_compress_default returned {used}")
    block = pixels.tobytes() if used >= pixels.nbytes else packed[:used].tobytes()
    return frame_block(block, pixels.nbytes)


def frame_block(block: Buffer, nbytes: int, size: int | None = None) -> bytes:
    """Return the blob whose only block is this one, of `nbytes` unpacked; `size` is its announced length."""
    length = len(block) if size is None else size
    return b"".join((LZ4_HEADER.pack(nbytes, nbytes), _LENGTH.pack(length), block))


def decompress_block(block: Buffer, nbytes: int) -> bytes:
    """Return the bytes of one block.

    Raises:
        ValueError: the block cannot be unpacked.
    """
    out = np.empty(nbytes, np.uint8)
    _unpack(np.frombuffer(block, np.uint8), out)
    return out.tobytes()


def decompress(blob: Buffer, pixels: int, kind: np.dtype) -> np.ndarray:
    """Return so many pixels of this type from a blob, as one row.

    Raises:
        ValueError: the blob cannot be unpacked.
    """
    out = np.empty(pixels, kind)
    decompress_into(blob, out)
    return out


def decompress_into(blob: Buffer, out: np.ndarray) -> None:
    """Unpack a blob into a row of pixels, which says how many there are, and of which type.

    Raises:
        ValueError: the blob cannot be unpacked.
    """
    check(blob, out.size, out.dtype)
    to, packed = out.view(np.uint8), np.frombuffer(blob, np.uint8)
    nbytes, length = LZ4_HEADER.unpack_from(blob)
    place = LZ4_HEADER.size
    for start in range(0, nbytes, length):
        block = to[start : start + length]
        (size,) = _LENGTH.unpack_from(blob, place)
        place += _LENGTH.size
        part = packed[place : place + size]
        if size == len(block):
            block[:] = part
        else:
            _unpack(part, block)
        place += size


def check(blob: Buffer, pixels: int, kind: np.dtype) -> None:
    """Check header and lengths of the blocks of a blob of so many pixels.

    Raises:
        ValueError: they do not agree with each other, or with the pixels.
    """
    if len(blob) < LZ4_HEADER.size:
        raise ValueError("an lz4 blob ends before its first block")
    nbytes, length = LZ4_HEADER.unpack_from(blob)
    expected = pixels * kind.itemsize
    if nbytes != expected or length < 1:
        raise ValueError(f"an lz4 blob of {nbytes} bytes in blocks of {length}; {expected} bytes expected")
    try:
        end_of_blocks(blob, LZ4_HEADER.size, nbytes, length, 1)
    except ValueError as error:
        raise ValueError(f"an lz4 blob of {len(blob)} bytes {error}") from None


def decompress_part(blob: Buffer, pixels: int, kind: np.dtype, first: int, end: int) -> np.ndarray:
    """Return the pixels from `first` on and before `end`, out of a blob of so many.

    Raises:
        ValueError: the blob cannot be unpacked.
    """
    return decompress(blob, pixels, kind)[first:end]


def _unpack(block: np.ndarray, out: np.ndarray) -> None:
    used = _library().LZ4_decompress_safe(block.ctypes.data, out.ctypes.data, len(block), len(out))
    if used != len(out):
        raise ValueError(
            f"an lz4 block of {len(block)} bytes cannot be unpacked into {len(out)} (LZ4: {used})"
        )
