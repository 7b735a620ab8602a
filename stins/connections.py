"""Which connections of a bound ZeroMQ socket are peers, told by the events of its monitor.

A connection is a peer once it has shaken hands. The event of the handshake does not say whose it was
(zmq_socket_monitor(3): its value is 0); a peer shakes hands within milliseconds, a stranger that only holds a
connection open never does: so it is taken for that of the newest connection that has not.
"""

from __future__ import annotations


class Connections:
    """Connections by the descriptor that the events name."""

    def __init__(self) -> None:
        self._accepted: dict[int, str] = {}
        self.peers: dict[int, str] = {}
        """Those that have shaken hands, with the names that they were accepted with."""

    def accepted(self, descriptor: int, name: str = "") -> None:
        """Somebody has connected (ZMQ_EVENT_ACCEPTED)."""
        self._accepted[descriptor] = name

    def shaken_hands(self) -> str | None:
        """One of them speaks ZeroMQ (ZMQ_EVENT_HANDSHAKE_SUCCEEDED); returns its name, `None` if nobody was
        left who could have."""
        if not self._accepted:
            return None
        descriptor, name = self._accepted.popitem()
        self.peers[descriptor] = name
        return name

    def gone(self, descriptor: int) -> str | None:
        """A connection is gone (ZMQ_EVENT_DISCONNECTED, ZMQ_EVENT_CLOSED); returns the name of a peer, `None`
        where it was none."""
        self._accepted.pop(descriptor, None)
        return self.peers.pop(descriptor, None)
