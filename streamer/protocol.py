"""What the remote interface says: requests, answers and status, as typed structs in JSON.

A request is one DEALER message of one part, {"op": …, "id": n, …}; the answer carries the same
`id` and either `ok` or `refused`. After `subscribe`, which holds for `LEASE` seconds and is
renewed by asking again, snapshots arrive with id 0.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from penstock.stins.messages import IndexSource
from penstock.streamer.settings import Limits, Parameter, Settings, TriggerMode, Value

LEASE = 5.0
"""Seconds for which a subscription holds."""
MAX_REQUEST_BYTES = 4 * 2**20
PUBLISH_EVERY = 0.5
"""Seconds between two snapshots when nothing changes."""


Ident = Annotated[int, msgspec.Meta(ge=0, lt=2**53)]
"""What every JSON library can carry."""


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """The camera as it is set now."""

    camera: str
    parameters: tuple[Parameter, ...]
    """The camera's own ones."""
    trigger_modes: tuple[TriggerMode, ...]
    limits: dict[str, Limits]
    """Of this unit, standard parameters too."""
    values: dict[str, Value]
    """The camera's own parameters."""
    readout_time: float
    index_source: IndexSource
    data_endpoint: str
    """Where frames come from: the streamer's own socket, or that of the detector's box."""
    streamer_pid: int
    own_stream: bool = False
    """The detector's own box sends frames, and the start message when it is armed; nobody sees who is
    connected to it."""


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A series that can be announced; shape as it will be sent."""

    series: str
    shape: tuple[int, ...]
    dtype: str
    compression: str
    frame_bytes: int
    frames: int
    index_source: IndexSource
    source: str = "stins"
    """Type of the receiver's source that takes the frames."""


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """A series that could be prepared now."""

    frames: int
    frame_bytes: int = 0
    """As `Prepared` would have it; 0 where only the camera's hardware can tell."""
    shape: tuple[int, ...] = ()
    """Of one frame as it would be sent; empty likewise."""
    dtype: str = ""
    """NumPy name of its pixels; "" likewise."""
    source: str = "stins"
    """As for `Prepared`."""


class StreamerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Snapshot of the streamer; the counts are of the running, else of the last series."""

    state: str
    """"idle", "prepared", "announced", "acquiring", "ending" or "fault"; with a stream of its own also
    "configuring": the detector's box takes settings, or is being reset; `message` says which."""
    message: str = ""
    series: str = ""
    planned: int = 0
    triggered: int = 0
    acquired: int | None = 0
    """Out of the hardware; `None` where a detector with a stream of its own has no such counter."""
    sent: int = 0
    """Handed to ZeroMQ."""
    lost: dict[str, int] = {}
    """Triggered but not sent, by cause."""
    armed: bool = False
    """The hardware takes triggers, or has taken one."""
    ready_for_trigger: bool = False
    peers: int | None = 0
    """Accepted connections on the data socket; `None` where it is the box's own, and nobody sees them."""
    peer_addresses: tuple[str, ...] = ()
    ring_used: int = 0
    ring_total: int = 0
    end_sent: bool = False
    readings: dict[str, Value] = {}
    """Parameters that can only be read, such as temperatures; one that could not be for 5 s is left out."""


class Request(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="op", tag=str.lower, forbid_unknown_fields=True
):
    """Anything that a client asks; `id` comes back with the answer."""

    id: Ident


class Describe(Request, frozen=True):
    """-> Description."""


class Set(Request, frozen=True, kw_only=True):
    """Set parameters of the camera's own -> Description."""

    values: dict[str, Value]


class Check(Request, frozen=True, kw_only=True):
    """Check everything that can be without the hardware, change nothing -> Checked."""

    settings: Settings


class Prepare(Request, frozen=True, kw_only=True):
    """Check everything, set the hardware up, send nothing -> Prepared."""

    settings: Settings


class Announce(Request, frozen=True):
    """Send the start message."""


class Start(Request, frozen=True):
    """Arm the hardware; answered when triggers are taken."""


class Trigger(Request, frozen=True):
    """One software trigger."""


class Stop(Request, frozen=True, kw_only=True):
    """Finish the frame, send what is queued, end."""

    cause: str = ""
    """Why, for the end message."""


class Abort(Request, frozen=True, kw_only=True):
    """Drop what is queued, end."""

    cause: str = ""
    """Why, for the end message."""


class Cancel(Request, frozen=True):
    """Forget a series that has not been started."""


class Reset(Request, frozen=True):
    """Leave fault."""


class Status(Request, frozen=True):
    """-> StreamerStatus."""


class Subscribe(Request, frozen=True):
    """Send snapshots for `LEASE` seconds -> StreamerStatus."""


class Unsubscribe(Request, frozen=True):
    """Send no more snapshots."""


class Shutdown(Request, frozen=True):
    """End the process, ending a running series as a fault."""


AnyRequest = (
    Describe | Set | Check | Prepare | Announce | Start | Trigger | Stop | Abort | Cancel | Reset | Status
    | Subscribe | Unsubscribe | Shutdown
)  # fmt: skip


class Refusal(msgspec.Struct, frozen=True):
    """Why not: a stable short name, and one sentence."""

    kind: str
    message: str


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The answer to one request."""

    id: int
    ok: msgspec.Raw = msgspec.Raw(b"null")
    refused: Refusal | None = None
