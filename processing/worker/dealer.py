"""A worker's connection to its distributor.

After a loss the socket is replaced by a new one: what was queued in the old one, in either direction, belongs
to bunches that the distributor has given to others by then.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from enum import Enum, auto
from typing import Any

import zmq

from penstock.hosts import zmq_sockets
from penstock.hosts.zmq_sockets import CONNECT_MS
from penstock.processing.wire import keys, sockets
from penstock.stins.messages import Buffer

AGAIN_MS = 200
"""Time between two attempts to connect."""
LEAVE_MS = 10_000
"""Longest time in which the last messages may leave when the worker does."""
LONGEST = 3600.0
"""Longest time in seconds that is waited at once: ZeroMQ takes milliseconds of 32 bits."""
EVENTS = (
    zmq.EVENT_HANDSHAKE_SUCCEEDED
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
    | zmq.EVENT_HANDSHAKE_FAILED_AUTH
    | zmq.EVENT_DISCONNECTED
)


class Change(Enum):
    """What has happened to the connection."""

    CONNECTED = auto()
    LOST = auto()
    """There is a new socket, which tries to connect."""
    ENDED_AT_ONCE = auto()
    """The other side has ended it before the handshake was complete, and there is a new socket."""
    REFUSED = auto()
    """The other side has another key, or none, or speaks something else: it is no use to try again."""


class Dealer:
    """The connection.

    Args:
        address: endpoint of the distributor, such as "tcp://10.1.2.3:5555".
        key: see `keys`; `None`: not encrypted.
        wake: descriptor that ends `wait` when it is readable.

    Raises:
        ValueError: the address is no endpoint.
    """

    def __init__(self, address: str, key: bytes | None, wake: int) -> None:
        self.address = address
        self._key = key
        self._wake = wake
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        try:
            self._open()
        except zmq.ZMQError as error:
            self._context.destroy(linger=0)
            raise ValueError(
                f"{address} is no address of a distributor ({error}): tcp://HOST:PORT"
            ) from error

    @property
    def is_trusted(self) -> bool:
        """True if nobody else can send through this connection: it is encrypted, or stays on this machine."""
        return self._key is not None or sockets.is_local(self.address)

    def wait(self, seconds: float | None) -> tuple[bool, bool, bool]:
        """Wait for something, for so long at most, or for ever if `seconds` is `None`.

        Returns:
            Whether there are messages, whether `change` has news, whether the descriptor is readable.
        """
        milliseconds = None if seconds is None else math.ceil(min(max(0.0, seconds), LONGEST) * 1000)
        found = dict(self._poller.poll(milliseconds))
        return self._socket in found, self._monitor in found, self._wake in found

    def change(self) -> Change | None:
        """Return the next thing that has happened to the connection, if anything has."""
        if not self._monitor.poll(0):
            return None
        event = zmq_sockets.monitor_report(self._monitor).event
        if event == zmq.EVENT_HANDSHAKE_SUCCEEDED:
            return Change.CONNECTED
        if event == zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL and self._key is None:
            # The other side has ended it; so does an SSH tunnel whose distributor is not there yet.
            self._reopen()
            return Change.ENDED_AT_ONCE
        if event == zmq.EVENT_DISCONNECTED:
            self._reopen()
            return Change.LOST
        # To a wrong key the distributor says nothing, so that there is no detail.
        return Change.REFUSED

    def receive(self) -> list[Buffer] | None:
        """Return the parts of the next message; `None` if there is none now."""
        try:
            return [part.buffer for part in self._socket.recv_multipart(zmq.NOBLOCK, copy=False)]
        except zmq.Again:
            return None

    def send(self, parts: Sequence[Any]) -> None:
        """Send a message; without a connection it is dropped, and `change` tells of the loss."""
        with contextlib.suppress(zmq.Again):
            self._socket.send_multipart(parts, zmq.NOBLOCK, copy=False)

    def close(self) -> None:
        """Let the last messages leave, and close."""
        self._close(LEAVE_MS)
        self._context.term()

    def _open(self) -> None:
        self._socket = socket = self._context.socket(zmq.DEALER)
        sockets.prepare(socket, self.address)
        # Nothing is queued for a distributor that is not there.
        socket.set(zmq.IMMEDIATE, 1)
        socket.set(zmq.RECONNECT_IVL, AGAIN_MS)
        socket.set(zmq.CONNECT_TIMEOUT, CONNECT_MS)
        if self._key is not None:
            keys.join(socket, self._key)
        self._monitor = socket.get_monitor_socket(EVENTS)
        self._poller = zmq.Poller()
        for each in (self._socket, self._monitor, self._wake):
            self._poller.register(each, zmq.POLLIN)
        socket.connect(self.address)

    def _reopen(self) -> None:
        self._close(0)
        zmq.select([self._wake], [], [], AGAIN_MS / 1000)
        self._open()

    def _close(self, linger: int) -> None:
        self._socket.disable_monitor()
        self._monitor.close(0)
        self._socket.close(linger)
