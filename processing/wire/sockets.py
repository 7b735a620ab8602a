"""What both ends of the connection between a distributor and a worker have in common."""

from __future__ import annotations

import ipaddress
import shutil
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

import zmq

from penstock.stins.addresses import bare, is_ipv6
from penstock.stins.connections import HANDSHAKE_MS

MOST = 60
"""Characters of the folder's parent: the name of a socket has 107 at most."""
_PREFIX, _NAME, _SCHEME = "penstock-workers-", "socket", "ipc://"


def make_folder() -> Path:
    """Return a new folder, mode 0700, where temporary files go; in /tmp if that name is too long.

    Raises:
        OSError: it cannot be made.
    """
    parent = tempfile.gettempdir()
    return Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent if len(parent) <= MOST else "/tmp"))


def endpoint(folder: Path) -> str:
    """Return the endpoint in a folder."""
    return f"{_SCHEME}{folder / _NAME}"


def remove_folder(folder: Path) -> None:
    """Remove a folder, and the socket in it."""
    shutil.rmtree(folder, ignore_errors=True)


def remove(address: str) -> None:
    """Remove the folder of an endpoint, which a killed distributor has left; of others do nothing."""
    path = Path(address.removeprefix(_SCHEME))
    if address.startswith(_SCHEME) and path.name == _NAME and path.parent.name.startswith(_PREFIX):
        remove_folder(path.parent)


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
