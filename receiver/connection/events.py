"""The input of the collector: messages in the order of sending, and events between them."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from penstock.stins.errors import StinsError
from penstock.stins.messages import Message
from penstock.stins.texts import of_series


class Cut(msgspec.Struct, frozen=True):
    """The running series is over although its end message is missing."""

    cause: str


class Stale(msgspec.Struct, frozen=True):
    """A number of messages that belong to no running or coming series."""

    count: int = 1


class NoHeader(StinsError):
    """Frames are dropped, because the start message of their series was not received.

    Args:
        series: name of the series, if there is one.
        endpoint: module that sends them, if modules are joined.
    """

    def __init__(self, series: str | None, endpoint: str = "") -> None:
        sender = f" from {endpoint}" if endpoint else ""
        super().__init__(
            "no_header",
            f"frames{sender} of a series whose start message was not received are dropped; was the receiver "
            "started or reset in the middle of the series, or does another receiver take messages from the "
            f"same streamer?{of_series(series)}",
        )
        self.series = series


Event: TypeAlias = Message | Cut | Stale | StinsError
