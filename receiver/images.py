"""Blobs to arrays, for the eye: never on the data path."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import hdf5plugin
import numpy as np

from penstock.stins import blobs as rules
from penstock.stins.messages import Buffer


def unpack(shape: tuple[int, ...], dtype: str, compression: str, blobs: Sequence[Buffer]) -> np.ndarray:
    """The pixels of a frame, little endian, of this shape.

    Raises:
        ValueError: a blob cannot be unpacked.
    """
    count, nbytes = rules.blob_layout(shape, dtype)
    kind = np.dtype(dtype).newbyteorder("<")
    parts = []
    for blob in blobs:
        if compression == "bslz4":
            parts.append(_bslz4(blob, nbytes // kind.itemsize, kind))
        else:
            parts.append(np.frombuffer(blob, kind))
    whole = parts[0] if count == 1 else np.concatenate(parts)
    return whole.reshape(shape)


def _bslz4(blob: Buffer, pixels: int, kind: np.dtype) -> np.ndarray:
    out = np.empty(pixels, kind)
    block = int.from_bytes(blob[8:12], "big") // kind.itemsize
    packed = np.frombuffer(blob, np.uint8)[rules.BSLZ4_HEADER_BYTES :]
    _check_blocks(packed, pixels, block, kind.itemsize)
    used = _library().bshuf_decompress_lz4(packed.ctypes.data, out.ctypes.data, pixels, kind.itemsize, block)
    if used < 0 or used > len(packed):
        raise ValueError(f"a bslz4 blob of {len(blob)} bytes cannot be unpacked (bitshuffle error {used})")
    return out


def _check_blocks(packed: np.ndarray, pixels: int, block: int, itemsize: int) -> None:
    """The C function is not told where the blob ends: follow its blocks before it does.

    Each block is 4 bytes, big-endian, of compressed size, and so many bytes; fewer than 8 pixels at
    the end stand plain.
    """
    # 0 is bitshuffle's own choice: 8192 bytes in a multiple of 8 pixels, and at least 128 pixels.
    block = block or max(128, 8192 // itemsize // 8 * 8)
    rest = pixels % block
    blocks = pixels // block + (1 if rest >= 8 else 0)
    place = 0
    for _ in range(blocks):
        if place + 4 > len(packed):
            raise ValueError("a bslz4 blob ends before its last block")
        place += 4 + int.from_bytes(packed[place : place + 4].tobytes(), "big")
    if place + (rest % 8) * itemsize > len(packed):
        raise ValueError("a bslz4 blob ends within a block")


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    # The HDF5 filter plugin exports bitshuffle's own functions; ctypes lets go of the lock.
    library = ctypes.CDLL(str(Path(hdf5plugin.PLUGIN_PATH) / "libh5bshuf.so"))
    function = library.bshuf_decompress_lz4
    function.restype = ctypes.c_int64
    function.argtypes = [ctypes.c_void_p, ctypes.c_void_p] + [ctypes.c_size_t] * 3
    return library
