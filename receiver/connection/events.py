"""What the collector is given: messages in the order of sending, and what is to be said beside them."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from penstock.stins.errors import RemoteError, StinsError
from penstock.stins.messages import Header, Message


class Cut(msgspec.Struct, frozen=True):
    """The running series is over although its end message has not come."""

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


Event: TypeAlias = Message | Cut | Stale | StinsError
