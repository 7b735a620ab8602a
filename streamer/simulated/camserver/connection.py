"""A connection to the simulated camserver."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from threading import Lock

from penstock.streamer.simulated.camserver.language import Commands


class Connection:
    """One client, or a terminal at camserver's window."""

    def __init__(self, connected: socket.socket, pid: int) -> None:
        self._socket, self._sending = connected, Lock()
        self.pid = pid
        """Process id: camserver forks for each client ([cs] `main`)."""
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, data: bytes) -> None:
        """Send an answer, unless the client has gone."""
        with self._sending, suppress(OSError):
            self._socket.sendall(data)

    def serve(self, execute: Callable[[str], None]) -> None:
        """Execute the client's commands, one after the other, until it has gone."""
        commands = Commands()
        with suppress(OSError):
            while data := self._socket.recv(65536):
                for line in commands.feed(data):
                    execute(line)
        self._socket.close()

    def close(self) -> None:
        """Break the connection."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)


class Nobody:
    """Who does not read answers."""

    pid = 0

    def send(self, data: bytes) -> None:
        """Drop an answer."""


def shut(listening: socket.socket) -> None:
    """Stop listening, also where a thread waits in `accept`."""
    with suppress(OSError):
        listening.shutdown(socket.SHUT_RDWR)
    listening.close()
