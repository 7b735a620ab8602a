"""What the kernel knows of a connection that another library holds."""

from __future__ import annotations

import socket
import struct

GREETING = 64
"""Bytes that both ends of ZeroMQ's protocol begin with; then comes the handshake. Source: RFC 37/ZMTP."""
_COUNTS = struct.Struct("=128xQ4xI")
"""Of `struct tcp_info`, linux/tcp.h: bytes received, segments received."""


def has_answered(descriptor: int) -> bool:
    """Whether more than a greeting has come over a connection; also where the kernel does not count."""
    try:
        # Not a duplicate, which would hold the connection open. All that is asked goes for IPv6, too.
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
