"""The caller of a command: what Tango knows about the client whose command is being executed."""

from __future__ import annotations

import re
import socket
import threading

import tango

PATIENCE = 0.1
"""Seconds for which a command waits for the name of a host, once per host; until then its address is used."""
LOCAL = ("127.", "::1", "localhost")
JAVA = (tango.LockerLanguage.JAVA, tango.LockerLanguage.JAVA_6)


class Clients:
    """Describes the clients of a device in words."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def caller(self, device: tango.server.Device) -> str:
        """Return who called the command that this thread executes; "" if no client did, or it is unknown.

        omniORB keeps the client's identity with the thread that serves it, so that two simultaneous callers
        are not confused. Tango's black box could confuse them: it lists both before either is served.
        """
        # Outside omniORB's threads this call would crash the process.
        ident = device.get_client_ident() if tango.is_omni_thread() else None
        if ident is None:
            return ""
        host = self._host(address_in(ident.client_ip))
        if not ident.client_ident:  # an old client, which sends nothing else
            return in_words("Tango", 0, host)
        if ident.client_lang in JAVA:
            found = re.search(r"\bPID=(\d+)", ident.java_main_class)
            return in_words("Java", int(found[1]) if found else 0, host)
        return in_words("Python or C++", ident.client_pid, host)  # both use cppTango

    def _host(self, address: str) -> str:
        """Return the name of a host, or its address while the name server has not answered."""
        if not address or address.startswith(LOCAL):
            return socket.gethostname()
        if address not in self._names:
            self._names[address] = address
            thread = threading.Thread(target=self._resolve, args=(address,), name="host name", daemon=True)
            thread.start()
            thread.join(PATIENCE)
        return self._names[address]

    def _resolve(self, address: str) -> None:
        self._names[address] = socket.getfqdn(address)  # returns the address itself if it has no name


def address_in(endpoint: str) -> str:
    """Return the address in omniORB's name of a connection; "" for a connection within this host.

    The name has the form "giop:tcp:10.0.0.5:40112", "giop:tcp:[fe80::1]:40112" or "giop:unix:/tmp/omni…".
    """
    transport, _, rest = endpoint.removeprefix("giop:").partition(":")
    return "" if transport == "unix" else rest.rpartition(":")[0].strip("[]")


def in_words(language: str, pid: int, host: str) -> str:
    """Return the description of a client, such as "Java client, PID 4321 on daq-1"."""
    return f"{language} client, PID {pid} on {host}" if pid else f"{language} client on {host}"
