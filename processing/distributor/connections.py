"""The distributor's side of the connections to its workers: ROUTER sockets, and who is gone.

The death of a worker is noticed by its connection: at once where the kernel closes it, else by ZMTP's
heartbeats. The events of a socket's monitor give the descriptor of a connection that was made or has ended; a
message gives that of the connection it came by (ZMQ_SRCFD). Descriptors are used again at once: so all events
are read before a message is believed to be somebody's first one, and if two claim a descriptor, the earlier
one is asked: ROUTER_MANDATORY says of a message whether there is a connection for it.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import zmq

from penstock.hosts import zmq_sockets
from penstock.processing import wire
from penstock.processing.wire import keys, local, sockets
from penstock.stins.messages import Buffer

Context: TypeAlias = "zmq.Context[zmq.Socket[bytes]]"
LOCAL_PORT = 0
"""Number of the port for workers on this machine."""
MOST = 256
"""Messages that are taken at once, so that other sockets have their turn."""
LEAVE_MS = 1000
"""Longest time in which the last messages may leave at the end."""
_PROBE = wire.encode(wire.HandOver(series=0))
REFUSED = (
    zmq.EVENT_HANDSHAKE_FAILED_AUTH
    | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
)


class CannotListen(Exception):
    """An address for workers cannot be bound; the sentence names it."""


class Peer(NamedTuple):
    """A connection."""

    port: int
    """See `LOCAL_PORT`."""
    identity: bytes
    """ZeroMQ's, never used again."""


class _Port:
    """One bound socket with its monitor."""

    def __init__(self, context: Context, endpoint: str, key: bytes | None) -> None:
        self.socket = socket = context.socket(zmq.ROUTER)
        self.is_trusted = key is not None or sockets.is_local(endpoint)
        self.refused = 0
        sockets.prepare(socket, endpoint)
        socket.set(zmq.ROUTER_MANDATORY, 1)
        socket.set(zmq.LINGER, LEAVE_MS)
        if key is not None:
            keys.serve(socket, key)
        self.monitor = socket.get_monitor_socket(zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED | REFUSED)
        try:
            socket.bind(endpoint)
        except zmq.ZMQError as error:
            self.close()
            raise CannotListen(
                f"workers cannot connect to {endpoint}: {error}; choose another address for listen"
            ) from error
        self.endpoint = socket.get_string(zmq.LAST_ENDPOINT)
        self._connected: set[int] = set()
        self._descriptors: dict[int, bytes] = {}
        self._identities: set[bytes] = set()
        self._gone: list[bytes] = []

    def receive(self) -> list[tuple[bytes, list[Buffer]]]:
        """Return messages that have come, with the identities of their senders."""
        found: list[tuple[bytes, list[Buffer]]] = []
        while len(found) < MOST:
            try:
                first, *rest = self.socket.recv_multipart(zmq.NOBLOCK, copy=False)
            except zmq.Again:
                break
            identity = first.bytes
            if identity not in self._identities:
                self.observe()
                self._know(identity, int(first.get(zmq.SRCFD)))
            found.append((identity, [frame.buffer for frame in rest]))
        return found

    def observe(self) -> None:
        """Take the events of the monitor."""
        while self.monitor.poll(0):
            report = zmq_sockets.monitor_report(self.monitor)
            match report.event:
                case zmq.EVENT_ACCEPTED:
                    self._connected.add(report.value)
                case zmq.EVENT_DISCONNECTED:
                    self._connected.discard(report.value)
                    self._lose(report.value)
                case _:
                    self.refused += 1

    def gone(self) -> list[bytes]:
        """Return who is gone since the last call."""
        found, self._gone = self._gone, []
        return found

    def is_there(self, identity: bytes) -> bool:
        """Ask whether there is still a connection, with a message that means nothing to a worker."""
        try:
            self.socket.send_multipart([identity, _PROBE], zmq.NOBLOCK)
        except zmq.ZMQError:
            return False
        return True

    def drop(self, identity: bytes) -> None:
        """Count somebody as gone."""
        for descriptor, found in self._descriptors.items():
            if found == identity:
                self._lose(descriptor)
                return

    def close(self) -> None:
        """Let the last messages leave, and close."""
        self.socket.disable_monitor()
        self.monitor.close(0)
        self.socket.close()

    def _know(self, identity: bytes, descriptor: int) -> None:
        """Take note of somebody, whose connection may have ended by now."""
        earlier = self._descriptors.get(descriptor)
        if earlier is not None and not self.is_there(earlier):
            self._lose(descriptor)
            earlier = None
        if earlier is None and descriptor in self._connected:
            self._descriptors[descriptor] = identity
            self._identities.add(identity)
        elif identity not in self._gone:
            self._gone.append(identity)

    def _lose(self, descriptor: int) -> None:
        identity = self._descriptors.pop(descriptor, None)
        if identity is not None:
            self._identities.discard(identity)
            self._gone.append(identity)


