"""The start message of a series: its header and its free metadata."""

from __future__ import annotations

from penstock.stins.messages import Header
from penstock.stins.metadata import read
from penstock.streamer.camera.contract import Camera
from penstock.streamer.camera.series import Series
from penstock.streamer.camera.settings import Settings, TriggerMode
from penstock.streamer.camera.unit import Unit

ACQUISITION_MODE = {
    TriggerMode.SOFTWARE: "triggered",
    TriggerMode.EXTERNAL: "triggered",
    TriggerMode.EXTERNAL_MULTI: "triggered",
    TriggerMode.EXTERNAL_MULTI_GATE: "gated",
}
"""NXdetector's acquisition_mode by trigger mode; it has no value for a detector's own clock."""


def header_of(series: Series, camera: Camera) -> Header:
    """Return the header, which the receiver needs to prepare a file."""
    settings, frames = series.settings, series.format
    return Header(
        filename=settings.filename,
        series=series.id,
        frames=series.plan,
        shape=series.orientation.shape,
        type=frames.dtype,
        compression=frames.compression,
        frame_bytes=frames.frame_bytes,
        streams=1,
        index_source=camera.index_source.value,
        trigger_mode=settings.trigger_mode.value,
        frame_time=period_of(settings, camera),
        overwrite=settings.overwrite,
    )


def metadata_of(settings: Settings, unit: Unit) -> dict[str, object]:
    """Return the metadata for the file; in s and m, the beam centre in pixels of the image as sent."""
    metadata: dict[str, object] = dict(unit.describe())
    if settings.rotation % 180 and {"x_pixel_size", "y_pixel_size"} <= metadata.keys():
        # The unit describes its sensor; frames are sent rotated.
        metadata |= {"x_pixel_size": metadata["y_pixel_size"], "y_pixel_size": metadata["x_pixel_size"]}
    metadata |= {
        "save_raw": settings.save_raw,
        "exptime": settings.exposure_time,
        "count_time": settings.exposure_time,
        "beam_center_x": settings.beam_center[0],
        "beam_center_y": settings.beam_center[1],
        "distance": settings.distance,
        "frame_time": period_of(settings, unit),
        "acquisition": {
            "trigger_mode": settings.trigger_mode.value,
            "triggers": settings.n_triggers,
            "frames_per_trigger": settings.n_frames_per_trigger,
            "latency_time": settings.latency_time,
            "rotation": settings.rotation,
            "fliplr": settings.fliplr,
            "flipud": settings.flipud,
        },
    }
    if settings.trigger_mode in ACQUISITION_MODE:
        metadata["acquisition_mode"] = ACQUISITION_MODE[settings.trigger_mode]
    if user := read(settings.metadata):
        metadata["user"] = user
    return metadata


def period_of(settings: Settings, unit: Unit) -> float:
    """Return the time from one frame to the next in seconds, or the shortest such time."""
    return settings.exposure_time + max(settings.latency_time, unit.readout_time())
