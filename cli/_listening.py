"""The socket of a service's HTTP interface."""

from __future__ import annotations

import errno
import socket

from penstock.cli.main import UserError
from penstock.stins.addresses import bare

NO_HOST = (socket.EAI_NONAME, socket.EAI_AGAIN, socket.EAI_NODATA)
NO_SUCH_HOST = "no host of this name is known; give an address of this machine, or 0.0.0.0 for all of them"


def listen(http: str, what: str) -> tuple[socket.socket, str]:
    """Return a socket that listens, and the URL of what answers there.

    Args:
        http: HOST:PORT; port 0 takes any free one.
        what: who else may be there, such as "receiver".

    Raises:
        UserError: the address cannot be used; the sentence says why.
    """
    host, _, port = http.rpartition(":")
    try:
        host.encode("idna")  # else `create_server` raises a TypeError, and leaves its socket open
        is_ipv6 = host.startswith("[")
        listener = socket.create_server(
            (bare(host), int(port)), family=socket.AF_INET6 if is_ipv6 else socket.AF_INET, reuse_port=False,
            # [::] means all addresses, those of IPv4 included.
            dualstack_ipv6=host == "[::]" and socket.has_dualstack_ipv6(),
        )  # fmt: skip
    except OSError as error:
        raise UserError(f"cannot listen on {http}: {_reason(error, what)}") from error
    except UnicodeError as error:  # a name that cannot be encoded for the network, such as "ä..b"
        raise UserError(f"cannot listen on {http}: {NO_SUCH_HOST}") from error
    # Inherited by every connection. asyncio sets it only on sockets whose protocol is named, and
    # without it each answer waits 40 ms for the client's delayed acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener, f"http://{host}:{listener.getsockname()[1]}"


def _reason(error: OSError, what: str) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"the port is taken; is another {what} there? `--http 127.0.0.1:0` takes any free one"
    if error.errno == errno.EADDRNOTAVAIL:
        return "this machine has no such address; 0.0.0.0 means all of its addresses"
    if error.errno in NO_HOST:  # `create_server` turns the gaierror into an OSError
        return NO_SUCH_HOST
    return str(error.strerror)
