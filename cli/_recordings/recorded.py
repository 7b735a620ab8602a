"""A recording of a DECTRIS stream as the simulated control unit needs it."""

from __future__ import annotations

from pathlib import Path

from penstock.cli._recordings import recording
from penstock.cli._recordings.recording import Protocol, RecordingError
from penstock.receiver.sources.dectris_v1 import NAMES, DectrisV1Source
from penstock.receiver.sources.dectris_v2 import DectrisV2Source
from penstock.stins.errors import StinsError
from penstock.stins.messages import Frame, Image, Start
from penstock.streamer.simulated.simplon.recorded import Recorded

OF_THE_CLIENT = ("nimages", "ntrigger", "trigger_mode", "data_collection_date", "software_version")
"""Keys that the series sets, or the simulator itself."""


def recorded(path: Path) -> Recorded:
    """Return the settings, tables and frames of a recording, stream V1 or V2; all of it is held in memory.

    Raises:
        RecordingError: it is not a recording of such a stream, or its frames differ in shape or type.
    """
    source: DectrisV1Source | DectrisV2Source | None = None
    start: Start | None = None
    frames: list[Frame] = []
    for parts in recording.read(path):
        if source is None:
            match recording.protocol(parts):
                case Protocol.DECTRIS_V1:
                    source = DectrisV1Source()
                case Protocol.DECTRIS_V2:
                    source = DectrisV2Source()
                case _:
                    raise RecordingError(f"{path} is not a recording of a DECTRIS stream, V1 or V2")
        try:
            message = source.decode(parts)
        except StinsError as error:
            raise RecordingError(f"{path}: {error}") from error
        if isinstance(message, Start):
            start = start or message
        elif isinstance(message, Frame):
            frames.append(message)
    if start is None or not frames:
        raise RecordingError(f"{path} has no start message, or no frame")
    first = frames[0].image
    if len(first.shape) != 2 or any(_kind(frame.image) != _kind(first) for frame in frames):
        raise RecordingError(f"{path} has frames of several images, or of different shapes or types")
    metadata = start.metadata
    config = dict(metadata.get("vendor", {}))
    config |= {key: metadata[name] for key, name in NAMES.items() if name in metadata}
    rows, cols = first.shape
    return Recorded(
        shape=(rows, cols),
        dtype=first.type,
        compression=first.compression,
        frames=[bytes(frame.blobs[0]) for frame in frames],
        config={key: value for key, value in config.items() if key not in OF_THE_CLIENT},
        tables={name: metadata[name] for name in ("flatfield", "pixel_mask") if name in metadata},
    )


def _kind(image: Image) -> tuple[tuple[int, ...], str, str]:
    return image.shape, image.type, image.compression
