"""The three STINS messages as frozen structs.

Every field that STINS needs has no default; every other field may be absent, and absent means
unknown, never 0 or false. Keys that are not named here are ignored on receipt, so that any
peer's additions pass. The fields under "Penstock adds" are ignored by other peers likewise.
Source: STINS as spoken by the MAX IV streamers and modelled in `dranspose.data.stream1`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeAlias

import msgspec

Buffer: TypeAlias = "bytes | bytearray | memoryview"


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

    filename: str | None
    msg_number: int | None = None
    # Penstock adds:
    series: str | None = None
    frames: int | None = None
    """Frames planned."""
    shape: tuple[int, ...] | None = None
    type: str | None = None
    compression: str | None = None
    frame_bytes: int | None = None
    """An upper estimate of the bytes of one frame as sent."""
    streams: int | None = None
    checksum: str | None = None
    """Name of the algorithm whose values stand in `Image.checksums`."""
    index_source: str | None = None
    trigger_mode: str | None = None
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
    msg_number: int | None = None
    frame: int | None = None
    """Number within the series, from 0."""
    chunks: tuple[int, ...] | None = None
    discard: bool = False
    exposure_time: float | None = None
    """Seconds."""
    # Penstock adds:
    series: str | None = None
    trigger: int | None = None
    """Trigger index, from 0."""
    timestamp: float | None = None
    """Host clock at the end of the exposure, seconds since 1970 (UTC)."""
    timestamp_hw: float | None = None
    """Hardware clock, seconds, arbitrary origin."""
    checksums: tuple[str, ...] | None = None


class SeriesEnd(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="htype", tag="series_end"
):
    """End of a series."""

    msg_number: int | None = None
    # Penstock adds:
    series: str | None = None
    reason: str | None = None
    message: str | None = None
    """One sentence for the user when `reason` is not "complete"."""
    triggered: int | None = None
    """Frames that the hardware was triggered for."""
    sent: int | None = None
    """Frames handed to ZeroMQ; not a promise that they arrived."""
    lost: dict[str, int] | None = None
    """Frames triggered but not sent, by cause."""


class Start(msgspec.Struct, frozen=True):
    """A decoded start message: the header and the free metadata of its second part."""

    header: Header
    metadata: Mapping[str, Any]


class Frame(msgspec.Struct, frozen=True):
    """A decoded frame: its header and its blobs, untouched."""

    image: Image
    blobs: Sequence[Buffer]


Message: TypeAlias = Start | Frame | SeriesEnd
