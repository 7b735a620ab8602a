"""Messages as they arrive from a streamer: sockets, decoder, and a reorder buffer for several sockets."""

from __future__ import annotations

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.connection.events import Event
from penstock.receiver.connection.ingest import Ingest
from penstock.receiver.connection.reorder_buffer import ReorderBuffer
from penstock.receiver.sources import Decoded, create
from penstock.receiver.sources.expected import ExpectedSeries
from penstock.stins.errors import StinsError
from penstock.stins.messages import Message, Start


class Arrivals:
    """The messages of one streamer over one socket, which arrive in the order of sending.

    Args:
        config: configuration of the receiver.
    """

    def __init__(self, config: ReceiverConfig) -> None:
        self.ingest = Ingest(config.source)
        self.expected = ExpectedSeries()
        """The series that a device has told the receiver to expect."""
        self._source = create(config.source.type, self.expected)

    @property
    def held_bytes(self) -> int:
        """Memory in bytes of messages that wait for others."""
        return 0

    @property
    def waits_for(self) -> str:
        """What is still missing before a series can begin, in a sentence; "" for nothing."""
        return ""

    @property
    def warning(self) -> str:
        """What the running series lacks, in a sentence; "" for nothing."""
        return ""

    def decode(self, parts: list[memoryview]) -> Decoded:
        """Decode the last message without passing it on.

        Raises:
            RemoteError: the message violates the protocol.
        """
        return self._source.decode(parts)

    def receive(self, parts: list[memoryview], now: float) -> Message | tuple[Event, ...]:
        """Decode the last message; return the messages whose turn has come with it.

        Raises:
            RemoteError: the message violates the protocol.
        """
        return self._source.decode(parts)

    @property
    def may_release(self) -> bool:
        """True if the last message may have been the one for which others wait; `release` tells."""
        return False

    def release(self, now: float) -> Event | None:
        """Return the next waiting message whose turn has come, if there is one."""
        return None

    def tick(self, now: float) -> list[Event]:
        """Advance the clocks; return the events that are due."""
        return []

    def flush(self) -> list[Event]:
        """Return all waiting messages: the series is about to be stopped."""
        return []

    def on_reconnect(self) -> list[Event]:
        """Begin a new session, since all connections were lost, read to the end, and made again; return the
        messages that waited."""
        return []

    def resume(self, start: Start) -> None:
        """Resume a series whose receiver was killed."""

    def forget(self) -> int:
        """Drop the waiting messages, since the receiver goes to Error; return their number."""
        return 0


class SeveralSockets(Arrivals):
    """The messages of one streamer over several sockets, put in order by a reorder buffer.

    Args:
        config: configuration of the receiver; `gap.seconds` and `hold_mb` limit the waiting messages.
    """

    def __init__(self, config: ReceiverConfig) -> None:
        super().__init__(config)
        self._buffer = ReorderBuffer(config.gap.seconds, config.hold_mb * 1e6, config.source.sockets)

    @property
    def held_bytes(self) -> int:
        return self._buffer.nbytes

    def receive(self, parts: list[memoryview], now: float) -> Message | tuple[Event, ...]:
        decoded, put, socket = self._source.decode(parts), self._buffer.put, self.ingest.number
        if isinstance(decoded, tuple):
            ready: list[Event] = []
            for each in decoded:
                ready += [each] if isinstance(each, StinsError) else put(each, socket, now)
        else:
            passed = put(decoded, socket, now)
            if len(passed) == 1 and passed[0] is decoded:
                self.ingest.likely = self._buffer.likely
                return decoded
            ready = [*passed]
        return tuple(ready)

    @property
    def may_release(self) -> bool:
        return self._buffer.may_release

    def release(self, now: float) -> Event | None:
        ready = self._buffer.release(now)
        if ready is None:
            self.ingest.hold_back(self._buffer.held_back)
            self.ingest.likely = self._buffer.likely
        return ready

    def flush(self) -> list[Event]:
        self.ingest.hold_back(frozenset())
        return [*self._buffer.flush()]

    def on_reconnect(self) -> list[Event]:
        self.ingest.hold_back(frozenset())
        return [*self._buffer.end_session()]

    def resume(self, start: Start) -> None:
        self._buffer.resume(start.header.msg_number)

    def forget(self) -> int:
        self.ingest.hold_back(frozenset())
        return self._buffer.forget()
