"""PULL sockets, and who is connected to them."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import zmq
from zmq.utils.monitor import recv_monitor_message

from penstock.receiver.config import SourceConfig
from penstock.receiver.models import Connection

log = logging.getLogger(__name__)

KEEPALIVE = (
    (zmq.TCP_KEEPALIVE, 1),
    (zmq.TCP_KEEPALIVE_IDLE, 1),
    (zmq.TCP_KEEPALIVE_INTVL, 1),
    (zmq.TCP_KEEPALIVE_CNT, 2),
)
"""A host that vanished is noticed after 3 s by the kernel. ZeroMQ's own heartbeats would not do: while
the queue is full libzmq reads no answers, takes the peer for dead, and drops what is on its way."""
BURST = 256
"""Messages taken from one socket before the others, and everything else, have their turn."""


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
        self._monitors: dict[zmq.Socket[bytes], str] = {}
        self._connected: dict[zmq.Socket[bytes], bool] = {}
        for endpoint in config.endpoints:
            for _ in range(config.sockets):
                self._open(endpoint)

    def watch(self, descriptor: int) -> None:
        """Wake `wait` up when this file descriptor can be read."""
        self._poller.register(descriptor, zmq.POLLIN)

    def wait(self, seconds: float) -> None:
        """Return once something has arrived, or after this time."""
        for ready, _ in self._poller.poll(int(seconds * 1000)):
            if ready in self._monitors:
                self._note(ready)

    def messages(self) -> Iterator[list[memoryview]]:
        """What has arrived: multi-part messages, their parts not copied.

        Each socket gives at most `BURST` messages before the next one has its turn.
        """
        for socket in self._sockets:
            receive = socket.recv_multipart
            for _ in range(BURST):
                try:
                    frames = receive(zmq.NOBLOCK, copy=False)
                except zmq.Again:
                    break
                yield [frame.buffer for frame in frames]

    def connections(self) -> list[Connection]:
        """Sockets connected now, by endpoint."""
        counts = dict.fromkeys(self._config.endpoints, 0)
        for monitor, connected in self._connected.items():
            counts[self._monitors[monitor]] += connected
        return [Connection(endpoint=endpoint, connections=n) for endpoint, n in counts.items()]

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
        socket: zmq.Socket[bytes] = self._context.socket(zmq.PULL)
        socket.set(zmq.RCVHWM, config.high_water_mark)
        socket.set(zmq.MAXMSGSIZE, int(config.max_message_mb * 1e6))
        socket.set(zmq.LINGER, 0)
        socket.set(zmq.RECONNECT_IVL_MAX, 1000)
        for option, value in KEEPALIVE:
            socket.set(option, value)
        monitor = socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED)
        socket.connect(endpoint)
        self._sockets.append(socket)
        self._monitors[monitor] = endpoint
        self._connected[monitor] = False
        self._poller.register(socket, zmq.POLLIN)
        self._poller.register(monitor, zmq.POLLIN)

    def _note(self, monitor: zmq.Socket[bytes]) -> None:
        while monitor.poll(0):
            event = recv_monitor_message(monitor)["event"]
            connected = event == zmq.EVENT_HANDSHAKE_SUCCEEDED
            if connected != self._connected[monitor]:
                log.info("%s %s", "connected to" if connected else "lost", self._monitors[monitor])
            self._connected[monitor] = connected
