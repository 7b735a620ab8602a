"""The messages of the remote interface: requests, answers and status, as typed structs in JSON.

A request is one DEALER message of one part, {"op": …, "id": n, …}; the answer carries the same
`id` and either `ok` or `refused`. After `subscribe`, which holds for `LEASE` seconds and is
renewed by subscribing again, snapshots arrive with id 0.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from penstock.streamer.camera.settings import Settings, Value

LEASE = 5.0
"""Seconds for which a subscription holds."""
MAX_REQUEST_BYTES = 4 * 2**20
PUBLISH_EVERY = 0.5
"""Seconds between two snapshots if nothing changes."""


Ident = Annotated[int, msgspec.Meta(ge=0, lt=2**53)]
"""An id of a request: an integer that every JSON library can represent."""


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
