"""The messages of the remote interface: requests, answers and status, as typed structs in JSON.

A request is one DEALER message of one part, {"op": …, "id": n, …}; the answer carries the same
`id` and either `ok` or `refused`. After `subscribe`, which holds for `LEASE` seconds and is
renewed by subscribing again, snapshots arrive with id 0.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from penstock.stins.messages import IndexSource
from penstock.stins.user_part import UserPart
from penstock.streamer.settings import Limits, Parameter, Settings, TriggerMode, Value

LEASE = 5.0
"""Seconds for which a subscription holds."""
MAX_REQUEST_BYTES = 4 * 2**20
PUBLISH_EVERY = 0.5
"""Seconds between two snapshots if nothing changes."""
TOLD_TO_END = "the streamer was told to end"
"""Why a series has failed whose streamer, or the device server above it, was ended."""


Ident = Annotated[int, msgspec.Meta(ge=0, lt=2**53)]
"""An id of a request: an integer that every JSON library can represent."""


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """The description of a camera with its present settings."""

    camera: str
    parameters: tuple[Parameter, ...]
    """The camera's own parameters."""
    trigger_modes: tuple[TriggerMode, ...]
    limits: dict[str, Limits]
    """Limits of this unit, by parameter; standard parameters included."""
    values: dict[str, Value]
    """Values of the camera's own parameters."""
    readout_time: float
    index_source: IndexSource
    data_endpoint: str
    """Endpoint that sends the frames: the streamer's own socket, or that of the detector's box."""
    streamer_pid: int
    shown: tuple[Parameter, ...] = ()
    """Parameters of this unit alone, with their present values as defaults; see `Unit.shown`."""
    own_stream: bool = False
    """True if the detector's own box sends the frames, and the start message when it is armed; its peers are
    unknown."""


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A series that can be announced; with the shape as it will be sent."""

    series: str
    shape: tuple[int, ...]
    dtype: str
    compression: str
    frame_bytes: int
    frames: int
    """Number of planned frames; 0 if frames come until Stop."""
    index_source: IndexSource
    source: str = "stins"
    """Type of the receiver's source that takes the frames."""
    values: dict[str, Value] = {}
    """Standard settings as a detector that streams by itself has them, by parameter: it may round them."""
    expected: UserPart | None = None
    """File and plan for the receiver, which is told of the series before it is armed; `None` where a start
    message announces it."""


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """A series that could be prepared now."""

    frames: int
    """Number of planned frames; 0 if frames come until Stop."""
    frame_bytes: int = 0
    """Upper limit for the bytes of a frame, as in `Prepared`; 0 if only the camera's hardware can tell."""
    shape: tuple[int, ...] = ()
    """Shape of one frame as it would be sent; empty if unknown."""
    dtype: str = ""
    """NumPy name of the pixel type; "" if unknown."""
    source: str = "stins"
    """Type of the receiver's source, as in `Prepared`."""


class StreamerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot of the streamer; the counts are those of the running or last series."""

    state: str
    """"idle", "prepared", "announced", "acquiring", "ending" or "fault"; for a detector that streams by
    itself also "configuring": its box takes settings or is being reset, as `message` says."""
    message: str = ""
    warning: str = ""
    """What prevents the next series or trigger although nothing is in fault, in words; "" if nothing does."""
    series: str = ""
    planned: int = 0
    triggered: int = 0
    acquired: int | None = 0
    """Frames that the hardware has delivered; `None` if a detector that streams by itself does not count
    them."""
    sent: int = 0
    """Frames passed to ZeroMQ."""
    lost: dict[str, int] = {}
    """Frames that were triggered but not sent, by cause."""
    armed: bool = False
    """True if the hardware takes triggers, or has taken one."""
    ready_for_trigger: bool = False
    peers: int | None = 0
    """Accepted connections of the data socket; `None` if it is the box's own socket, whose peers are
    unknown."""
    peer_addresses: tuple[str, ...] = ()
    ring_used: int = 0
    ring_total: int = 0
    end_sent: bool = False
    ended_early: bool | None = False
    """True if the box of a detector that streams by itself has ended the series before its last frame without
    being told to; `None` if only the frames that have arrived can tell."""
    ended_by: str = ""
    """Who has done that, in words, if the box can tell; "" if not."""
    readings: dict[str, Value] = {}
    """Values of read-only parameters, such as temperatures, without those that could not be read for 5 s."""


class Request(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="op", tag=str.lower, forbid_unknown_fields=True
):
    """A request of a client; the answer has the same `id`."""

    id: Ident


class Describe(Request, frozen=True):
    """Get the description -> Description."""


class Set(Request, frozen=True, kw_only=True):
    """Set parameters of the camera's own -> Description."""

    values: dict[str, Value]


class Check(Request, frozen=True, kw_only=True):
    """Check everything that can be checked without the hardware; change nothing -> Checked."""

    settings: Settings


class Prepare(Request, frozen=True, kw_only=True):
    """Check everything, set the hardware up, send nothing -> Prepared."""

    settings: Settings


class Announce(Request, frozen=True):
    """Send the start message."""


class Start(Request, frozen=True):
    """Arm the hardware; answered when triggers are taken."""


class Trigger(Request, frozen=True):
    """Give a software trigger."""


class Stop(Request, frozen=True, kw_only=True):
    """End the series after the running frame and the queued ones."""

    cause: str = ""
    """Reason for the end message."""


class Abort(Request, frozen=True, kw_only=True):
    """End the series, dropping queued frames."""

    cause: str = ""
    """Reason for the end message."""


class Cancel(Request, frozen=True):
    """Discard a series that has not been started."""


class Reset(Request, frozen=True):
    """Leave the state fault."""


class Status(Request, frozen=True):
    """Get a snapshot -> StreamerStatus."""


class ListFeatures(Request, frozen=True):
    """Get the features of the camera -> list of Feature."""


class GetFeature(Request, frozen=True, kw_only=True):
    """Get one feature -> Feature."""

    name: str


class SetFeature(Request, frozen=True, kw_only=True):
    """Set one feature, or execute a command -> Feature."""

    name: str
    value: Value


class Subscribe(Request, frozen=True):
    """Send snapshots for `LEASE` seconds -> StreamerStatus."""


class Unsubscribe(Request, frozen=True):
    """End the snapshots."""


class Shutdown(Request, frozen=True):
    """End the process, ending a running series as a fault."""


AnyRequest = (
    Describe | Set | Check | Prepare | Announce | Start | Trigger | Stop | Abort | Cancel | Reset | Status
    | ListFeatures | GetFeature | SetFeature | Subscribe | Unsubscribe | Shutdown
)  # fmt: skip


class Refusal(msgspec.Struct, frozen=True):
    """Why a request was refused: a stable short name, and one sentence."""

    kind: str
    message: str


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The answer to one request."""

    id: int
    ok: msgspec.Raw = msgspec.Raw(b"null")
    refused: Refusal | None = None
