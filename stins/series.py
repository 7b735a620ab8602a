"""The state table of a sender of series, and the numbering of its messages.

An illegal event raises an exception and changes nothing (as in h11's `_state.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum, auto
from typing import Any

import msgspec

from penstock.stins import codec, shared
from penstock.stins.errors import LocalError
from penstock.stins.messages import Header, Image, SeriesEnd
from penstock.stins.table import IllegalEvent, Table


class SeriesState(Enum):
    """The state of a sender."""

    IDLE = auto()
    OPEN = auto()


class SeriesEvent(Enum):
    """A message of a sender."""

    START = auto()
    IMAGE = auto()
    END = auto()


TABLE = Table({
    (SeriesState.IDLE, SeriesEvent.START): SeriesState.OPEN,
    (SeriesState.OPEN, SeriesEvent.IMAGE): SeriesState.OPEN,
    (SeriesState.OPEN, SeriesEvent.END): SeriesState.IDLE,
})  # fmt: skip


class SeriesEncoder:
    """The encoder of one PUSH socket's messages, which it numbers.

    `msg_number` continues across series, and begins at 0 with the process. Blobs are not passed through the
    encoder: the caller appends them to the image part.
    """

    def __init__(self) -> None:
        self.state = SeriesState.IDLE
        self.msg_number = 0
        self.series: str | None = None

    def start(self, header: Header, metadata: Mapping[str, Any] | None = None) -> list[bytes]:
        """Return the parts of the start message; `header.series` is used for all messages that follow."""
        state = self._next(SeriesEvent.START)
        parts = codec.encode_start(msgspec.structs.replace(header, msg_number=self.msg_number), metadata)
        self.series = header.series
        self._commit(state)
        return parts

    def image(self, image: Image) -> bytes:
        """First part of a frame message.

        `image` must already carry this series' id; only `msg_number` is filled in here.
        """
        state = self._next(SeriesEvent.IMAGE)
        part = codec.encode_image(msgspec.structs.replace(image, msg_number=self.msg_number))
        self._commit(state)
        return part

    def references(self, references: Sequence[shared.Reference]) -> list[bytes]:
        """Parts of a message that says where frames lie in shared memory."""
        state = self._next(SeriesEvent.IMAGE)
        message = shared.References(msg_number=self.msg_number, series=self.series)
        parts = shared.encode(message, references)
        self._commit(state)
        return parts

    def end(self, end: SeriesEnd) -> list[bytes]:
        """Parts of the end message."""
        state = self._next(SeriesEvent.END)
        parts = codec.encode_end(msgspec.structs.replace(end, msg_number=self.msg_number, series=self.series))
        self._commit(state)
        return parts

    def give_up(self) -> None:
        """End the series without an end message: nobody takes one any more. The next series may begin."""
        self.state = SeriesState.IDLE

    def _next(self, event: SeriesEvent) -> SeriesState:
        try:
            return TABLE.after(self.state, event)
        except IllegalEvent:
            raise LocalError(
                "illegal_event", f"{event.name} while the series is {self.state.name}; nothing was sent"
            ) from None

    def _commit(self, state: SeriesState) -> None:
        self.state = state
        self.msg_number += 1
