"""Reports of a ZeroMQ socket's monitor, read without importing asyncio.

`zmq.utils.monitor` of PyZMQ does the same, and imports asyncio for its other half: 30 ms of the start of
every process that has a socket.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import zmq

HEAD = struct.Struct("=Hi")
"""The first part: number of the event, and its value (zmq_socket_monitor(3))."""


class Report(NamedTuple):
    """What has happened to a socket."""

    event: int
    """One of `zmq.Event`."""
    value: int
    """What it means depends on the event; mostly the descriptor of the connection."""
    endpoint: str


def receive(monitor: zmq.Socket[bytes]) -> Report:
    """Return the next report; waits for it.

    Args:
        monitor: what `get_monitor_socket` has returned.
    """
    head, endpoint = monitor.recv_multipart()
    event, value = HEAD.unpack(head)
    return Report(event, value, endpoint.decode())
