"""PULL or SUB sockets, and who is connected to them."""

from __future__ import annotations

import contextlib
import logging
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import zmq
from zmq.utils.monitor import recv_monitor_message

from penstock.receiver.config import SourceConfig
from penstock.receiver.models import Connection
from penstock.receiver.sources import KINDS
from penstock.stins.errors import RemoteError

log = logging.getLogger(__name__)

KEEPALIVE = (
    (zmq.TCP_KEEPALIVE, 1),
    (zmq.TCP_KEEPALIVE_IDLE, 1),
    (zmq.TCP_KEEPALIVE_INTVL, 1),
    (zmq.TCP_KEEPALIVE_CNT, 2),
)
"""A host that vanished is noticed after 3 s by the kernel. ZeroMQ's own heartbeats would not do: while
the queue is full libzmq reads no answers, takes the peer for dead, and drops what is on its way."""
RECONNECT_MS = 500
"""Longest pause between two attempts to connect: a streamer that was just started can be armed at once."""
CONNECT_MS = 3000
"""Longest attempt to connect: the kernel asks a host that does not answer less and less often, and would find
it only half a minute after it has come back."""
EVENTS = zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED | zmq.EVENT_CONNECT_RETRIED
REFUSED_AFTER = 1.0
"""libzmq tries again at once after a lost connection, but never after one that it closed itself, because a
message was too large or the peer does not speak ZeroMQ. So silence for this long says which it was."""
BURST = 256
"""Messages taken from one socket before the others, and everything else, have their turn."""


class _Watched(NamedTuple):
    """What a monitor tells of."""

    socket: zmq.Socket[bytes]
    endpoint: str


class Ingest:
    """The sockets of one receiver.

    Args:
        config: endpoints, number of sockets, limits.
    """

    def __init__(self, config: SourceConfig) -> None:
        self._config = config
        self._context = zmq.Context(io_threads=config.io_threads)
        self._poller = zmq.Poller()
        self._sockets: list[zmq.Socket[bytes]] = []
        self._monitors: dict[zmq.Socket[bytes], _Watched] = {}
        self._connected: dict[zmq.Socket[bytes], bool] = {}
        self._given_up: dict[zmq.Socket[bytes], float] = {}
        self._paused = False
        for endpoint in config.endpoints:
            for _ in range(config.sockets):
                self._open(endpoint)
        self._order = deque(self._sockets)

    def watch(self, descriptor: int) -> None:
        """Wake `wait` up when this file descriptor can be read."""
        self._poller.register(descriptor, zmq.POLLIN)

    def wait(
        self, seconds: float, *, writable: Sequence[zmq.Socket[bytes]] = (), paused: bool = False
    ) -> None:
        """Return once something has arrived, or after this time.

        Args:
            writable: other sockets; return once one of them can be written, too.
            paused: frames that have arrived are no reason to return.
        """
        if paused != self._paused:
            self._paused = paused
            for socket in self._sockets:
                self._poller.modify(socket, 0 if paused else zmq.POLLIN)
        for socket in writable:
            self._poller.register(socket, zmq.POLLOUT)
        for ready, _ in self._poller.poll(int(seconds * 1000)):
            if ready in self._monitors:
                self._note(ready)
        for socket in writable:
            self._poller.unregister(socket)

    def messages(self) -> Iterator[list[memoryview]]:
        """What has arrived: multi-part messages, their parts not copied.

        Each socket gives at most `BURST` messages before the next one has its turn.
        """
        # The first socket of one call is the last of the next: whoever stops early starves none.
        self._order.rotate(-1)
        for socket in tuple(self._order):
            receive = socket.recv
            for _ in range(BURST):
                try:
                    part = receive(zmq.NOBLOCK, False)
                except zmq.Again:
                    break
                parts = [part.buffer]
                # As `recv_multipart` does it, but for asking the socket after each part: a microsecond.
                while part.more:
                    part = receive(0, False)
                    parts.append(part.buffer)
                yield parts

    def connections(self) -> list[Connection]:
        """Sockets connected now, by endpoint."""
        counts = dict.fromkeys(self._config.endpoints, 0)
        for monitor, connected in self._connected.items():
            counts[self._monitors[monitor].endpoint] += connected
        return [Connection(endpoint=endpoint, connections=n) for endpoint, n in counts.items()]

    def reopen(self) -> list[RemoteError]:
        """Connect again where libzmq has closed a connection for good; says why, one error for each."""
        errors = []
        for monitor in [monitor for monitor in tuple(self._given_up) if self._is_closed_for_good(monitor)]:
            del self._given_up[monitor]
            socket, endpoint = self._monitors[monitor]
            with contextlib.suppress(zmq.ZMQError):  # libzmq may have forgotten it already
                socket.disconnect(endpoint)
            socket.connect(endpoint)
            errors.append(
                RemoteError(
                    "message_refused",
                    f"the connection to {endpoint} was closed: a message was larger than "
                    f"source.max_message_mb ({self._config.max_message_mb:g} MB), no streamer is there, "
                    "or its socket is of another kind than source.type; raise the limit if its frames are "
                    "that large. It is being made again",
                )
            )
        return errors

    def close(self) -> None:
        """Close everything; what was not received is dropped."""
        for socket in self._sockets:
            socket.disable_monitor()
            socket.close(linger=0)
        for monitor in self._monitors:
            monitor.close(linger=0)
        self._context.term()

    def _open(self, endpoint: str) -> None:
        config = self._config
        published = KINDS[config.type].published
        socket: zmq.Socket[bytes] = self._context.socket(zmq.SUB if published else zmq.PULL)
        if published:
            socket.subscribe(b"")
        socket.set(zmq.RCVHWM, config.high_water_mark)
        socket.set(zmq.MAXMSGSIZE, int(config.max_message_mb * 1e6))
        socket.set(zmq.LINGER, 0)
        socket.set(zmq.RECONNECT_IVL_MAX, RECONNECT_MS)
        socket.set(zmq.CONNECT_TIMEOUT, CONNECT_MS)
        for option, value in KEEPALIVE:
            socket.set(option, value)
        monitor = socket.get_monitor_socket(EVENTS)
        socket.connect(endpoint)
        self._sockets.append(socket)
        self._monitors[monitor] = _Watched(socket, endpoint)
        self._connected[monitor] = False
        self._poller.register(socket, zmq.POLLIN)
        self._poller.register(monitor, zmq.POLLIN)

    def _is_closed_for_good(self, monitor: zmq.Socket[bytes]) -> bool:
        """Whether a lost connection is not tried again, and whatever came over it has been read.

        ZeroMQ drops what still waits when a socket is told to disconnect, so that is asked first.
        """
        if self._monitors[monitor].socket.poll(0):
            return False
        # Reading may have taken long, and the next event been told meanwhile.
        self._note(monitor)
        since = self._given_up.get(monitor)
        return since is not None and time.monotonic() - since > REFUSED_AFTER

    def _note(self, monitor: zmq.Socket[bytes]) -> None:
        while monitor.poll(0):
            event = recv_monitor_message(monitor)["event"]
            connected = event == zmq.EVENT_HANDSHAKE_SUCCEEDED
            if event == zmq.EVENT_DISCONNECTED:
                self._given_up[monitor] = time.monotonic()
            else:
                self._given_up.pop(monitor, None)
            if connected != self._connected[monitor]:
                log.info("%s %s", "connected to" if connected else "lost", self._monitors[monitor].endpoint)
            self._connected[monitor] = connected
