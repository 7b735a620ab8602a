"""What both ends of the connection between a distributor and a worker have in common."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

import zmq

from penstock.stins.addresses import bare, is_ipv6
from penstock.stins.connections import HANDSHAKE_MS

HEARTBEAT_MS, SILENT_MS = 250, 2000
"""Interval of ZMTP's heartbeats, and the silence after which a connection is given up: a stopped process or a
host that has vanished. The I/O thread sends them, however long user code takes."""


def prepare(socket: zmq.Socket[bytes], endpoint: str) -> None:
    """Set what holds for both ends, before the socket is bound or connected to an endpoint.

    Nothing is ever dropped for want of room: the credits of the workers bound what is queued.
    """
    socket.set(zmq.IPV6, is_ipv6(endpoint))
    socket.set(zmq.SNDHWM, 0)
    socket.set(zmq.RCVHWM, 0)
    socket.set(zmq.HANDSHAKE_IVL, HANDSHAKE_MS)
    socket.set(zmq.HEARTBEAT_IVL, HEARTBEAT_MS)
    socket.set(zmq.HEARTBEAT_TIMEOUT, SILENT_MS)


def is_local(address: str) -> bool:
    """Return whether an endpoint is on this machine alone."""
    parts = urlsplit(address)
    if parts.scheme in ("ipc", "inproc"):
        return True
    host = bare(parts.netloc.rpartition(":")[0])
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
