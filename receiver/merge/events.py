"""What the joiner gives: what the collector takes of the modules, and what there is to tell beside it."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from penstock.receiver.processing.joined import JoinedFrame, JoinedStart
from penstock.stins.errors import RemoteError, StinsError
from penstock.stins.messages import Header, SeriesEnd


class Cut(msgspec.Struct, frozen=True):
    """The running series is over although not every end message has come."""

    cause: str


class Stale(msgspec.Struct, frozen=True):
    """Messages that belong to no series that runs or is to come."""

    count: int = 1


class NotTaken(RemoteError):
    """A series cannot be begun, by what the modules' start messages say, or because one did not come.

    Args:
        kind: stable name.
        message: why.
        header: of one of the start messages.
    """

    def __init__(self, kind: str, message: str, header: Header) -> None:
        super().__init__(kind, message)
        self.header = header


Event: TypeAlias = JoinedStart | JoinedFrame | SeriesEnd | Cut | Stale | StinsError
