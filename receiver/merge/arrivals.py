"""The messages of the modules of one detector: a socket and a decoder per module, and the merge."""

from __future__ import annotations

from collections.abc import Callable

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.connection.events import Event
from penstock.receiver.connection.ingest import Ingest
from penstock.receiver.merge.merge import Merge
from penstock.receiver.sources import Decoded, create
from penstock.stins.errors import StinsError
from penstock.stins.messages import Start


class ModuleArrivals:
    """The joined messages of several sessions, one per endpoint.

    Args:
        config: endpoints, each a module; the limits of waiting.
        taken: whether a frame of this series and index has been entered already.
    """

    def __init__(self, config: ReceiverConfig, taken: Callable[[str, int], bool]) -> None:
        source = config.source
        self.ingest = Ingest(source)
        # A decoder remembers what its stream has said.
        self._sources = [create(source.type) for _ in source.endpoints]
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
        """Memory of what waits for other modules, or for start messages."""
        return self._merge.held_bytes

    @property
    def waits_for(self) -> str:
        """Which start messages are still to come, in a sentence; "" for none."""
        return self._merge.waits_for

    @property
    def warning(self) -> str:
        """Which modules are missing from the running series, in a sentence; "" for none."""
        return self._merge.warning

    def decode(self, parts: list[memoryview]) -> Decoded:
        """Decode the message that was read last, out of turn.

        Raises:
            RemoteError: the message is not what the protocol allows.
        """
        return self._sources[self.ingest.number].decode(parts)

    def receive(self, parts: list[memoryview], now: float) -> tuple[Event, ...]:
        """Decode the message that was read last; return what its module completes.

        Raises:
            RemoteError: the message is not what the protocol allows.
        """
        module = self.ingest.number
        decoded = self._sources[module].decode(parts)
        events: list[Event] = []
        for each in decoded if isinstance(decoded, tuple) else (decoded,):
            events += [each] if isinstance(each, StinsError) else self._merge.take(module, each, now)
        return tuple(events)

    def release(self, now: float) -> Event | None:
        """Return nothing: what waits leaves with the message that completes it, or with `tick`."""
        return None

    def tick(self, now: float) -> list[Event]:
        """Let the clocks run: frames leave without modules that are late, the series without those that are
        gone."""
        connected = [item.connections > 0 for item in self.ingest.connections()]
        return self._merge.tick(now, self.ingest.idle, connected)

    def flush(self) -> list[Event]:
        """Return what waits for other modules: the series is about to be stopped."""
        return self._merge.flush()

    def on_reconnect(self) -> list[Event]:
        """Return nothing: each module is told by its own stream."""
        return []

    def resume(self, start: Start) -> None:
        """Do nothing: no series of modules is resumed."""

    def forget(self) -> int:
        """Drop what waits: the receiver goes into Error. Return how many messages that were."""
        return self._merge.forget()
