"""Is there a screen? Asked before Qt is, which ends the process without a word where there is none."""

from __future__ import annotations

import re
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

REMEDY = (
    "log in with `ssh -X` (or -Y) from a machine with a screen, or take a picture without one: "
    "--screenshot FILE, or set QT_QPA_PLATFORM=offscreen"
)


def why_no_display(environment: Mapping[str, str]) -> str | None:
    """Return one sentence with the remedy, or `None` if a window can be opened."""
    if not sys.platform.startswith("linux") or environment.get("QT_QPA_PLATFORM"):
        return None
    if environment.get("WAYLAND_DISPLAY"):
        return None
    name = environment.get("DISPLAY", "")
    if not name:
        return f"there is no screen here (neither DISPLAY nor WAYLAND_DISPLAY is set); {REMEDY}"
    if not _answers(name):
        return f"the screen DISPLAY={name} does not answer; is the ssh session still there? Else: {REMEDY}"
    return None


def _answers(display: str) -> bool:
    match = re.fullmatch(r"(?P<host>[^:]*):(?P<number>\d+)(\.\d+)?", display)
    if match is None:
        return False
    host, number = match["host"], int(match["number"])
    try:
        if host in ("", "unix"):
            # Most servers listen in the file system, some in Linux' abstract names only.
            path = Path(f"/tmp/.X11-unix/X{number}")
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.settimeout(2.0)
                connection.connect(str(path) if path.exists() else f"\0{path}")
        else:
            socket.create_connection((host, 6000 + number), timeout=2.0).close()
    except OSError:
        return False
    return True
