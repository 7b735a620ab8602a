"""The sockets of several modules: read in turn, so that none runs ahead because another was read first."""

from __future__ import annotations

from collections.abc import Iterator

import zmq

from penstock.receiver.config import SourceConfig
from penstock.receiver.connection.ingest import BURST, Ingest


class ModuleIngest(Ingest):
    """As `Ingest`, with one socket an endpoint, which is a module.

    Args:
        config: endpoints, limits.
    """

    def __init__(self, config: SourceConfig) -> None:
        super().__init__(config)
        self.module = 0
        """Number of the endpoint whose message came last."""
        self.idle = [False] * len(self._sockets)
        """Of each endpoint, whether nothing of it waited when it was last looked at, in the last round of
        `messages`."""

    def messages(self) -> Iterator[list[memoryview]]:
        """What has arrived, one message of each endpoint after the other; `module` says whose it is."""
        self.idle = [False] * len(self._sockets)
        for _ in range(BURST):
            for number, socket in enumerate(self._sockets):
                parts = self._receive(socket)
                self.idle[number] = parts is None
                if parts is not None:
                    self.module = number
                    yield parts
            if all(self.idle):
                return

    @staticmethod
    def _receive(socket: zmq.Socket[bytes]) -> list[memoryview] | None:
        try:
            part = socket.recv(zmq.NOBLOCK, False)
        except zmq.Again:
            return None
        parts = [part.buffer]
        while part.more:
            part = socket.recv(0, False)
            parts.append(part.buffer)
        return parts
