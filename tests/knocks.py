"""Connections that are made by hand: each step is taken when a test says so."""

from __future__ import annotations

import contextlib
import socket

DEADLINE = 10.0
GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
"""Of a peer that speaks ZMTP 3. Source: RFC 37/ZMTP."""
READY = b"\x05READY\x0bSocket-Type\x00\x00\x00\x04"


def listens(host: str, port: int) -> bool:
    """Whether anybody accepts connections there.

    To bind the port would tell as well, and may take it from a program that is about to listen there.
    """
    with socket.socket() as trial:
        return trial.connect_ex((host, port)) == 0


def knock(endpoint: str) -> socket.socket:
    """A connection that has said nothing yet; ZeroMQ has accepted it."""
    host, _, port = endpoint.removeprefix("tcp://").rpartition(":")
    knocks = socket.create_connection((host, int(port)), DEADLINE)
    # What it says first, it says to anybody.
    knocks.recv(1, socket.MSG_PEEK)
    return knocks


def shake_hands(knocks: socket.socket, role: bytes = b"PULL") -> None:
    """Say what a ZeroMQ socket says to become a peer, or to be refused for its role."""
    ready = READY + role
    knocks.sendall(GREETING + b"\x04" + bytes([len(ready)]) + ready)


def message(knocks: socket.socket, wanted: bytes) -> bytes:
    """What has come over a connection up to these bytes, with them."""
    came = b""
    while wanted not in came:
        more = knocks.recv(4096)
        assert more, f"cut off after {came!r}"
        came += more
    return came


def ask_for_a_page(knocks: socket.socket) -> None:
    """Do as a browser does; wait until it is cut off."""
    knocks.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: a probe\r\nAccept: */*\r\n\r\n")
    until_cut_off(knocks)


def until_cut_off(knocks: socket.socket) -> None:
    """Wait until the other end has closed."""
    with contextlib.suppress(ConnectionResetError):
        while knocks.recv(4096):
            pass
