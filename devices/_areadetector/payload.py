"""The pixels of an NTNDArray as blobs of STINS, written into a buffer; see `codecs.ntndarray`."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.codecs import lz4, ntndarray
from penstock.codecs.ntndarray import COMPRESSIONS
from penstock.codecs.packed import CODECS
from penstock.streamer.camera.unit import CameraError

PLAIN = "none"


def compression_of(codec: str) -> str:
    """Return the compression of the blobs.

    Raises:
        CameraError: frames of this codec are not taken.
    """
    if (found := COMPRESSIONS.get(codec)) is None:
        raise CameraError(
            f"frames are packed by the codec {codec}, which no file here can have; set the codec plugin's "
            "Compressor to None, Bitshuffle (BSLZ4) or LZ4"
        )
    return found


def pixel_type(array: Any) -> str:
    """Return the type of the pixels of an NTNDArray; of packed ones as it says, "" if it does not."""
    if COMPRESSIONS[str(array.codec.name)] == PLAIN:
        return np.asarray(array.value).dtype.name
    try:
        number = int(array.codec.parameters)
    except (TypeError, ValueError):
        return ""
    names = list(ntndarray.MEMBERS)
    return names[number] if 0 < number < len(names) else ""


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
    if COMPRESSIONS[codec] == PLAIN and len(sent) != plain_bytes:
        raise CameraError(f"a frame has {len(sent):,} bytes of pixels, and its size {plain_bytes:,}")
    front = ntndarray.header(codec, sent.data, plain_bytes)
    if ntndarray.is_plain_to_filters(codec, front, sent.data, plain_bytes):
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
