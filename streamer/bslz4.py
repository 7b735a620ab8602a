"""bslz4 blobs (HDF5 filter 32008) by the library that hdf5plugin ships; holds no interpreter lock.

The PyPI `bitshuffle` functions lack the 12-byte header that this writes: uncompressed bytes (8,
big endian) and block bytes (4, big endian).
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

import numpy as np

HEADER_BYTES = 12


@cache
def _library() -> ctypes.CDLL:
    import hdf5plugin

    library = ctypes.CDLL(str(Path(hdf5plugin.PLUGIN_PATH) / "libh5bshuf.so"))
    library.bshuf_compress_lz4_bound.restype = ctypes.c_size_t
    library.bshuf_compress_lz4_bound.argtypes = [ctypes.c_size_t] * 3
    library.bshuf_compress_lz4.restype = ctypes.c_int64
    library.bshuf_compress_lz4.argtypes = [ctypes.c_void_p, ctypes.c_void_p] + [ctypes.c_size_t] * 3
    library.bshuf_default_block_size.restype = ctypes.c_size_t
    library.bshuf_default_block_size.argtypes = [ctypes.c_size_t]
    return library


def bound(nbytes: int, item_bytes: int) -> int:
    """Most bytes that a blob of `nbytes` of pixels can have."""
    return HEADER_BYTES + int(_library().bshuf_compress_lz4_bound(nbytes // item_bytes, item_bytes, 0))


def compress(pixels: np.ndarray) -> bytes:
    """The blob of one image or module."""
    library, item = _library(), pixels.itemsize
    pixels = np.ascontiguousarray(pixels)
    block = int(library.bshuf_default_block_size(item))
    blob = np.empty(bound(pixels.nbytes, item), np.uint8)
    used = library.bshuf_compress_lz4(
        pixels.ctypes.data, blob.ctypes.data + HEADER_BYTES, pixels.size, item, block
    )
    if used < 0:
        raise RuntimeError(f"bshuf_compress_lz4 returned {used}")
    blob[:HEADER_BYTES] = np.frombuffer(
        pixels.nbytes.to_bytes(8, "big") + (block * item).to_bytes(4, "big"), np.uint8
    )
    return blob[: HEADER_BYTES + used].tobytes()
