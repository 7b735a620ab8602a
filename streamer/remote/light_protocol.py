"""The messages of the light streamer's remote interface, as typed structs in JSON.

Requests and answers have the envelope of `protocol`. The light streamer itself (`light_streamer`) imports
nothing of Penstock: the test vectors in tests/streamer/light_vectors.json keep the two files equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from penstock.streamer.remote.protocol import Describe, Request, Reset, Shutdown, Status

__all__ = [
    "Abort",
    "AnyRequest",
    "Begin",
    "Cancel",
    "Describe",
    "Finish",
    "LightDescription",
    "LightStatus",
    "Reset",
    "Shutdown",
    "Status",
]

VERSION = 2
"""First number of the version of light streamers that this client understands."""

Count = Annotated[int, msgspec.Meta(ge=0, lt=2**53)]


class LightDescription(msgspec.Struct, frozen=True, kw_only=True):
    """What runs on the control unit."""

    version: str
    """Version of the remote interface, such as "2.0"."""
    folder: str
    """Folder into which camserver has to write: an absolute path on the control unit."""
    data_endpoint: str
    """Endpoint as it was bound, such as "tcp://0.0.0.0:9999"."""
    pid: int
    host: str
    """Name of the control unit."""
    python: str
    zmq: str


class LightStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot; the counts are those of the running or last series. The answer to most requests."""

    state: str
    """"idle", "acquiring", "ending" or "fault" (like idle; `message` says why)."""
    message: str = ""
    series: str = ""
    planned: int = 0
    """Number of planned frames; 0 if they come until `finish`."""
    triggered: int = 0
    """Known once the series is finished."""
    acquired: int = 0
    """Frames whose files have appeared in the folder."""
    sent: int = 0
    """Frames passed to ZeroMQ."""
    lost: dict[str, int] = {}
    """Frames that will not be sent, by cause: "incomplete" (the file), "undelivered" (no receiver took it),
    "camera" (triggered, and no file came), "abort", "fault"."""
    beyond_plan: int = 0
    """Files with an index beyond the plan; they were removed unsent."""
    left_over: int = 0
    """Files of earlier series that were removed before this one."""
    image_header: str = ""
    """Header of the first image; "" before it."""
    end_sent: bool = False
    waiting: int = 0
    """Files of the series that have not been passed to ZeroMQ."""
    waiting_bytes: int = 0
    quiet: float = 0.0
    """Seconds since a file appeared or was sent."""
    held: int = 0
    """Files that ZeroMQ has not sent yet, and that are still there."""
    held_bytes: int = 0
    largest_bytes: int = 0
    """Largest frame that was sent since the light streamer was started."""
    peers: int = 0
    """Connected receivers."""
    peer_addresses: tuple[str, ...] = ()
    free_bytes: int = 0
    """Free bytes of the folder's file system."""
    total_bytes: int = 0


class Begin(Request, frozen=True, kw_only=True):
    """Remove files of earlier series, and send the start message -> LightStatus.

    Refused if no receiver is connected, one takes no message, or a series is running.
    """

    series: str
    prefix: str
    """Beginning of the files' names, <prefix>_00000.cbf …: "penstock" and letters, digits or "-", another
    one than that of the last series."""
    header: Mapping[str, Any]
    """Header of the STINS start message, with `filename`, without `htype`, `series` and `msg_number`."""
    metadata: Mapping[str, Any] = {}
    """Second part of the start message."""
    image: Mapping[str, Any]
    """What is the same for the header of each frame: `shape`, `type`, and more, such as `exposure_time`."""
    planned: Count = 0
    first: Count = 0
    """Number in the name of the first file."""
    frames_per_trigger: Annotated[int, msgspec.Meta(ge=1, lt=2**53)] = 1
    receiver_away: Count = 0
    """Seconds for which frames wait for a receiver that is away, once the series is ending; 5 at least."""


class Finish(Request, frozen=True, kw_only=True):
    """No further frame is triggered: send what is in the folder, then the end message -> LightStatus.

    Without effect if the series is ending or has ended.
    """

    series: str
    reason: str = "complete"
    """Reason as in the end message: "complete", "stop" or "fault"."""
    message: str = ""
    triggered: Count | None = None
    """Frames that were triggered: as many are waited for, 2 s each, and counted as lost otherwise."""


class Abort(Request, frozen=True, kw_only=True):
    """Drop what waits, and send the end message -> LightStatus. Without effect if the series has ended."""

    series: str
    message: str = ""


class Cancel(Request, frozen=True, kw_only=True):
    """End a series of which no file has appeared -> LightStatus."""

    series: str
    message: str = ""


AnyRequest = Describe | Status | Begin | Finish | Abort | Cancel | Reset | Shutdown
