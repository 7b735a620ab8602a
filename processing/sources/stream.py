"""The frames of a receiver as its consumer gets them: by reference where it shares memory, or as messages."""

from __future__ import annotations

from typing import TypeAlias

import msgspec
import zmq

from penstock.hosts import zmq_sockets
from penstock.stins import codec, shared
from penstock.stins.errors import RemoteError
from penstock.stins.messages import Buffer, Frame, Header, SeriesEnd, Start, kept
from penstock.stins.shared import Reference


class Began(msgspec.Struct, frozen=True):
    """A series has begun; all that follows up to its end belongs to it."""

    header: Header
    metadata_part: Buffer
    """Its metadata as JSON."""


class Referenced(msgspec.Struct, frozen=True):
    """Frames that lie in the shared memory of the series."""

    references: list[Reference]


class ByValue(msgspec.Struct, frozen=True):
    """A frame that came as a message: of a consumer without shared memory, or one that fits no slot."""

    index: int
    parts: list[Buffer]
    """Its header, and its blobs."""


class Ended(msgspec.Struct, frozen=True):
    """The series has ended."""

    end: SeriesEnd


Event: TypeAlias = Began | Referenced | ByValue | Ended


class Stream:
    """One connection to the port of a consumer.

    Args:
        endpoint: as the status of the receiver says it.
        context: of the caller.
    """

    def __init__(self, endpoint: str, context: zmq.Context[zmq.Socket[bytes]]) -> None:
        self.endpoint = endpoint
        self.socket = zmq_sockets.consumer(context, endpoint)
        """Socket to be polled, and to be monitored."""

    def receive(self) -> Event | None:
        """Return what has come; `None` if nothing has.

        Raises:
            RemoteError: the message cannot be used; the next one may be.
        """
        try:
            parts = [frame.buffer for frame in self.socket.recv_multipart(zmq.NOBLOCK, copy=False)]
        except zmq.Again:
            return None
        if shared.is_references(parts[0]):
            return Referenced(shared.decode(parts)[1])
        message = codec.decode(parts)
        if isinstance(message, Frame):
            if message.image.frame is None:
                raise RemoteError("missing_key", "a frame without number: this is no receiver's stream")
            return ByValue(message.image.frame, [kept(part) for part in parts])
        if isinstance(message, Start):
            return Began(message.header, message.part or b"{}")
        return Ended(message)

    def close(self) -> None:
        """Close the connection: the receiver drops the rest of the series."""
        self.socket.close()
