"""The connections of a bound ZeroMQ socket that are peers, according to the events of its monitor.

A connection is a peer once its handshake is complete. The event of a handshake does not tell its connection
(zmq_socket_monitor(3): its value is 0), and other programs may connect at any moment: so the kernel is asked
which connections have sent more than a greeting. ZeroMQ closes a connection that sends something else within
microseconds. One that stops in the middle of its handshake counts as a peer from the next handshake on, until
ZeroMQ's time limit for handshakes (`HANDSHAKE_MS`) is over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from penstock.stins import tcp

HANDSHAKE_MS = 3000
"""Value of ZMQ_HANDSHAKE_IVL for all data sockets: the longest time for a handshake, which normally takes a
few round trips; libzmq's own limit is 30 s. For so long a connection with half a handshake can pass for a
peer of a bound socket, and a silent program at the endpoint can keep a connecting socket from trying
again."""

KEEPALIVE_SECONDS = 60
"""Seconds within which both sides of a data connection notice that the other's host has vanished. A network
that is interrupted for less does not end the connection: TCP sends again what was lost."""


class KeepAlive(NamedTuple):
    """Values of TCP keep-alive: seconds of silence until the first probe, and between two; their number."""

    idle: int
    interval: int
    probes: int


def keepalive(seconds: int) -> KeepAlive:
    """Return the values with which a vanished host is noticed within so many seconds, 3 at least.

    The first probe is sent early, so that an interrupted network can be named, and many follow, so that it is
    given up late.
    """
    interval = max(1, seconds // 10)
    return KeepAlive(1, interval, (seconds - 1) // interval)


class Connections:
    """Connections by the descriptor that the events name.

    Args:
        has_answered: whether the connection of a descriptor has said more than a greeting.
    """

    def __init__(self, has_answered: Callable[[int], bool] = tcp.has_answered) -> None:
        self._has_answered = has_answered
        self._accepted: dict[int, str] = {}
        # With several I/O threads, the events of a connection may overtake that of its coming.
        self._came_and_left: set[int] = set()
        # Whether somebody has shaken hands who is not known to have come: the next to come is that one. One
        # thread accepts, hands a connection on, and then tells of its coming, so no other coming is told in
        # between. Where the handshake was of one that had been seen already, it is about nobody, and asking
        # the kernel once too often, about whoever comes next, does no harm. So any next coming clears it.
        self._is_one_unknown = False
        self.peers: dict[int, str] = {}
        """Connections that have shaken hands, with the names that they were accepted with."""

    def accepted(self, descriptor: int, name: str = "") -> list[str]:
        """Take a new connection (ZMQ_EVENT_ACCEPTED); return the names of new peers."""
        is_one_unknown, self._is_one_unknown = self._is_one_unknown, False
        if descriptor in self._came_and_left:
            self._came_and_left.remove(descriptor)
            return []
        self._accepted[descriptor] = name
        return self._new_peers() if is_one_unknown else []

    def shaken_hands(self) -> list[str]:
        """Take a completed handshake (ZMQ_EVENT_HANDSHAKE_SUCCEEDED); return the names of new peers.

        None, where it had been seen at another's handshake already.
        """
        names = self._new_peers()
        self._is_one_unknown |= not names
        return names

    def gone(self, descriptor: int) -> str | None:
        """Take the end of a connection (ZMQ_EVENT_DISCONNECTED); return the name of a peer, `None` if it was
        none."""
        if descriptor in self.peers:
            return self.peers.pop(descriptor)
        if self._accepted.pop(descriptor, None) is None:
            self._came_and_left.add(descriptor)
        return None

    def _new_peers(self) -> list[str]:
        new = [descriptor for descriptor in self._accepted if self._has_answered(descriptor)]
        for descriptor in new:
            self.peers[descriptor] = self._accepted.pop(descriptor)
        return [self.peers[descriptor] for descriptor in new]
