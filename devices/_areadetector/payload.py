"""The pixels of an NTNDArray as blobs of STINS: packed ones with the header of an HDF5 chunk in front.

| codec of areaDetector | its payload | blob |
|---|---|---|
| none | pixels | the same |
| `bslz4` | bitshuffle/LZ4 of 8,192 bytes per block, no header | bslz4: size (8), 8192 (4), payload |
| `lz4` | one raw LZ4 block | lz4: size (8), size (4), length of the payload (4), payload |
| `lz4hdf5` (ADCore 3.15) | a chunk of HDF5's filter 32004 | lz4: the same |

All numbers are big-endian. PvaPy's simulator sends whole chunks under the names `bslz4` and `lz4`: a chunk
begins with four bytes of zero, as long as it has less than 4 GB, which neither payload does.

Source: ADCore, `NDPluginCodec.cpp` and `ntndArrayConverter.cpp`.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from penstock.codecs import lz4
from penstock.codecs.packed import CODECS
from penstock.streamer.unit import CameraError

PLAIN = "none"
COMPRESSIONS = {"": PLAIN, "none": PLAIN, "bslz4": "bslz4", "lz4": "lz4", "lz4hdf5": "lz4"}
"""Compression of the blobs, by the codec's name."""
BLOCK_BYTES = 8192
_ZEROS = bytes(4)
MOST_HEADER_BYTES = 16


def compression_of(codec: str) -> str:
    """Return the compression of the blobs.

    Raises:
        CameraError: frames of this codec are not taken.
    """
    if (found := COMPRESSIONS.get(codec.lower())) is None:
        raise CameraError(
            f"frames are packed by the codec {codec}, which no file here can have; set the codec plugin's "
            "Compressor to None, Bitshuffle (BSLZ4) or LZ4"
        )
    return found


def header(codec: str, payload: Any, plain_bytes: int) -> bytes:
    """Return what a blob has in front of a payload.

    Args:
        codec: its name.
        payload: bytes as received.
        plain_bytes: size of the pixels.
    """
    if codec not in ("bslz4", "lz4") or bytes(payload[:4]) == _ZEROS:
        return b""
    if codec == "bslz4":
        return struct.pack(">QI", plain_bytes, BLOCK_BYTES)
    return struct.pack(">QII", plain_bytes, plain_bytes, len(payload))


def write(codec: str, payload: np.ndarray[Any, Any], plain_bytes: int, buffer: np.ndarray[Any, Any]) -> int:
    """Write the blob of a frame into a buffer; return its length.

    Args:
        codec: name of the codec.
        payload: the array's value, of any type.
        plain_bytes: size of the pixels.
        buffer: uint8, as long as the longest blob.

    Raises:
        CameraError: the payload does not fit.
    """
    sent = payload.view(np.uint8)
    front = header(codec, sent, plain_bytes)
    if codec == "lz4" and front and len(sent) == plain_bytes:  # which would say that the block is plain
        sent = np.frombuffer(lz4.decompress_block(sent.tobytes(), plain_bytes), np.uint8)
    end = len(front) + len(sent)
    if end > len(buffer):
        raise CameraError(f"a frame has {end:,} bytes, where {len(buffer):,} were expected")
    buffer[: len(front)] = np.frombuffer(front, np.uint8)
    buffer[len(front) : end] = sent
    return end


def packed_as(codec: str, pixels: np.ndarray[Any, Any]) -> bytes:
    """Return pixels as areaDetector's codec plugin packs them; for stand-ins.

    Args:
        codec: `bslz4`, `lz4` or `lz4hdf5`.
        pixels: (rows, columns).
    """
    chunk = CODECS[COMPRESSIONS[codec]].compress(pixels)
    return chunk if codec == "lz4hdf5" else chunk[12 if codec == "bslz4" else 16 :]
