"""The input of the collector: messages in the order of sending, and events between them."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from penstock.stins.errors import RemoteError, StinsError
from penstock.stins.messages import Header, Message


class Cut(msgspec.Struct, frozen=True):
    """The running series is over although its end message is missing."""

    cause: str


class Stale(msgspec.Struct, frozen=True):
    """A number of messages that belong to no running or coming series."""

    count: int = 1


class NotTaken(RemoteError):
    """A series cannot begin, because the modules' start messages do not fit or one is missing.

    Args:
        kind: stable name of the reason.
        message: the reason in a sentence.
        header: header of one of the start messages.
    """

    def __init__(self, kind: str, message: str, header: Header) -> None:
        super().__init__(kind, message)
        self.header = header


Event: TypeAlias = Message | Cut | Stale | StinsError
