"""The control unit's configuration for a series, and the format of its frames."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np

from penstock.codecs import bslz4
from penstock.devices._dectris import modes
from penstock.devices._dectris.box import Box, equal
from penstock.devices._dectris.parameters import (
    CHANNELS,
    DETECTOR,
    FILEWRITER,
    FORMATS,
    LOCAL,
    SETTINGS,
    STORED,
    STREAM,
)
from penstock.devices._dectris.rest import Simplon
from penstock.streamer.camera.settings import Settings, Value
from penstock.streamer.camera.unit import CameraError, FrameFormat

APPENDIX = f"{STREAM}/header_appendix"
READOUT, COUNT_TIME = f"{DETECTOR}/detector_readout_time", f"{DETECTOR}/count_time"
FRAME_TIME, DISTANCE = f"{DETECTOR}/frame_time", f"{DETECTOR}/detector_distance"
FORMAT, PATTERN = f"{STREAM}/format", f"{FILEWRITER}/name_pattern"
FIXED = tuple(
    f"{DETECTOR}/{key}"
    for key in (
        "description", "detector_number", "software_version", "eiger_fw_version",
        "x_pixel_size", "y_pixel_size", "detector_readout_time",
    )
)  # fmt: skip
"""Keys that describe the detector."""
OF_SERIES = (
    *(f"{STREAM}/{key}" for key in ("mode", "format", "header_detail", "header_appendix")),
    *(f"{DETECTOR}/{key}" for key in ("beam_center_x", "beam_center_y", "detector_distance")),
    *(
        f"{DETECTOR}/{key}"
        for key in ("trigger_mode", "extg_mode", "ntriggers_skipped", "nimages", "ntrigger")
    ),
    *(f"{DETECTOR}/{key}" for key in ("count_time", "frame_time")),
    *(f"{DETECTOR}/{key}" for key in ("bit_depth_image", "x_pixels_in_detector", "y_pixels_in_detector")),
)
"""Keys that every series writes or reads."""
ALL = tuple(dict.fromkeys((*FIXED, *(path for s in SETTINGS for path in s.paths), *OF_SERIES)))
SHAPING = tuple(
    f"{DETECTOR}/{key}"
    for key in (
        "count_time",
        "frame_time",
        "compression",
        "roi_mode",
        *(path.partition("config/")[2] for path in CHANNELS),
    )
)
"""Keys that determine shape and type of frames; the bit depth depends on the times (ADEiger
`bit_depth_image`)."""
LZ4_GROWTH, LZ4_HEAD = 255, 32
"""Pixels that cannot be packed become longer by a byte in 255, and by the heads of block and filter (lz4.h,
`LZ4_COMPRESSBOUND`)."""
DTYPES: Mapping[int, str] = {8: "uint8", 16: "uint16", 32: "uint32"}


def local(settings: Settings) -> dict[str, Value]:
    """Return the values of `LOCAL` in a series."""
    return {p.name: settings.camera.get(p.name, p.default) for p in LOCAL}


def refuse_impossible(settings: Settings, box: Box, stream: str) -> None:
    """Refuse impossible settings of a series, without asking the box.

    Raises:
        CameraError: box, stream or receiver cannot take, send or store such frames.
    """
    modes.plan(settings, local(settings))
    compression = settings.camera.get("Compression", STORED[0])
    if compression not in STORED:
        raise CameraError(
            f"the receiver does not store {compression}; set Compression to {' or '.join(STORED)}"
        )
    on = [
        s.parameter.name
        for s in SETTINGS
        if s.paths[0] in CHANNELS and box.first_of(s.paths) and settings.camera.get(s.parameter.name)
    ]
    if stream == "v1" and len(on) > 1:
        raise CameraError(
            f"{', '.join(on)} are on, but stream v1 has one image per frame; switch all but one off, or set "
            "the property Stream to v2"
        )


def wanted(settings: Settings, box: Box, stream: str) -> dict[str, Value]:
    """Return keys and values of a series, in the order in which they are written: energies before thresholds.

    The wavelength is not among them: the box sets it from the energy, and the energy from it (ADEiger
    docs/ADEiger/eiger.rst "Crystallography Parameters"), so that writing both would change the thresholds.
    """
    values: dict[str, Value] = {
        f"{STREAM}/mode": "enabled",
        f"{STREAM}/format": FORMATS[stream],
        # With the pixel mask, flat field and count rate table ([v2] "SIMPLON Configuration Parameters").
        f"{STREAM}/header_detail": "all",
        # The user part of a series that was never armed is cleared, so that no other series gets its name.
        APPENDIX: "",
    }
    for setting in SETTINGS:
        if (path := box.first_of(setting.paths)) and setting.parameter.name in settings.camera:
            values[path] = setting.to_box(settings.camera[setting.parameter.name])
    if any(settings.beam_center):  # otherwise it was not set since the device started: the box keeps its own
        x, y = settings.beam_center
        values |= {f"{DETECTOR}/beam_center_x": float(x), f"{DETECTOR}/beam_center_y": float(y)}
    if settings.distance:
        values[DISTANCE] = float(settings.distance)
    values |= modes.plan(settings, local(settings))
    values |= {
        COUNT_TIME: settings.exposure_time,
        FRAME_TIME: settings.exposure_time + max(settings.latency_time, readout_time(box)),
    }
    return {path: value for path, value in values.items() if box.first_of([path])}


def format_of(box: Box) -> FrameFormat:
    """Return the format of frames with the box's present configuration.

    Raises:
        CameraError: unknown bit depth or shape.
    """
    keys = ("x_pixels_in_detector", "y_pixels_in_detector", "bit_depth_image")
    found = [box.number(f"{DETECTOR}/{key}") for key in keys]
    columns, rows, bits = (int(number) if number is not None else 0 for number in found)
    if bits not in DTYPES or columns < 1 or rows < 1:
        said = [box.value(f"{DETECTOR}/{key}") for key in keys]
        raise CameraError(
            f"the control unit reports {said[0]} x {said[1]} pixels of {said[2]} bits; supported are 8, 16 "
            "and 32 bits"
        )
    images = sum(box.value(path) == "enabled" for path in CHANNELS) or 1
    compression = str(box.value(f"{DETECTOR}/compression") or STORED[0])
    item = np.dtype(DTYPES[bits]).itemsize
    pixels = rows * columns * item
    most = {"bslz4": bslz4.bound(pixels, item), "lz4": pixels + pixels // LZ4_GROWTH + LZ4_HEAD}
    return FrameFormat(
        shape=(rows, columns) if images == 1 else (images, rows, columns),
        dtype=DTYPES[bits],
        compression=compression,
        frame_bytes=images * most.get(compression, pixels),
    )


def format_if_known(box: Box) -> FrameFormat | None:
    """Return the format of frames, or `None` if the box has not been read yet."""
    try:
        return format_of(box)
    except CameraError:
        return None


def readout_time(box: Box) -> float:
    """Return the least dead time between frames, in seconds; 0 if the box has not been read yet."""
    return box.number(READOUT) or 0.0


def as_prepared(settings: Settings, box: Box) -> Settings:
    """Return the settings of a prepared series with times and geometry as the box has them.

    The latency stays as it was set if it gives the box's frame time.
    """
    exposure = box.number(COUNT_TIME) or settings.exposure_time
    latency, period = settings.latency_time, box.number(FRAME_TIME)
    if period is not None and not equal(period, exposure + max(latency, readout_time(box))):
        latency = max(0.0, period - exposure)
    center = settings.beam_center
    if any(center):
        x, y = (box.number(f"{DETECTOR}/beam_center_{axis}") for axis in "xy")
        center = (center[0] if x is None else x, center[1] if y is None else y)
    distance = box.number(DISTANCE) if settings.distance else None
    return msgspec.structs.replace(
        settings, exposure_time=exposure, latency_time=latency, beam_center=center,
        distance=settings.distance if distance is None else distance,
    )  # fmt: skip


def describe(box: Box, simplon: Simplon) -> dict[str, object]:
    """Return the entries of NXdetector that the box's start message lacks: NeXus names, SI units."""
    names = {
        "description": "description", "detector_number": "serial_number",
        "x_pixel_size": "x_pixel_size", "y_pixel_size": "y_pixel_size",
        "detector_readout_time": "detector_readout_time",
        "software_version": "software_version", "eiger_fw_version": "firmware_version",
    }  # fmt: skip
    numbers = ("x_pixel_size", "y_pixel_size", "detector_readout_time")
    entries: dict[str, object] = {}
    for key, name in names.items():
        value = box.number(f"{DETECTOR}/{key}") if key in numbers else box.value(f"{DETECTOR}/{key}")
        if isinstance(value, str | float) and value != "":  # otherwise it is unknown
            entries[name] = value
    if box.value(f"{FILEWRITER}/mode") == "enabled":
        # $id is the box's number of the series, which is known only after arming.
        entries["filewriter"] = {"name_pattern": box.value(PATTERN), "folder": f"{simplon.address}/data/"}
    return entries
