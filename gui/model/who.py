"""Who armed a series: the device names a client by its process and host, and this panel knows its own."""

from __future__ import annotations

import os
import re
import socket

THIS_PANEL = "this panel"
_CLIENT = re.compile(r"PID (\d+) on (\S+)$")


def is_this_process(armed_by: str) -> bool:
    """Return whether the attribute ArmedBy names this process: "Python or C++ client, PID 4321 on daq-1"."""
    found = _CLIENT.search(armed_by)
    if found is None or int(found[1]) != os.getpid():
        return False
    return found[2].partition(".")[0] == socket.gethostname().partition(".")[0]  # with or without its domain


def who(armed_by: str) -> str:
    """Return the client in words, "this panel" for this process; "" if unknown."""
    return THIS_PANEL if is_this_process(armed_by) else armed_by
