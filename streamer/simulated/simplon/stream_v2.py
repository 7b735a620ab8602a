"""Messages of stream V2: CBOR maps with typed arrays (RFC 8746), with the same keys as a real EIGER 1M.

DECTRIS documentation, "Stream V2"; compressed pixels have the DECTRIS tag 56500; image_dtype since release
2024.1, the total number of images and no number of triggers as on that page.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import cbor2
import numpy as np

from penstock.streamer.simulated.simplon.detector_config import AXES
from penstock.streamer.simulated.simplon.pixels import Picture
from penstock.streamer.simulated.simplon.settings import Settings

SELF, SHAPED, COMPRESSED = 55799, 40, 56500
TYPED = {"uint8": 64, "uint16": 69, "uint32": 70, "float32": 85}
NANOSECONDS = 10**9


def _shaped(shape: tuple[int, ...], dtype: str, pixels: Any) -> cbor2.CBORTag:
    return cbor2.CBORTag(SHAPED, [list(shape), cbor2.CBORTag(TYPED[dtype], pixels)])


def _array(array: np.ndarray) -> cbor2.CBORTag:
    return _shaped(array.shape, array.dtype.name, array.tobytes())


def _message(**keys: Any) -> list[bytes]:
    return [cbor2.dumps(cbor2.CBORTag(SELF, keys))]


def start(settings: Settings, series: int, unique: str, date: datetime) -> list[bytes]:
    """Return the start message; tables only with header detail "all"."""
    channels, get = settings.channels, settings.__getitem__
    energies = {name: settings.energy(name) for name in channels if name != "difference"}
    keys: dict[str, Any] = {
        "type": "start", "series_id": series, "series_unique_id": unique, "arm_date": date,
        "beam_center_x": get("beam_center_x"), "beam_center_y": get("beam_center_y"),
        "channels": list(channels), "count_time": get("count_time"),
        "countrate_correction_enabled": get("countrate_correction_applied"),
        "detector_description": get("description"), "detector_serial_number": get("detector_number"),
        "detector_translation": get("detector_translation"),
        "flatfield_enabled": get("flatfield_correction_applied"), "frame_time": get("frame_time"),
        "image_size_x": settings.cols, "image_size_y": settings.rows,
        "incident_energy": get("photon_energy"), "incident_wavelength": get("wavelength"),
        "goniometer": {
            axis: {key: get(f"{axis}_{key}") for key in ("start", "increment")} for axis in AXES
        },
        "image_dtype": settings.dtype, "number_of_images": settings.frames,
        "pixel_mask_enabled": get("pixel_mask_applied"),
        "pixel_size_x": get("x_pixel_size"), "pixel_size_y": get("y_pixel_size"),
        "saturation_value": get("countrate_correction_count_cutoff"),
        "sensor_material": get("sensor_material"), "sensor_thickness": get("sensor_thickness"),
        "threshold_energy": energies,
        "virtual_pixel_interpolation_enabled": get("virtual_pixel_correction_applied"),
        "user_data": settings.get("stream", "config", "header_appendix"),
    }  # fmt: skip
    if settings.get("stream", "config", "header_detail") == "all":
        for name in ("flatfield", "pixel_mask"):
            keys[name] = {
                channel: _array(settings.tables.get(f"threshold/{channel[-1]}/{name}", settings.tables[name]))
                for channel in channels
            }
        table = np.arange(4000, dtype=np.uint32)
        keys["countrate_correction_lookup_table"] = cbor2.CBORTag(TYPED["uint32"], table.tobytes())
    return _message(**keys)


def image(
    settings: Settings, series: int, unique: str, date: datetime, number: int, picture: Picture,
    times: tuple[int, int, int],
) -> list[bytes]:  # fmt: skip
    """Return one frame with all its channels; `times`: start, stop and real time in ns."""
    begun, ended, real = ([moment, NANOSECONDS] for moment in times)
    # The size of an element means nothing to lz4: DECTRIS' page on the tag has 0.
    item = np.dtype(picture.dtype).itemsize if picture.compression == "bslz4" else 0
    packed = [
        blob if picture.compression == "none"
        else cbor2.CBORTag(COMPRESSED, [picture.compression, item, blob]) for blob in picture.blobs
    ]  # fmt: skip
    data = {
        name: _shaped(picture.shape, picture.dtype, blob)
        for name, blob in zip(settings.channels, packed, strict=False)
    }
    keys: dict[str, Any] = {
        "type": "image", "series_id": series, "series_unique_id": unique, "image_id": number,
        "real_time": real, "series_date": date, "start_time": begun, "stop_time": ended, "data": data,
    }  # fmt: skip
    if appendix := settings.get("stream", "config", "image_appendix"):
        keys["user_data"] = appendix
    return _message(**keys)


def end(series: int, unique: str) -> list[bytes]:
    """Return the end message."""
    return _message(type="end", series_id=series, series_unique_id=unique)
