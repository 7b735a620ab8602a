"""Messages of stream V1 ("legacy"): JSON parts and blobs.

SIMPLON API 1.8, "Stream"; with the same keys as a real EIGER 1M.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from penstock.stins.blobs import LZ4_HEADER
from penstock.streamer.simulated.simplon.detector_config import detector_config
from penstock.streamer.simulated.simplon.key import OLD
from penstock.streamer.simulated.simplon.pixels import Picture
from penstock.streamer.simulated.simplon.settings import Settings, countrate_table

BLOCK_AT = LZ4_HEADER.size + 4
"""Bytes before the only block of an lz4 blob: the header of the filter, and the block's length."""
SENT = frozenset(detector_config(OLD, 1, 1, ""))
"""Keys of the header: a real EIGER 1M with SIMPLON 1.8.0 sends those that 1.6.0 has."""


def _text(**keys: Any) -> bytes:
    return json.dumps(keys, separators=(",", ":"), sort_keys=True).encode()


def _table(kind: str, array: np.ndarray) -> list[bytes]:
    rows, cols = array.shape
    return [_text(htype=f"{kind}-1.0", shape=[cols, rows], type=array.dtype.name), array.tobytes()]


def start(settings: Settings, series: int) -> list[bytes]:
    """Return the start message: 1, 2 or 8 parts for detail "none", "basic" or "all".

    Only with "all", an appendix is the ninth (SIMPLON API 1.8, p. 45).
    """
    detail = settings.get("stream", "config", "header_detail")
    parts = [_text(htype="dheader-1.0", series=series, header_detail=detail)]
    if detail != "none":
        config = settings.of["detector", "config"]
        parts.append(_text(**{name: key.value for name, key in config.items() if name in SENT}))
    if detail == "all":
        parts += _table("dflatfield", settings.tables["flatfield"])
        parts += _table("dpixelmask", settings.tables["pixel_mask"])
        parts += _table("dcountrate_table", countrate_table())
        if appendix := settings.get("stream", "config", "header_appendix"):
            parts.append(appendix.encode())
    return parts


def image(
    settings: Settings, series: int, number: int, picture: Picture, times: tuple[int, int, int]
) -> list[bytes]:
    """Return one frame, of several thresholds the first; `times`: start, stop and real time in ns."""
    blob, bits = picture.blobs[0], np.dtype(picture.dtype).itemsize * 8
    order = "<" if bits > 8 else ""
    encoding = {"bslz4": f"bs{bits}-lz4{order}", "lz4": f"lz4{order}", "none": "<"}[picture.compression]
    digest = picture.hash
    if picture.compression == "lz4":
        blob = _block(blob)
        digest = hashlib.md5(blob, usedforsecurity=False).hexdigest()
    begun, ended, real = times
    rows, cols = picture.shape
    parts = [
        _text(htype="dimage-1.0", series=series, frame=number, hash=digest),
        _text(
            htype="dimage_d-1.0", shape=[cols, rows], type=picture.dtype, encoding=encoding, size=len(blob)
        ),
        blob,
        _text(htype="dconfig-1.0", start_time=begun, stop_time=ended, real_time=real),
    ]
    if appendix := settings.get("stream", "config", "image_appendix"):
        parts.append(appendix.encode())
    return parts


def _block(blob: bytes) -> bytes:
    """Return the LZ4 block in a blob of one block; one that has not shrunk is plain there."""
    block, nbytes = blob[BLOCK_AT:], LZ4_HEADER.unpack_from(blob)[0]
    if len(block) < nbytes:
        return block
    # All of it as literals: fewer than 15 bytes, or 15 and how many more in steps of 255 (LZ4 block format).
    if nbytes < 15:
        return bytes([nbytes << 4]) + block
    steps, rest = divmod(nbytes - 15, 255)
    return b"".join((b"\xf0", b"\xff" * steps, bytes([rest]), block))


def end(series: int) -> list[bytes]:
    """Return the end message."""
    return [_text(htype="dseries_end-1.0", series=series)]
