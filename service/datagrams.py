"""The link between a service and a process that it watches: a socket pair, one JSON message per datagram."""

from __future__ import annotations

import logging
import socket
from dataclasses import fields, is_dataclass
from itertools import islice
from typing import Any, TypeVar

import msgspec

from penstock.stins.texts import quoted

log = logging.getLogger(__name__)

T = TypeVar("T")
SEND_BUFFER = 2**20
LONGEST = 2**17
"""Most bytes of a message: by default, a datagram of Linux holds 208 kB."""
MOST_CHARACTERS, MOST_ENTRIES = 200, 50
"""Limits of texts and lists in a message that would be too long; within these it always fits."""


def pair() -> tuple[socket.socket, socket.socket]:
    """Return the two ends."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for end in (ours, theirs):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
    return ours, theirs


class Datagrams:
    """One end of the link.

    Args:
        channel: socket of this end.
    """

    def __init__(self, channel: socket.socket) -> None:
        self._socket = channel
        # The kernel counts its own overhead as well, at most half of a datagram.
        self._longest = min(LONGEST, channel.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) // 2)
        self._cut_logged = False
        self.fileno = channel.fileno()
        """Descriptor to watch: readable when there is a message."""

    def wait(self, kind: type[T]) -> T:
        """Wait for a message, and return it."""
        return msgspec.json.decode(self._socket.recv(2**20), type=kind)

    def receive(self, kind: type[T]) -> T | None:
        """Return the next message; `None` if there is none now.

        Raises:
            EOFError: the other side is gone.
        """
        try:
            message = self._socket.recv(2**20, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None
        except ConnectionError:
            message = b""
        if not message:
            raise EOFError
        return msgspec.json.decode(message, type=kind)

    def send(self, value: Any, *, cut: bool = False, wait: bool = False) -> None:
        """Send a message.

        Args:
            value: the message.
            cut: whether its texts and lists may be cut if it is too long.
            wait: whether to wait for a slow other side.

        Raises:
            BlockingIOError: the other side is slow.
            ConnectionError: it is gone.
            OSError: the message is too long.
        """
        message = self._encoded(value) if cut else msgspec.json.encode(value)
        self._socket.send(message, 0 if wait else socket.MSG_DONTWAIT)

    def close(self) -> None:
        """Close this end; the other side sees that it is gone."""
        self._socket.close()

    def _encoded(self, value: Any) -> bytes:
        message = msgspec.json.encode(value)
        if len(message) <= self._longest:
            return message
        if not self._cut_logged:
            self._cut_logged = True
            log.warning(
                "a %s of %d bytes was cut to texts of %d characters and lists of %d entries",
                type(value).__name__.lower(), len(message), MOST_CHARACTERS, MOST_ENTRIES,
            )  # fmt: skip
        return msgspec.json.encode(_cut(value))


def _cut(value: Any) -> Any:
    """Return a value as built-in types, its texts and lists cut to the limits."""
    match value:
        case str():
            return quoted(value, MOST_CHARACTERS)
        case list() | tuple():
            return [_cut(item) for item in value[:MOST_ENTRIES]]
        case dict():
            kept = islice(value.items(), MOST_ENTRIES)
            return {quoted(key, MOST_CHARACTERS): _cut(item) for key, item in kept}
        case msgspec.Struct():
            names = value.__struct_fields__
        case _ if is_dataclass(value):
            names = tuple(field.name for field in fields(value))
        case _:
            return value
    return {name: _cut(getattr(value, name)) for name in names}
