"""Kernel statistics of a TCP connection that belongs to another library."""

from __future__ import annotations

import socket
import struct

GREETING = 64
"""Bytes of the greeting of ZeroMQ's protocol, before the handshake. Source: RFC 37/ZMTP."""
_COUNTS = struct.Struct("=128xQ4xI")
"""Part of `struct tcp_info`, linux/tcp.h: bytes received, segments received."""


def has_answered(descriptor: int) -> bool:
    """Return whether more than a greeting has come over a connection; also where the kernel does not
    count."""
    try:
        # Not a duplicate descriptor, which would keep the connection open. This works for IPv6, too.
        borrowed = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, fileno=descriptor)
    except OSError:
        return False  # closed meanwhile
    try:
        facts = borrowed.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _COUNTS.size)
    except OSError:
        return True  # not TCP
    finally:
        borrowed.detach()
    if len(facts) < _COUNTS.size:
        return True
    received, segments = _COUNTS.unpack(facts)
    return received > GREETING or not segments
