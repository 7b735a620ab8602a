"""The three STINS messages as frozen structs.

Every field that STINS needs has no default; every other field may be absent, and absent means
unknown, never 0 or false. Keys that are not named here are ignored on receipt, so that any
peer's additions pass. The fields under "Penstock adds" are ignored by other peers likewise.
Source: STINS as spoken by the MAX IV streamers and modelled in `dranspose.data.stream1`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, TypeAlias

import msgspec

Buffer: TypeAlias = "bytes | bytearray | memoryview"

# Bounds of what JSON would let through: numbers that no file can hold, names that no log can show.
Number: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Amount: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
MAX_NAME, MAX_FILENAME = 256, 4096
"""Characters."""
Name: TypeAlias = Annotated[str, msgspec.Meta(max_length=MAX_NAME)]
FileName: TypeAlias = Annotated[str, msgspec.Meta(max_length=MAX_FILENAME)]


class EndReason(StrEnum):
    """Why the sender ended a series."""

    COMPLETE = "complete"
    STOP = "stop"
    ABORT = "abort"
    FAULT = "fault"


class IndexSource(StrEnum):
    """How the sender knows to which trigger a frame belongs."""

    HARDWARE_COUNTER = "hardware counter"
    HARDWARE_TIMESTAMP = "hardware timestamp"
    ARRIVAL = "arrival"


class Header(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="htype", tag="header"):
    """Start of a series.

    `filename` is an absolute path; "" means live view only. `None` never travels as STINS (the
    key is needed); it stands for a foreign start message that has no place for a name.
    """

    filename: FileName | None
    msg_number: Number | None = None
    # Penstock adds:
    series: Name | None = None
    frames: Amount | None = None
    """Frames planned."""
    shape: tuple[int, ...] | None = None
    type: Name | None = None
    compression: Name | None = None
    frame_bytes: Amount | None = None
    """An upper estimate of the bytes of one frame as sent."""
    streams: Amount | None = None
    channels: tuple[Name, ...] | None = None
    """Names of the k blobs of a frame where each is an image of its own, as a threshold; `None`: they are the
    modules of one image, or nobody said."""
    checksum: Name | None = None
    """Name of the algorithm whose values stand in `Image.checksums`."""
    index_source: Name | None = None
    trigger_mode: Name | None = None
    frame_time: float | None = None
    """Seconds from one frame to the next (INTERNAL) or least such time."""
    overwrite: bool = False
    """Whether an existing file may be replaced."""


class Image(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="htype", tag="image"):
    """Header of one frame; its blobs follow as parts of the same message."""

    shape: tuple[int, ...]
    """[rows, cols], or [k, rows, cols] with k blobs."""
    type: str
    compression: str
    msg_number: Number | None = None
    frame: Number | None = None
    """Number within the series, from 0."""
    chunks: tuple[int, ...] | None = None
    discard: bool = False
    exposure_time: float | None = None
    """Seconds."""
    # Penstock adds:
    series: Name | None = None
    trigger: Number | None = None
    """Trigger index, from 0."""
    timestamp: float | None = None
    """Host clock at the end of the exposure, seconds since 1970 (UTC)."""
    timestamp_hw: float | None = None
    """Hardware clock, seconds, arbitrary origin."""
    checksums: tuple[str, ...] | None = None
    partial: str | None = None
    """Why part of its pixels are not there, in a sentence; the others are as they should be."""


class SeriesEnd(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="htype", tag="series_end"
):
    """End of a series."""

    msg_number: Number | None = None
    # Penstock adds:
    series: Name | None = None
    reason: Name | None = None
    message: str | None = None
    """One sentence for the user when `reason` is not "complete". It may have any length, so that no series
    loses its end for it: who shows it cuts it."""
    triggered: Amount | None = None
    """Frames that the hardware was triggered for."""
    sent: Amount | None = None
    """Frames handed to ZeroMQ; not a promise that they arrived."""
    lost: dict[str, int] | None = None
    """Frames triggered but not sent, by cause."""


class Start(msgspec.Struct, frozen=True):
    """A decoded start message: the header and the free metadata of its second part."""

    header: Header
    metadata: Mapping[str, Any]
    part: Buffer | None = None
    """The metadata as they came, for consumers; `None` where none came, or not as JSON."""


class Frame(msgspec.Struct, frozen=True):
    """A decoded frame: its header and its blobs, untouched."""

    image: Image
    blobs: Sequence[Buffer]


Message: TypeAlias = Start | Frame | SeriesEnd
