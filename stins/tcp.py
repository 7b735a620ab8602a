"""Kernel statistics of a TCP connection that belongs to another library."""

from __future__ import annotations

import socket
import struct
from typing import NamedTuple

GREETING = 64
"""Bytes of the greeting of ZeroMQ's protocol, before the handshake. Source: RFC 37/ZMTP."""
_COUNTS = struct.Struct("=128xQ4xI")
"""Part of `struct tcp_info`, linux/tcp.h: bytes received, segments received."""
_TIMES = struct.Struct("=3xB48xII")
"""Part of `struct tcp_info`: unanswered probes, milliseconds since data and since an answer came."""


class Silence(NamedTuple):
    """How long a connection has been silent, in seconds."""

    unanswered: float
    """Since the peer's host last answered, while keep-alive probes have no answer; otherwise 0."""
    without_data: float
    """Since data last came."""


def has_answered(descriptor: int) -> bool:
    """Return whether more than a greeting has come over a connection; also where the kernel does not
    count."""
    facts = _facts(descriptor, _COUNTS.size)
    if facts is None:
        return False  # closed meanwhile
    if len(facts) < _COUNTS.size:
        return True  # not TCP, or the kernel does not count
    received, segments = _COUNTS.unpack(facts)
    return received > GREETING or not segments


def silence(descriptor: int) -> Silence:
    """Return how long a connection has been silent; zeros if it is closed, or not TCP."""
    facts = _facts(descriptor, _TIMES.size)
    if facts is None or len(facts) < _TIMES.size:
        return Silence(0.0, 0.0)
    probes, data, answer = _TIMES.unpack(facts)
    return Silence(min(data, answer) / 1000 if probes else 0.0, data / 1000)


def _facts(descriptor: int, size: int) -> bytes | None:
    """Return the beginning of the kernel's `struct tcp_info`: "" if it is not TCP, `None` if it is closed."""
    try:
        # Not a duplicate descriptor, which would keep the connection open. This works for IPv6, too.
        borrowed = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, fileno=descriptor)
    except (OSError, ValueError):  # below 0 while there is no connection
        return None
    try:
        return borrowed.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, size)
    except OSError:
        return b""
    finally:
        borrowed.detach()
