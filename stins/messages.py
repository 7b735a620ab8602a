"""The three STINS messages as frozen structs.

Fields that STINS requires have no default; every other field may be absent, and absent means unknown, never 0
or false. Other keys are ignored on receipt, so that a peer's additions do no harm. Other peers likewise
ignore the fields under "Penstock adds". Source: STINS as spoken by the MAX IV streamers and modelled in
`dranspose.data.stream1`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, TypeAlias

import msgspec

Buffer: TypeAlias = bytes | bytearray | memoryview

# Bounds for values that JSON allows: numbers that no file can hold, names that no log can show.
Number: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
MessageNumber: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]
"""Differences of these are counts, which have to be exact in JSON."""
Amount: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
MAX_NAME, MAX_FILENAME = 256, 4096
"""Most characters of a name and of a file name."""
HEADER_CHARACTERS = 16384
"""Most characters of the header of an image."""
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


class SharedMemory(msgspec.Struct, frozen=True):
    """Memory in which a receiver puts the frames of a series for a consumer on its machine."""

    path: str
    nonce: str
    """Nonce in hexadecimal; another one in the file means that another receiver has made it since."""
    slots: Amount
    slot_bytes: Amount


class Forwarded(msgspec.Struct, frozen=True):
    """What became of the frames of a series on their way to one consumer."""

    sent: Amount
    """Passed to ZeroMQ."""
    dropped: Amount
    """Lost since the consumer was too slow, or not connected."""
    skipped: Amount
    """Left out as configured (`every`)."""


class Header(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="htype", tag="header"):
    """The header of a start message.

    `filename` is an absolute path; "" means live view only. `None` is never sent as STINS (the key is
    required);
    it stands for a vendor's start message that has no field for a name.
    """

    filename: FileName | None
    msg_number: MessageNumber | None = None
    # Penstock adds:
    series: Name | None = None
    frames: Amount | None = None
    """Number of planned frames."""
    shape: tuple[int, ...] | None = None
    type: Name | None = None
    compression: Name | None = None
    frame_bytes: Amount | None = None
    """Upper estimate for the bytes of one frame as sent."""
    streams: Amount | None = None
    channels: tuple[Name, ...] | None = None
    """Names of the k blobs of a frame if each is a channel, such as a threshold; `None`: they are the modules
    of one image, or this is unknown."""
    checksum: Name | None = None
    """Name of the algorithm of `Image.checksums`."""
    index_source: Name | None = None
    trigger_mode: Name | None = None
    frame_time: float | None = None
    """Seconds from one frame to the next (INTERNAL), or the shortest such time."""
    overwrite: bool = False
    """True if an existing file may be replaced."""
    shared: SharedMemory | None = None
    """Only from a receiver to a consumer whose entry says `shared`: frames come by reference."""


class Image(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="htype", tag="image"):
    """Header of one frame; its blobs follow as parts of the same message."""

    shape: tuple[int, ...]
    """Shape: [rows, cols], or [k, rows, cols] with k blobs."""
    type: str
    compression: str
    msg_number: MessageNumber | None = None
    frame: Number | None = None
    """Number within the series, from 0."""
    chunks: tuple[int, ...] | None = None
    discard: bool = False
    exposure_time: float | None = None
    """Exposure time in seconds."""
    # Penstock adds:
    series: Name | None = None
    trigger: Number | None = None
    """Trigger index, from 0."""
    timestamp: float | None = None
    """Host clock at the end of the exposure, seconds since 1970 (UTC)."""
    timestamp_hw: float | None = None
    """Hardware clock, in seconds with an arbitrary origin."""
    checksums: tuple[str, ...] | None = None
    partial: str | None = None
    """Why a part of its pixels is missing, in a sentence; the others are valid."""

    @property
    def said(self) -> str:
        """What a sentence calls the frame: by its number, or else by that of its message."""
        if self.frame is not None:
            return f"frame {self.frame}"
        which = "without a number" if self.msg_number is None else f"of msg_number {self.msg_number}"
        return f"the frame {which}"


class RefusedImage(Image, frozen=True, kw_only=True, omit_defaults=True, tag_field="htype", tag="image"):
    """Header of a frame that has arrived and cannot be used, although its number is known: it is corrupt."""

    shape: tuple[int, ...] = ()
    type: str = ""
    compression: str = ""
    kind: str
    why: str
    """Kind and sentence of the error."""


class SeriesEnd(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="htype", tag="series_end"
):
    """End of a series."""

    msg_number: MessageNumber | None = None
    # Penstock adds:
    series: Name | None = None
    reason: Name | None = None
    message: str | None = None
    """One sentence for the user if `reason` is not "complete". It may have any length, so that no series
    loses its end because of it; displays truncate it."""
    triggered: Amount | None = None
    """Number of frames for which the hardware was triggered."""
    sent: Amount | None = None
    """Frames passed to ZeroMQ, which may not have arrived."""
    lost: dict[str, int] | None = None
    """Frames triggered but not sent, by cause."""
    image_header: str | None = None
    """Header of the first image of a PILATUS, as camserver has written it; what is behind `HEADER_CHARACTERS`
    is cut."""
    forwarded: Forwarded | None = None
    """Only from a receiver to a consumer."""
    absent: tuple[tuple[Amount, Amount, Name], ...] | None = None
    """Only from a receiver: all frames that it does not have, as [first, last, fate]; the fate
    is missing, corrupt or not_triggered."""


class Start(msgspec.Struct, frozen=True):
    """A decoded start message: the header and the free metadata of its second part."""

    header: Header
    metadata: Mapping[str, Any]
    part: Buffer | None = None
    """The metadata as received, for consumers; `None` if there were none, or not as JSON."""


class Frame(msgspec.Struct, frozen=True):
    """A decoded frame: its header and its unchanged blobs."""

    image: Image
    blobs: Sequence[Buffer]


Message: TypeAlias = Start | Frame | SeriesEnd


BATCH = 8192
"""libzmq reads messages that are smaller than this into memory of so many bytes, and shares it among them
(`in_batch_size` in src/options.cpp of libzmq 4.3.5)."""


def kept(part: Buffer) -> Buffer:
    """Return a part that may be kept with many others: a small one as a copy.

    A small part as it was received keeps the memory of the whole batch, which is more than twice as long as
    the messages in it (`shared_message_memory_allocator`, src/decoder_allocators.cpp).
    """
    return bytes(part) if len(part) < BATCH else part
