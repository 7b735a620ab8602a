"""A socket that connects to a streamer, and reconnects only when everything has been read.

By itself, ZeroMQ reconnects at once, and queues new messages after unread ones of the lost connection. They
could not be told apart, and a restarted streamer would be taken for the one that died. So ZeroMQ's own
attempts are postponed, and made here.
"""

from __future__ import annotations

import contextlib
import logging
import time

import zmq

from penstock.hosts import zmq_sockets
from penstock.hosts.zmq_sockets import CONNECT_MS
from penstock.stins import tcp
from penstock.stins.connections import HANDSHAKE_MS
from penstock.stins.tcp import Silence

log = logging.getLogger(__name__)

ANSWERED_WITHIN = 1.4
"""Seconds within which a host answers a probe, the second of silence before the probe included."""


class Interruption:
    """The interruption of one connection.

    After it, the streamer's kernel does not send at once what was lost: its pauses double, so that the last
    one may be as long as the interruption was.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        """Seconds for which the streamer's host has not answered; 0 while it does."""
        self._noted = 0.0
        self._until = 0.0

    def observe(self, silence: Silence, now: float) -> None:
        """Take what the kernel says; `now` is the time of a monotonic clock, in seconds."""
        if silence.unanswered > ANSWERED_WITHIN:
            self.seconds, self._noted, self._until = silence.unanswered, now, now + silence.unanswered
            return
        self.seconds = 0.0
        if silence.without_data < now - self._noted:
            self._until = now

    def lasts(self, now: float) -> bool:
        """Return whether messages that were sent may still be under way, however long ago that was."""
        return now < self._until


EVENTS = (
    zmq.EVENT_CONNECTED | zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED | zmq.EVENT_CONNECT_RETRIED
)
PUT_OFF_MS = 24 * 3600 * 1000
"""ZMQ_RECONNECT_IVL: long after the reconnection made here; -1 would drop unread messages."""
PAUSES = (0.1, 0.5)
"""Seconds between two attempts: the first value, doubled each time, up to the second value. So a streamer
that was just started can be armed at once."""
REFUSED_AFTER = 1.0
"""libzmq reports at once that it would reconnect after a lost connection, but never after one that it closed
itself, because a message was too large or the peer does not speak ZeroMQ. So silence for this long means the
latter."""


class Connecting:
    """A socket, its endpoint, and the reports of its monitor.

    Args:
        socket: socket with its options set; it is connected by `again`.
        endpoint: endpoint such as "tcp://127.0.0.1:9999".
    """

    def __init__(self, socket: zmq.Socket[bytes], endpoint: str) -> None:
        self.socket, self.endpoint = socket, endpoint
        self.is_connected = False
        """True if a peer is connected: the handshake is complete."""
        self.was_lost = False
        """True if a connection has been lost since the last attempt."""
        self.interruption = Interruption()
        """Interruption of the network, while the connection stands."""
        self._descriptor = -1
        self._down_since: float | None = None
        self._is_put_off = False  # whether libzmq would have connected again
        self._pause = PAUSES[0]
        self._is_parted = True  # on purpose
        socket.set(zmq.RECONNECT_IVL, PUT_OFF_MS)
        socket.set(zmq.CONNECT_TIMEOUT, CONNECT_MS)
        socket.set(zmq.HANDSHAKE_IVL, HANDSHAKE_MS)
        self.monitor = socket.get_monitor_socket(EVENTS)
        """Monitor to be polled; read by `observe`."""

    def observe(self) -> None:
        """Process the reports of the monitor."""
        while self.monitor.poll(0):
            report = zmq_sockets.monitor_report(self.monitor)
            if self._is_parted:
                continue  # of a connection that was given up
            match report.event:
                case zmq.EVENT_CONNECTED:
                    self._descriptor = report.value
                case zmq.EVENT_HANDSHAKE_SUCCEEDED:
                    log.info("connected to %s", self.endpoint)
                    self.is_connected, self._down_since, self._pause = True, None, PAUSES[0]
                case zmq.EVENT_DISCONNECTED:
                    self._descriptor, self.interruption = -1, Interruption()
                    if self.is_connected:
                        log.info("lost %s", self.endpoint)
                        self.is_connected, self.was_lost = False, True
                    self._down_since, self._is_put_off = time.monotonic(), False
                case zmq.EVENT_CONNECT_RETRIED:
                    self._is_put_off = True
                    if self._down_since is None:
                        self._down_since = time.monotonic()

    def observe_network(self, now: float) -> None:
        """Ask the kernel whether the streamer's host answers; `now` is the time of a monotonic clock."""
        if self.is_connected:
            self.interruption.observe(tcp.silence(self._descriptor), now)

    @property
    def has_messages(self) -> bool:
        """True if a message waits to be read."""
        return bool(self.socket.poll(0))

    @property
    def down(self) -> float:
        """Seconds without a connection and without an attempt; 0 while connected."""
        if self._down_since is None or self._is_parted:
            return 0.0
        return time.monotonic() - self._down_since

    @property
    def is_due(self) -> bool:
        """True if the next attempt is due."""
        return self.down > (self._pause if self._is_put_off else REFUSED_AFTER)

    @property
    def was_refused(self) -> bool:
        """True if libzmq itself closed the last connection."""
        return not self._is_put_off and self.down > REFUSED_AFTER

    def part(self) -> None:
        """Disconnect, until `again`. Unread messages are dropped."""
        with contextlib.suppress(zmq.ZMQError):  # libzmq may have forgotten it already
            self.socket.disconnect(self.endpoint)
        self.is_connected, self._is_parted = False, True
        self._descriptor, self.interruption = -1, Interruption()

    def again(self) -> None:
        """Connect, also again. Unread messages are dropped."""
        self.part()
        self.socket.connect(self.endpoint)
        self._is_parted = False
        self._down_since, self._is_put_off, self.was_lost = None, False, False
        self._pause = min(2 * self._pause, PAUSES[1])

    def close(self) -> None:
        """Close the socket; unread messages are dropped."""
        self.socket.disable_monitor()
        self.socket.close(linger=0)
        self.monitor.close(linger=0)
