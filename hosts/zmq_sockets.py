"""ZeroMQ sockets whose peer may vanish or move: options, a consumer's socket, what a monitor reports."""

from __future__ import annotations

import struct
from typing import NamedTuple

import zmq

from penstock.stins.addresses import is_ipv6
from penstock.stins.connections import HANDSHAKE_MS, keepalive

HEAD = struct.Struct("=Hi")
"""The first part: number of the event, and its value (zmq_socket_monitor(3))."""


class Report(NamedTuple):
    """What has happened to a socket."""

    event: int
    """One of `zmq.Event`."""
    value: int
    """What it means depends on the event; mostly the descriptor of the connection."""
    endpoint: str


def monitor_report(monitor: zmq.Socket[bytes]) -> Report:
    """Return the next report; waits for it. `zmq.utils.monitor` would import asyncio.

    Args:
        monitor: what `get_monitor_socket` has returned.
    """
    head, endpoint = monitor.recv_multipart()
    event, value = HEAD.unpack(head)
    return Report(event, value, endpoint.decode())


CONNECT_MS = 3000
"""Longest attempt to connect, in milliseconds. The kernel asks a silent host less and less often, for two
minutes; an address that has moved, such as that of a name, is asked for again with each attempt."""
IN_SOCKET = 8
"""Messages that ZeroMQ itself holds for a consumer: it counts messages, not bytes, so they are few."""
VANISHED_SECONDS = 3
"""Seconds within which the two ends of a consumer's connection notice that the other's host has vanished, if
nothing is on its way."""


def keep_alive(socket: zmq.Socket[bytes], seconds: int) -> None:
    """Let the kernel notice within so many seconds that the host at the other end has vanished.

    ZeroMQ's own heartbeats would not do: while its queue is full, libzmq reads no answers, takes the peer for
    dead, and drops what is on its way.
    """
    idle, interval, probes = keepalive(seconds)
    socket.set(zmq.TCP_KEEPALIVE, 1)
    socket.set(zmq.TCP_KEEPALIVE_IDLE, idle)
    socket.set(zmq.TCP_KEEPALIVE_INTVL, interval)
    socket.set(zmq.TCP_KEEPALIVE_CNT, probes)


def consumer(context: zmq.Context[zmq.Socket[bytes]], endpoint: str) -> zmq.Socket[bytes]:
    """Return a socket that takes what a forward entry of a receiver sends, wherever that receiver moves."""
    socket = context.socket(zmq.PULL)
    socket.set(zmq.RCVHWM, IN_SOCKET)
    socket.set(zmq.LINGER, 0)
    socket.set(zmq.IPV6, is_ipv6(endpoint))
    socket.set(zmq.CONNECT_TIMEOUT, CONNECT_MS)
    socket.set(zmq.HANDSHAKE_IVL, HANDSHAKE_MS)
    keep_alive(socket, VANISHED_SECONDS)
    socket.connect(endpoint)
    return socket
