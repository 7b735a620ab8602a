"""The start message of a series: its header and its free metadata."""

from __future__ import annotations

from penstock.stins.messages import Header
from penstock.stins.metadata import read
from penstock.streamer.acquisition import Series
from penstock.streamer.camera import Camera


def header_of(series: Series, camera: Camera) -> Header:
    """The header: what the receiver needs to prepare a file."""
    settings, frames = series.settings, series.format
    period = settings.exposure_time + max(settings.latency_time, camera.readout_time())
    return Header(
        filename=settings.filename,
        series=series.id,
        frames=series.planned,
        shape=series.orientation.shape,
        type=frames.dtype,
        compression=frames.compression,
        frame_bytes=frames.frame_bytes,
        streams=1,
        index_source=camera.index_source.value,
        trigger_mode=settings.trigger_mode.value,
        frame_time=period,
        overwrite=settings.overwrite,
    )


def metadata_of(series: Series, camera: Camera) -> dict[str, object]:
    """The metadata: what the file keeps; times in s, lengths in m, beam centre in pixels."""
    settings = series.settings
    metadata: dict[str, object] = dict(camera.describe())
    metadata |= {
        "save_raw": settings.save_raw,
        "exptime": settings.exposure_time,
        "count_time": settings.exposure_time,
        "beam_center_x": settings.beam_center[0],
        "beam_center_y": settings.beam_center[1],
        "distance": settings.distance,
    }
    if user := read(settings.metadata):
        metadata["user"] = user
    return metadata
