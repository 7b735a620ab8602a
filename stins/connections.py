"""Which connections of a bound ZeroMQ socket are peers, told by the events of its monitor.

A connection is a peer once it has shaken hands. The event of the handshake does not say whose it was
(zmq_socket_monitor(3): its value is 0), and strangers come and go at any moment: so the kernel is asked which
connections have said more than a greeting. Who says more and is no peer is cut off by ZeroMQ within
microseconds of a wrong word, and leaves like any other. Who stops in mid-handshake counts as a peer from the
next handshake on, until ZeroMQ's limit for one (`HANDSHAKE_MS`) is over.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.stins import tcp

HANDSHAKE_MS = 3000
"""For ZMQ_HANDSHAKE_IVL of every bound data socket: how long a connection may take to shake hands. An honest
one takes a few round trips, and one that is cut off connects again; so long a stranger with half a handshake
can pass for a peer (libzmq's own limit is 30 s)."""


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
        """Those that have shaken hands, with the names that they were accepted with."""

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
