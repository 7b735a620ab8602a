"""The messages of one streamer: its sockets, the decoder, and the reorder buffer behind several sockets."""

from __future__ import annotations

from typing import Protocol

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.connection.events import Event
from penstock.receiver.connection.ingest import Ingest
from penstock.receiver.connection.reorder_buffer import ReorderBuffer
from penstock.receiver.sources import Decoded, create
from penstock.stins.errors import StinsError
from penstock.stins.messages import Message, Start


class Arrivals(Protocol):
    """The messages of one receiver, in the order of sending."""

    ingest: Ingest

    @property
    def held_bytes(self) -> int:
        """Memory of what waits for other messages."""

    @property
    def waits_for(self) -> str:
        """What is still to come before a series can begin, in a sentence; "" for nothing."""

    @property
    def warning(self) -> str:
        """What the running series lacks, in a sentence; "" for nothing."""

    def decode(self, parts: list[memoryview]) -> Decoded:
        """Decode the multi-part message that was read last, out of turn.

        Raises:
            RemoteError: the message is not what the protocol allows.
        """

    def receive(self, parts: list[memoryview], now: float) -> Message | tuple[Event, ...]:
        """Decode the multi-part message that was read last; return what is ready by that.

        Raises:
            RemoteError: the message is not what the protocol allows.
        """

    def release(self, now: float) -> Event | None:
        """Return the next of what waits whose turn it is by now."""

    def tick(self, now: float) -> list[Event]:
        """Let the other clocks run."""

    def flush(self) -> list[Event]:
        """Return all that waits: the series is about to be stopped."""

    def on_reconnect(self) -> list[Event]:
        """All connections were lost, everything of them has been read, and they are made again: return what
        waited."""

    def resume(self, start: Start) -> None:
        """A series is resumed whose receiver was killed."""

    def forget(self) -> int:
        """Drop what waits: the receiver goes into Error. Return how many messages that were."""


class StreamerArrivals:
    """The messages of one streamer, session after session.

    Args:
        config: endpoint, number of sockets, kind of stream, `gap.seconds` and `hold_mb`.
    """

    def __init__(self, config: ReceiverConfig) -> None:
        source = config.source
        self.ingest = Ingest(source)
        self._source = create(source.type)
        several = source.sockets > 1
        self._buffer = ReorderBuffer(config.gap.seconds, config.hold_mb * 1e6) if several else None

    @property
    def held_bytes(self) -> int:
        """Memory of what waits for messages before it."""
        return 0 if self._buffer is None else self._buffer.nbytes

    @property
    def waits_for(self) -> str:
        """What is still to come before a series can begin, in a sentence; "" for nothing."""
        return ""

    @property
    def warning(self) -> str:
        """What the running series lacks, in a sentence; "" for nothing."""
        return ""

    def decode(self, parts: list[memoryview]) -> Decoded:
        """Decode one multi-part message, out of turn.

        Raises:
            RemoteError: the message is not what the protocol allows.
        """
        return self._source.decode(parts)

    def receive(self, parts: list[memoryview], now: float) -> Message | tuple[Event, ...]:
        """Decode one multi-part message; return it, if it is its turn.

        Raises:
            RemoteError: the message is not what the protocol allows.
        """
        decoded = self._source.decode(parts)
        if self._buffer is None:
            return decoded
        if not isinstance(decoded, tuple):
            decoded = (decoded,)
        ready: list[Event] = []
        for each in decoded:
            ready += [each] if isinstance(each, StinsError) else self._buffer.put(each, now)
        if self._buffer.is_full:
            self.ingest.hold_back(self.ingest.number)
        return tuple(ready)

    def release(self, now: float) -> Event | None:
        """Return the next of what waits whose turn it is by now."""
        if self._buffer is None or (ready := self._buffer.release(now)) is None:
            return None
        if not self._buffer.is_full:
            self.ingest.let_go()
        return ready

    def flush(self) -> list[Event]:
        """Return all that waits: the series is about to be stopped."""
        self.ingest.let_go()
        return [] if self._buffer is None else [*self._buffer.flush()]

    def tick(self, now: float) -> list[Event]:
        """Let the clocks run, other than that of `release`."""
        return []

    def on_reconnect(self) -> list[Event]:
        """All connections were lost, everything of them has been read, and they are made again: return what
        waited."""
        self.ingest.let_go()
        return [] if self._buffer is None else [*self._buffer.end_session()]

    def resume(self, start: Start) -> None:
        """A series is resumed whose receiver was killed."""
        if self._buffer is not None:
            self._buffer.resume(start.header.msg_number)

    def forget(self) -> int:
        """Drop what waits: the receiver goes into Error. Return how many messages that were."""
        self.ingest.let_go()
        return 0 if self._buffer is None else self._buffer.forget()
