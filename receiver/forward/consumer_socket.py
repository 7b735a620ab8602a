"""The socket of a consumer: a bound PUSH socket that holds few messages itself."""

from __future__ import annotations

import zmq

from penstock.hosts.zmq_sockets import IN_SOCKET, VANISHED_SECONDS, keep_alive
from penstock.receiver.config import ForwardConfig
from penstock.stins.addresses import is_ipv6
from penstock.stins.connections import HANDSHAKE_MS
from penstock.stins.errors import UserError

CLOSE_SECONDS = 1.0
"""Seconds in which queued messages can still leave when the receiver ends."""


class CannotBind(UserError):
    """A consumer's address cannot be bound; the sentence names the consumer, the address and the reason."""


def push_socket(context: zmq.Context[zmq.Socket[bytes]]) -> zmq.Socket[bytes]:
    """Return a socket with its options, not bound yet: what observes its connections comes first."""
    socket = context.socket(zmq.PUSH)
    socket.set(zmq.SNDHWM, IN_SOCKET)
    # This refuses only peers older than ZMTP 3.0, for one of which libzmq takes an HTTP client.
    socket.set(zmq.ZAP_DOMAIN, b"penstock")
    socket.set(zmq.HANDSHAKE_IVL, HANDSHAKE_MS)
    socket.set(zmq.LINGER, int(CLOSE_SECONDS * 1000))
    keep_alive(socket, VANISHED_SECONDS)
    return socket


def bind(socket: zmq.Socket[bytes], config: ForwardConfig) -> None:
    """Bind a socket to a consumer's address.

    Raises:
        CannotBind: that cannot be done.
    """
    socket.set(zmq.IPV6, is_ipv6(config.endpoint))
    try:
        socket.bind(config.endpoint)
    except zmq.ZMQError as error:
        reason = "the port is taken" if error.errno == zmq.EADDRINUSE else error.strerror
        raise CannotBind(
            f"consumer {config.name}: cannot bind {config.endpoint}: {reason}; "
            "choose another forward endpoint"
        ) from error


def is_ready(socket: zmq.Socket[bytes], event: int) -> bool:
    """Return whether a socket is ready; cheaper than `poll`, since it is called for every frame."""
    return bool(int(socket.get(zmq.EVENTS)) & event)
