"""A bound PUSH socket that knows its peers; `penstock replay` sends through it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

import zmq

from penstock.hosts import zmq_sockets
from penstock.stins.addresses import is_ipv6
from penstock.stins.connections import HANDSHAKE_MS, Connections
from penstock.stins.texts import plural
from penstock.streamer.slices import call, slices

HIGH_WATER_MARK = 16
"""Messages in flight; few, since a recorded start message has megabytes."""


class PushError(Exception):
    """The socket cannot do what is asked; the sentence says what to change."""


class PushSocket:
    """A PUSH socket, bound at once; it drops nothing, but waits for its peers.

    Args:
        endpoint: such as "tcp://127.0.0.1:9999"; port 0 takes a free one.

    Raises:
        PushError: the endpoint is taken, or not valid.
    """

    def __init__(self, endpoint: str) -> None:
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.PUSH)
        self._socket.sndhwm = HIGH_WATER_MARK
        self._socket.set(zmq.IPV6, is_ipv6(endpoint))
        self._socket.set(zmq.ZAP_DOMAIN, b"penstock")  # ZMTP 3 alone, as in `streamer.push_socket`
        self._socket.set(zmq.HANDSHAKE_IVL, HANDSHAKE_MS)
        self._connections = Connections()
        events = zmq.EVENT_ACCEPTED | zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED
        self._monitor: Any = self._socket.get_monitor_socket(events)
        try:
            self._socket.bind(endpoint)
        except zmq.ZMQError as error:
            self._close(0)
            raise PushError(
                f"cannot bind {endpoint}: {error.strerror}; is another streamer there?"
            ) from error
        self.endpoint = bytes(self._socket.getsockopt(zmq.LAST_ENDPOINT)).decode()
        """Endpoint as bound, with the port in use."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close(0)

    @property
    def peers(self) -> int:
        """Number of connections now."""
        return len(self._connections.peers)

    def wait_for_peers(self, count: int, timeout: float) -> None:
        """Return once `count` sockets of receivers are connected.

        Raises:
            PushError: they are not within `timeout` seconds.
        """
        due = time.monotonic() + timeout
        while self.peers < count:
            if not any(map(self._watch, slices(due - time.monotonic()))):
                raise PushError(
                    f"{self.peers} of {plural(count, 'connection')} at {self.endpoint} after {timeout:g} s; "
                    "is the receiver running, and is this endpoint in its source.endpoints?"
                )

    def send(self, message: Sequence[bytes], timeout: float) -> None:
        """Send one multi-part message.

        Raises:
            PushError: nobody took it for `timeout` seconds.
        """
        for seconds in slices(timeout):
            self._socket.sndtimeo = int(seconds * 1000)
            with contextlib.suppress(zmq.Again):  # nothing of it has left
                self._socket.send_multipart(message, copy=False)
                return
        while self._watch(0):
            pass
        raise PushError(
            f"no receiver at {self.endpoint} has taken a message for {timeout:g} s "
            f"({self.peers} connected); check that it is still running"
        )

    def drain(self, timeout: float) -> None:
        """Wait until everything is handed to the network, then close."""
        self._close(int(timeout * 1000))

    def _watch(self, seconds: float) -> bool:
        """Handle the next change of connections; return false if there was none in time."""
        if not self._monitor.poll(int(max(0.0, seconds) * 1000)):
            return False
        report = zmq_sockets.monitor_report(self._monitor)
        if report.event == zmq.EVENT_ACCEPTED:
            self._connections.accepted(report.value)
        elif report.event == zmq.EVENT_HANDSHAKE_SUCCEEDED:
            self._connections.shaken_hands()
        else:
            self._connections.gone(report.value)
        return True

    def _close(self, linger_ms: int) -> None:
        if self._socket.closed:
            return
        self._socket.disable_monitor()
        self._monitor.close(linger=0)
        self._socket.close(linger=linger_ms)
        call(self._context.term)
