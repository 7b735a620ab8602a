"""bslz4 blobs (HDF5 filter 32008) by the library that hdf5plugin ships; without the interpreter lock.

The PyPI `bitshuffle` functions lack the 12-byte header that this reads and writes: uncompressed
bytes (8, big endian) and block bytes (4, big endian).
"""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np

from penstock.codecs import libraries
from penstock.stins.blobs import BSLZ4_HEADER_BYTES, end_of_blocks
from penstock.stins.messages import Buffer


@cache
def _library() -> ctypes.CDLL:
    # The HDF5 filter plugin exports bitshuffle's own functions; ctypes releases the lock.
    library = libraries.load("libh5bshuf.so")
    library.bshuf_compress_lz4_bound.restype = ctypes.c_size_t
    library.bshuf_compress_lz4_bound.argtypes = [ctypes.c_size_t] * 3
    for function in (library.bshuf_compress_lz4, library.bshuf_decompress_lz4):
        function.restype = ctypes.c_int64
        function.argtypes = [ctypes.c_void_p, ctypes.c_void_p] + [ctypes.c_size_t] * 3
    library.bshuf_default_block_size.restype = ctypes.c_size_t
    library.bshuf_default_block_size.argtypes = [ctypes.c_size_t]
    return library


def bound(nbytes: int, item_bytes: int) -> int:
    """Return the maximum size of a blob of `nbytes` bytes of pixels."""
    return BSLZ4_HEADER_BYTES + int(_library().bshuf_compress_lz4_bound(nbytes // item_bytes, item_bytes, 0))


def compress(pixels: np.ndarray) -> bytes:
    """Return the blob of one image or module."""
    blob = np.empty(bound(pixels.nbytes, pixels.itemsize), np.uint8)
    return blob[: compress_into(pixels, blob)].tobytes()


def compress_into(pixels: np.ndarray, blob: np.ndarray) -> int:
    """Write the blob of one image or module into an array of bytes that has room for `bound`; its length."""
    library, item = _library(), pixels.itemsize
    pixels = np.ascontiguousarray(pixels)
    block = int(library.bshuf_default_block_size(item))
    used = library.bshuf_compress_lz4(
        pixels.ctypes.data, blob.ctypes.data + BSLZ4_HEADER_BYTES, pixels.size, item, block
    )
    if used < 0:
        raise RuntimeError(f"bshuf_compress_lz4 returned {used}")
    blob[:BSLZ4_HEADER_BYTES] = np.frombuffer(
        pixels.nbytes.to_bytes(8, "big") + (block * item).to_bytes(4, "big"), np.uint8
    )
    return BSLZ4_HEADER_BYTES + int(used)


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
    _unpack(blob, BSLZ4_HEADER_BYTES, out, _block(blob, out.itemsize))


def decompress_part(blob: Buffer, pixels: int, kind: np.dtype, first: int, end: int) -> np.ndarray:
    """Return the pixels from `first` on and before `end`, out of a blob of so many; the rest stays packed.

    Raises:
        ValueError: the blob cannot be unpacked; blocks after the last needed one are not checked.
    """
    block = _block(blob, kind.itemsize)
    first_block, upto = first // block, min(pixels, -(-end // block) * block)
    out = np.empty(upto - first_block * block, kind)
    place = _end(blob, BSLZ4_HEADER_BYTES, first_block * block * kind.itemsize, block, kind.itemsize)
    _unpack(blob, place, out, block)
    return out[first - first_block * block :][: end - first]


def check(blob: Buffer, pixels: int, kind: np.dtype) -> None:
    """Check header and lengths of the blocks of a blob of so many pixels.

    Raises:
        ValueError: they do not agree with each other, or with the pixels.
    """
    nbytes, expected = int.from_bytes(blob[:8], "big"), pixels * kind.itemsize
    if nbytes != expected:
        raise ValueError(f"a bslz4 blob of {nbytes} bytes unpacked; {expected} expected")
    _end(blob, BSLZ4_HEADER_BYTES, expected, _block(blob, kind.itemsize), kind.itemsize)


def _block(blob: Buffer, itemsize: int) -> int:
    """Return the pixels of a block."""
    # 0 is bitshuffle's own choice: 8192 bytes in a multiple of 8 pixels, and at least 128 pixels.
    return int.from_bytes(blob[8:12], "big") // itemsize or max(128, 8192 // itemsize // 8 * 8)


def _unpack(blob: Buffer, place: int, out: np.ndarray, block: int) -> None:
    """Unpack the blocks from a place on."""
    _end(blob, place, out.nbytes, block, out.itemsize)  # the C function does not know where the blob ends
    packed = np.frombuffer(blob, np.uint8)[place:]
    used = _library().bshuf_decompress_lz4(packed.ctypes.data, out.ctypes.data, out.size, out.itemsize, block)
    if used < 0 or used > len(packed):
        raise ValueError(f"a bslz4 blob of {len(blob)} bytes cannot be unpacked (bitshuffle error {used})")


def _end(blob: Buffer, place: int, nbytes: int, block: int, itemsize: int) -> int:
    """Return where the blocks of so many bytes end; fewer than 8 pixels at the end are stored plain.

    Raises:
        ValueError: the blob is damaged.
    """
    try:
        return end_of_blocks(blob, place, nbytes, block * itemsize, 8 * itemsize)
    except ValueError as error:
        raise ValueError(f"a bslz4 blob of {len(blob)} bytes {error}") from None
