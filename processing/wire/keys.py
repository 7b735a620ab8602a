"""The key of a pipeline, with which distributor and workers encrypt what they send (CurveZMQ).

The key is one line of 40 characters in a file, the same on both sides: whoever has it may run the pipeline's
code and see its frames, and nobody else.
"""

from __future__ import annotations

import os
from pathlib import Path

import zmq

from penstock.stins.errors import UserError

LENGTH = 40
"""Characters of a key: 32 bytes in Z85. Source: ZeroMQ RFC 32/Z85, RFC 26/CurveZMQ."""


class BadKey(UserError):
    """A file has no key; the sentence says why."""


def make(path: Path) -> None:
    """Write a new key into a file that only its owner may read.

    Raises:
        OSError: the file exists, or cannot be written.
    """
    _, secret = zmq.curve_keypair()
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(secret + b"\n")


def read(path: Path) -> bytes:
    """Return the key in a file.

    Raises:
        BadKey: there is none; the sentence names the file.
    """
    try:
        key = path.read_bytes().strip()
    except OSError as error:
        raise BadKey(f"key file {path} cannot be read: {error.strerror}") from error
    try:
        if len(key) != LENGTH:
            raise ValueError(f"it has {len(key)} characters")
        zmq.curve_public(key)
    except ValueError as error:
        raise BadKey(
            f"{path} has no key: {error}. A key is one line of {LENGTH} characters; "
            "take the file of the distributor"
        ) from error
    return key


def serve(socket: zmq.Socket[bytes], key: bytes) -> None:
    """Let a socket, before it is bound, take only those who have the key."""
    socket.curve_secretkey = key
    socket.curve_server = True


def join(socket: zmq.Socket[bytes], key: bytes) -> None:
    """Let a socket, before it is connected, encrypt for those who have the key."""
    socket.curve_publickey, socket.curve_secretkey = zmq.curve_keypair()
    socket.curve_serverkey = zmq.curve_public(key)
