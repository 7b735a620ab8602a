"""lz4 blobs, as the two streams frame them, by the library that hdf5plugin ships.

Stream V1 sends the bare block; stream V2 that of HDF5 filter 32004: bytes when unpacked (8, big endian),
block bytes (4), and each block after its length (4).
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

import numpy as np

HEADER = 16
"""Bytes before the only block of a blob in V2's frame."""


@cache
def _library() -> ctypes.CDLL:
    import hdf5plugin

    library = ctypes.CDLL(str(Path(hdf5plugin.PLUGIN_PATH) / "libh5lz4.so"))
    for function in (library.LZ4_compress_default, library.LZ4_decompress_safe):
        function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
    return library


def compress(pixels: np.ndarray) -> bytes:
    """Return the blob of one image in V2's frame; an image that does not shrink is stored as it is."""
    pixels = np.ascontiguousarray(pixels)
    library = _library()
    block = np.empty(library.LZ4_compressBound(pixels.nbytes), np.uint8)
    used = library.LZ4_compress_default(pixels.ctypes.data, block.ctypes.data, pixels.nbytes, len(block))
    if used <= 0:
        raise RuntimeError(f"LZ4_compress_default returned {used}")
    sizes = (pixels.nbytes.to_bytes(8, "big"), pixels.nbytes.to_bytes(4, "big"), used.to_bytes(4, "big"))
    return b"".join((*sizes, block[:used].tobytes()))


def decompress(blob: bytes, pixels: int, kind: np.dtype) -> np.ndarray:
    """Return the pixels of a blob in V2's frame, as one row."""
    out, packed = np.empty(pixels, kind), np.frombuffer(blob, np.uint8)[HEADER:]
    used = _library().LZ4_decompress_safe(packed.ctypes.data, out.ctypes.data, len(packed), out.nbytes)
    if used != out.nbytes:
        raise ValueError(f"LZ4_decompress_safe returned {used}")
    return out


def bare(blob: bytes) -> bytes:
    """Return the block alone, as V1 sends it."""
    return blob[HEADER:]