class Connections:
    """The addresses of a distributor, and who is connected there.

    Args:
        context: ZeroMQ's.
        listen: endpoint for workers on other machines; "" for none.
        key: file with the key that these need; `None`: not encrypted.

    Raises:
        CannotListen: the endpoint cannot be bound.
        BadKey: the file has no key.
    """

    def __init__(self, context: Context, listen: str = "", key: Path | None = None) -> None:
        secret = None if key is None else keys.read(key)
        try:
            self._folder = local.make_folder()
        except OSError as error:
            raise CannotListen(
                f"no folder can be made where workers of this machine connect: {error}; set TMPDIR to one "
                "that can be written"
            ) from error
        self._ports = [_Port(context, local.endpoint(self._folder), None)]
        if listen:
            try:
                self._ports.append(_Port(context, listen, secret))
            except CannotListen:
                self.close()
                raise
        self.address = self._ports[0].endpoint
        """Endpoint for workers on this machine and of this user: nobody else may connect there."""
        self.listen = self._ports[1].endpoint if listen else ""

    @property
    def sockets(self) -> list[zmq.Socket[bytes]]:
        """Sockets to be polled for input."""
        return [each for port in self._ports for each in (port.socket, port.monitor)]

    @property
    def refused(self) -> int:
        """Connections that were refused: they had no key, or the wrong one, or spoke something else."""
        return sum(port.refused for port in self._ports)

    def is_trusted(self, peer: Peer) -> bool:
        """Return whether source text may be sent to it: nobody else can have asked for it or change it."""
        return self._ports[peer.port].is_trusted

    def receive(self, readable: Container[Any] | None = None) -> list[tuple[Peer, list[Buffer]]]:
        """Return messages that have come; then ask who is `gone`, whose last messages these may be.

        Args:
            readable: those of `sockets` that can be read, if that is known: to ask each costs time.
        """
        found = []
        for number, port in enumerate(self._ports):
            if readable is None or port.monitor in readable:
                port.observe()
            if readable is not None and port.socket not in readable:
                continue
            found += [(Peer(number, identity), parts) for identity, parts in port.receive()]
        return found

    def gone(self) -> list[Peer]:
        """Return who is gone since the last call: the connection has ended, or was silent for too long."""
        return [Peer(number, identity) for number, port in enumerate(self._ports) for identity in port.gone()]

    def send(self, peer: Peer, parts: Sequence[Any]) -> bool:
        """Send a message; return whether the peer was still there."""
        port = self._ports[peer.port]
        try:
            port.socket.send_multipart([peer.identity, *parts], zmq.NOBLOCK, copy=False)
        except zmq.ZMQError as error:
            if error.errno not in (zmq.EHOSTUNREACH, zmq.EAGAIN):
                raise
            port.drop(peer.identity)
            return False
        return True

    def close(self) -> None:
        """Close the sockets; the last messages have a second to leave."""
        for port in self._ports:
            port.close()
        local.remove_folder(self._folder)
