"""Messages of stream V1 ("legacy"): JSON parts and blobs.

SIMPLON API 1.8, "Stream"; with the same keys as a real EIGER 1M.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from penstock.streamer.simplon.pixels import Picture
from penstock.streamer.simplon.settings import Settings

NEVER = ("threshold/", "incident_energy", "nexpi", "mask_to_zero", "fast_arm", "counting_mode", "extg_mode")
CUTOFFS = 4000


def _text(**keys: Any) -> bytes:
    return json.dumps(keys, separators=(",", ":"), sort_keys=True).encode()


def _table(kind: str, array: np.ndarray) -> list[bytes]:
    rows, cols = array.shape
    return [_text(htype=f"{kind}-1.0", shape=[cols, rows], type=array.dtype.name), array.tobytes()]


def start(settings: Settings, series: int) -> list[bytes]:
    """Return the start message: 1, 2 or 8 parts for detail "none", "basic" or "all", then an appendix."""
    detail = settings.get("stream", "config", "header_detail")
    parts = [_text(htype="dheader-1.0", series=series, header_detail=detail)]
    if detail != "none":
        config = settings.of["detector", "config"]
        sent = {name: key.value for name, key in config.items() if not name.startswith(NEVER)}
        parts.append(_text(**sent, frame_period=config["frame_time"].value))
    if detail == "all":
        parts += _table("dflatfield", settings.tables["flatfield"])
        parts += _table("dpixelmask", settings.tables["pixel_mask"])
        counts = np.arange(CUTOFFS, dtype=np.float32)
        parts += _table("dcountrate_table", np.stack([counts, counts], axis=1))
    if appendix := settings.get("stream", "config", "header_appendix"):
        parts.append(appendix.encode())
    return parts


def image(
    settings: Settings, series: int, number: int, picture: Picture, times: tuple[int, int, int]
) -> list[bytes]:
    """Return one frame, of several thresholds the first; `times`: start, stop and real time in ns."""
    blob, bits = picture.blobs[0], np.dtype(picture.dtype).itemsize * 8
    encoding = {"bslz4": f"bs{bits}-lz4{'<' if bits > 8 else ''}", "none": "<"}[picture.compression]
    begun, ended, real = times
    rows, cols = picture.shape
    parts = [
        _text(htype="dimage-1.0", series=series, frame=number, hash=picture.hash),
        _text(
            htype="dimage_d-1.0", shape=[cols, rows], type=picture.dtype, encoding=encoding, size=len(blob)
        ),
        blob,
        _text(htype="dconfig-1.0", start_time=begun, stop_time=ended, real_time=real),
    ]
    if appendix := settings.get("stream", "config", "image_appendix"):
        parts.append(appendix.encode())
    return parts


def end(series: int) -> list[bytes]:
    """Return the end message."""
    return [_text(htype="dseries_end-1.0", series=series)]
