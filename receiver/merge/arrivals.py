"""Messages as they arrive from a detector's modules: socket and decoder per module, and the merge."""

from __future__ import annotations

from collections.abc import Callable

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.connection.arrivals import Arrivals
from penstock.receiver.connection.events import Event
from penstock.receiver.merge.merge import Merge
from penstock.receiver.sources import Decoded, create
from penstock.stins.errors import StinsError


class ModuleArrivals(Arrivals):
    """The joined messages of several sessions, one per endpoint.

    Args:
        config: endpoints, each a module, and limits of waiting times.
        taken: tells whether a frame of this series and index has been entered already.
    """

    def __init__(self, config: ReceiverConfig, taken: Callable[[str, int], bool]) -> None:
        super().__init__(config)
        source = config.source
        # A decoder has the state of its stream.
        self._sources = [create(source.type, self.expected) for _ in source.endpoints]
        self._merge = Merge(
            source.endpoints,
            taken,
            gap=config.gap.seconds,
            within=source.join_seconds,
            gone_after=config.peer_gone,
            hold=config.hold_mb * 1e6,
            origin=source.frame_origin,
        )

    @property
    def held_bytes(self) -> int:
        return self._merge.held_bytes

    @property
    def waits_for(self) -> str:
        return self._merge.waits_for

    @property
    def warning(self) -> str:
        return self._merge.warning

    def decode(self, parts: list[memoryview]) -> Decoded:
        return self._sources[self.ingest.number].decode(parts)

    def receive(self, parts: list[memoryview], now: float) -> tuple[Event, ...]:
        decoded = self.decode(parts)
        events: list[Event] = []
        for each in decoded if isinstance(decoded, tuple) else (decoded,):
            events += (
                [each] if isinstance(each, StinsError) else self._merge.take(self.ingest.number, each, now)
            )
        self.ingest.hold_back(self._merge.held_back)
        return tuple(events)

    def tick(self, now: float) -> list[Event]:
        connected = [item.connections > 0 for item in self.ingest.connections()]
        events = self._merge.tick(now, self.ingest.idle, connected)
        self.ingest.hold_back(self._merge.held_back)
        return events

    def flush(self) -> list[Event]:
        return self._merge.flush()

    def forget(self) -> int:
        return self._merge.forget()
