"""What EPICS' NTNDArray calls types and codecs of pixels, and packed pixels as areaDetector has them.

| compression of a blob | codec | payload |
|---|---|---|
| bslz4 of 8,192 bytes per block | `bslz4` | the blob without its header: size (8), 8192 (4) |
| lz4 of one block | `lz4` | that block, without the header: size (8), size (4), length of the payload (4) |
| lz4 of several blocks | `lz4hdf5` (ADCore 3.15) | the blob |

All numbers are big-endian. PvaPy's simulator sends whole blobs under the names `bslz4` and `lz4`: a blob
begins with four bytes of zero, as long as it has less than 4 GB, which neither payload does.

Source: pvData, `pvIntrospect.h`; ADCore, `NDPluginCodec.cpp`.
"""

from __future__ import annotations

import struct

import numpy as np

from penstock.codecs import lz4
from penstock.stins.blobs import BSLZ4_HEADER_BYTES, LZ4_HEADER
from penstock.stins.messages import Buffer

MEMBERS = {
    "bool": "booleanValue", "int8": "byteValue", "int16": "shortValue", "int32": "intValue",
    "int64": "longValue", "uint8": "ubyteValue", "uint16": "ushortValue", "uint32": "uintValue",
    "uint64": "ulongValue", "float32": "floatValue", "float64": "doubleValue",
}  # fmt: skip
"""Members of the union `value` by the type of the pixels, in the order of pvData's scalar types."""
COMPRESSIONS = {"": "none", "none": "none", "bslz4": "bslz4", "lz4": "lz4", "lz4hdf5": "lz4"}
"""Compression of the blobs, by the codec's name."""
BLOCK_BYTES = 8192
_LENGTH = struct.Struct(">I")
_ZEROS = bytes(4)


def scalar_type(dtype: np.dtype) -> int:
    """Return the number that pvData gives a type of pixels (`ScalarType`)."""
    return list(MEMBERS).index(dtype.name)


def payload(compression: str, blob: Buffer, item_bytes: int) -> tuple[str, Buffer] | None:
    """Return codec and payload of a packed blob; `None` if no codec has it, so that it has to be unpacked.

    Args:
        compression: of the image header.
        blob: one whole image.
        item_bytes: bytes of a pixel.
    """
    view = memoryview(blob)
    if compression == "bslz4" and len(view) >= BSLZ4_HEADER_BYTES:
        block = int.from_bytes(view[8:12], "big")
        usual = max(128, 8192 // item_bytes // 8 * 8) * item_bytes
        return ("bslz4", view[BSLZ4_HEADER_BYTES:]) if block in (0, usual) else None
    if compression == "lz4" and len(view) >= LZ4_HEADER.size + _LENGTH.size:
        nbytes, block = LZ4_HEADER.unpack_from(view)
        if block < nbytes:
            return "lz4hdf5", view
        start = LZ4_HEADER.size + _LENGTH.size
        is_plain = _LENGTH.unpack_from(view, LZ4_HEADER.size)[0] == nbytes
        return None if is_plain else ("lz4", view[start:])
    return None


def header(codec: str, payload: Buffer, plain_bytes: int) -> bytes:
    """Return what a blob has in front of a payload.

    Args:
        codec: its name.
        payload: bytes as received.
        plain_bytes: size of the pixels.
    """
    if codec not in ("bslz4", "lz4") or bytes(payload[:4]) == _ZEROS:
        return b""
    if codec == "bslz4":
        return LZ4_HEADER.pack(plain_bytes, BLOCK_BYTES)
    return LZ4_HEADER.pack(plain_bytes, plain_bytes) + _LENGTH.pack(len(payload))


def is_plain_to_filters(codec: str, front: bytes, payload: Buffer, plain_bytes: int) -> bool:
    """Return whether filters would take an LZ4 block for plain pixels, since it is as long as they are."""
    return codec == "lz4" and bool(front) and len(payload) == plain_bytes


def blob(codec: str, payload: Buffer, plain_bytes: int) -> bytes:
    """Return the blob of a packed payload; see `header`.

    Raises:
        ValueError: it cannot be unpacked, where that is needed.
    """
    front = header(codec, payload, plain_bytes)
    if is_plain_to_filters(codec, front, payload, plain_bytes):
        payload = lz4.decompress_block(bytes(payload), plain_bytes)
    return front + bytes(payload)
