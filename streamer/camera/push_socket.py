"""The PUSH socket: it sends the parts of a message together or not at all, and counts its peers.

`sent` means passed to ZeroMQ: PUSH cannot count messages that are lost with a peer. Blobs of 64 kB and more
are not copied; their tracker tells when the memory may be written again.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Sequence
from threading import Condition, Thread
from typing import TypeAlias

import zmq

from penstock.hosts import zmq_sockets
from penstock.stins.addresses import host_port, is_ipv6
from penstock.stins.connections import HANDSHAKE_MS, KEEPALIVE_SECONDS, Connections, keepalive
from penstock.stins.messages import Buffer
from penstock.streamer.camera.ring import Tracker
from penstock.streamer.slices import call

log = logging.getLogger(__name__)

Part: TypeAlias = "Buffer | zmq.Frame"
"""A part of a message; see `PushSocket.lasting`."""
COPY_BELOW = 65536
"""Bytes below which a copy costs less than the tracking of a shared buffer."""
LARGE_FRAME = 2 * 2**20
LARGE_HWM = 8
SMALL_HWM = 1000
NOBLOCK_MORE = zmq.NOBLOCK | zmq.SNDMORE
EVENTS = zmq.EVENT_ACCEPTED | zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED


class _Copied:
    """The tracker of a message that ZeroMQ has copied: its memory is free at once."""

    done = True


COPIED: Tracker = _Copied()


def default_hwm(frame_bytes: int) -> int:
    """Return the high-water mark for frames of this size: ZeroMQ counts messages, not bytes."""
    if frame_bytes >= LARGE_FRAME:
        return LARGE_HWM
    return min(SMALL_HWM, max(LARGE_HWM, 2 * LARGE_FRAME * LARGE_HWM // max(frame_bytes, 1)))


class PushSocket:
    """A bound PUSH socket. It is used by one thread, except for `peers`."""

    def __init__(
        self, endpoint: str, *, hwm: int = SMALL_HWM, io_threads: int = 1, linger: float = 1.0
    ) -> None:
        """Bind `endpoint` (`tcp://127.0.0.1:0` for any free port).

        Args:
            endpoint: address; all others are those of the socket's whole life.
            hwm: most messages that ZeroMQ holds per receiver; see also `limit`.
            io_threads: threads in which ZeroMQ sends.
            linger: seconds that `close` waits for messages that ZeroMQ still holds.

        Raises:
            OSError: the address is in use or not one of this machine.
        """
        self._context = zmq.Context(io_threads)
        self._socket = self._context.socket(zmq.PUSH)
        self._socket.setsockopt(zmq.SNDHWM, hwm)
        self._socket.setsockopt(zmq.IPV6, is_ipv6(endpoint))
        self._socket.setsockopt(zmq.LINGER, int(linger * 1000))
        # Not ZeroMQ's heartbeat: a receiver that pauses reading cannot answer one, and its queue would be
        # dropped with the connection. The kernel answers keep-alives on its behalf.
        idle, interval, probes = keepalive(KEEPALIVE_SECONDS)
        self._socket.setsockopt(zmq.TCP_KEEPALIVE, 1)
        self._socket.setsockopt(zmq.TCP_KEEPALIVE_IDLE, idle)
        self._socket.setsockopt(zmq.TCP_KEEPALIVE_INTVL, interval)
        self._socket.setsockopt(zmq.TCP_KEEPALIVE_CNT, probes)
        # Without a handler this accepts everybody, but makes libzmq refuse peers older than ZMTP 3.0. It
        # would take an HTTP request, or a newline, for such a peer, and send it its share of the frames.
        self._socket.setsockopt(zmq.ZAP_DOMAIN, b"penstock")
        self._socket.setsockopt(zmq.HANDSHAKE_IVL, HANDSHAKE_MS)
        self._limit = hwm
        self._in_flight: list[zmq.MessageTracker] = []
        """Trackers of messages whose memory ZeroMQ may still read; also of some that it has let go of
        since."""
        self._connections = Connections()
        self._is_open = False  # true if there is a peer
        self._has_news = (
            False  # true after a change of peers: ZeroMQ has to process its commands before it sends
        )
        self.peers_changed = Condition()
        """Notified when a receiver connects or disconnects."""
        monitor = self._socket.get_monitor_socket(EVENTS | zmq.EVENT_MONITOR_STOPPED)
        self._watcher = Thread(target=self._watch, args=(monitor,), name="push monitor", daemon=True)
        self._watcher.start()
        try:
            self._socket.bind(endpoint)
        except zmq.ZMQError as error:
            self.close(0.0)
            raise OSError(
                error.errno, f"cannot bind the data socket to {endpoint}: {error.strerror}"
            ) from error
        self.endpoint: str = self._socket.getsockopt_string(zmq.LAST_ENDPOINT)

    @staticmethod
    def lasting(blob: Buffer) -> Part:
        """Return memory that is sent many times and never written again, as a part for `try_send`: without
        a copy, and without anybody being told each time that ZeroMQ has read it, which takes a thread."""
        return blob if len(blob) < COPY_BELOW else zmq.Frame(blob, track=False, copy=False)

    def try_send(self, parts: Sequence[Part]) -> Tracker | None:
        """Pass one message to ZeroMQ if a peer has room for it.

        Return `None` if no peer has room and nothing was sent; otherwise a tracker that tells when the memory
        of the parts may be written again; not that of `lasting` parts.
        """
        # A connection that is known to be lost still takes messages until ZeroMQ has removed it. That happens
        # once the next one has shaken hands (with one I/O thread) and ZeroMQ has processed its commands,
        # which it does when asked for its events, or else once in a few million cycles of the processor.
        if not self._is_open or self._is_full():
            return None
        if self._has_news:
            self._has_news = False
            self._socket.getsockopt(zmq.EVENTS)
        send = self._socket.send
        last = len(parts) - 1
        shared: list[zmq.MessageTracker] = []
        try:
            for number, part in enumerate(parts):
                flags = NOBLOCK_MORE if number < last else zmq.NOBLOCK
                if type(part) is zmq.Frame:
                    send(part, flags, copy=False)
                elif len(part) < COPY_BELOW:
                    send(part, flags)
                else:
                    shared.append(send(part, flags, copy=False, track=True))
        except zmq.Again:
            # Only the first part can be refused: ZeroMQ takes, or drops, the others with it.
            return None
        if not shared:
            return COPIED
        tracker = shared[0] if len(shared) == 1 else zmq.MessageTracker(*shared)
        self._in_flight.append(tracker)
        return tracker

    def wait_writable(self, seconds: float) -> bool:
        """Wait until there may be room for a message; return false if there was none."""
        if self._is_full():
            # What a lost peer has not taken is let go of only once ZeroMQ has processed its commands, and
            # nothing is sent meanwhile, which would have it do so.
            self._socket.getsockopt(zmq.EVENTS)
            try:
                self._in_flight[0].wait(seconds)
            except zmq.NotDone:
                return False
        return bool(self._socket.poll(int(seconds * 1000), zmq.POLLOUT))

    def limit(self, messages: int) -> None:
        """Let so many messages of 64 kB and more per receiver wait in ZeroMQ from now on, and no more.

        It is the sum that is limited: one of several receivers may hold them all if it takes nothing.
        """
        # Not by SNDHWM: libzmq (4.3.5) lowers that of a connected pipe at once, but its peer gives room again
        # only after half as many messages as before. A series of larger frames would find the pipe full.
        # And it crashes if it changes the mark while the pipe of a lost peer is being put away.
        self._limit = messages

    @property
    def peers(self) -> tuple[str, ...]:
        """Addresses (host:port) of the connected peers."""
        with self.peers_changed:
            return tuple(self._connections.peers.values())

    def wait_peers(self, count: int, timeout: float | None = None) -> bool:
        """Wait until so many peers are connected and have room; return whether they are."""
        with self.peers_changed:
            return self.peers_changed.wait_for(lambda: len(self._connections.peers) >= count, timeout)

    def close(self, linger: float | None = None, stopping: Callable[[], bool] = lambda: False) -> None:
        """Close, waiting for queued messages.

        Args:
            linger: seconds for which it waits at most (default: that of the constructor).
            stopping: returns true once it shall not wait any longer.
        """
        if self._socket.closed:
            return
        self._socket.disable_monitor()
        self._watcher.join()
        self._socket.close(None if linger is None else int(linger * 1000))
        call(self._context.term, stopping)

    def _is_full(self) -> bool:
        most = self._limit * max(1, len(self._connections.peers))
        if len(self._in_flight) >= most:
            self._in_flight = [tracker for tracker in self._in_flight if not tracker.done]
        return len(self._in_flight) >= most

    def _watch(self, monitor: zmq.Socket[bytes]) -> None:
        while True:
            kind, fd, _ = zmq_sockets.monitor_report(monitor)
            if kind == zmq.EVENT_MONITOR_STOPPED:
                break
            with self.peers_changed:
                connections, new = self._connections, []
                self._has_news = True
                if kind == zmq.EVENT_ACCEPTED:
                    new = connections.accepted(fd, _peer_name(fd))
                elif kind == zmq.EVENT_HANDSHAKE_SUCCEEDED:
                    new = connections.shaken_hands()
                elif (name := connections.gone(fd)) is not None:
                    log.info("receiver at %s disconnected", name)
                for name in new:
                    log.info("receiver connected from %s", name)
                self._is_open = bool(connections.peers)
                self.peers_changed.notify_all()
        monitor.close(0)


def _peer_name(fd: int) -> str:
    """Return the address of the peer; the monitor itself only gives the local one."""
    try:
        with socket.socket(fileno=os.dup(fd)) as twin:
            name = twin.getpeername()
    except OSError:
        return "unknown"
    return host_port(name[0], name[1]) if isinstance(name, tuple) else str(name or "local")
