"""Who calls a device: what Tango knows of the client whose command is being executed."""

from __future__ import annotations

import re
import socket
import threading

import tango

PATIENCE = 0.1
"""Seconds that a command waits for the name of a host, once for each; its address stands in meanwhile."""
LOCAL = ("127.", "::1", "localhost")
JAVA = (tango.LockerLanguage.JAVA, tango.LockerLanguage.JAVA_6)


class Clients:
    """Names the clients of a device, for people."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def caller(self, device: tango.server.Device) -> str:
        """Say who has called the command that this thread executes; "" when nobody did, or nobody knows.

        omniORB keeps what the client said of itself with the thread that serves it, so that two who call at
        once are not mixed up. The device's black box could be mistaken: it has both before either is served.
        """
        # Tango crashes the process when it is asked in a thread that is none of omniORB's.
        ident = device.get_client_ident() if tango.is_omni_thread() else None
        if ident is None:
            return ""
        host = self._host(address_in(ident.client_ip))
        if not ident.client_ident:  # too old to say more
            return in_words("Tango", 0, host)
        if ident.client_lang in JAVA:
            found = re.search(r"\bPID=(\d+)", ident.java_main_class)
            return in_words("Java", int(found[1]) if found else 0, host)
        return in_words("Python or C++", ident.client_pid, host)  # one library, which says no more

    def _host(self, address: str) -> str:
        """Name of a host, or its address while a name server has yet to answer."""
        if not address or address.startswith(LOCAL):
            return socket.gethostname()
        if address not in self._names:
            self._names[address] = address
            thread = threading.Thread(target=self._resolve, args=(address,), name="host name", daemon=True)
            thread.start()
            thread.join(PATIENCE)
        return self._names[address]

    def _resolve(self, address: str) -> None:
        self._names[address] = socket.getfqdn(address)  # the address itself where nobody knows a name


def address_in(endpoint: str) -> str:
    """Return the address in omniORB's name of a connection; "" for one within this host.

    It is "giop:tcp:10.0.0.5:40112", "giop:tcp:[fe80::1]:40112" or "giop:unix:/tmp/omni…".
    """
    transport, _, rest = endpoint.removeprefix("giop:").partition(":")
    return "" if transport == "unix" else rest.rpartition(":")[0].strip("[]")


def in_words(language: str, pid: int, host: str) -> str:
    """Return a client as people know it: "Java client, PID 4321 on daq-1"."""
    return f"{language} client, PID {pid} on {host}" if pid else f"{language} client on {host}"
