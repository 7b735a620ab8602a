"""A series' file in our own window or in silx', as far as this host sees the file."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from penstock.gui.elsewhere import start, start_viewer


def why_not_here(file: str) -> str:
    """Return why a file cannot be opened on this host, in a sentence; "" where it can."""
    path = Path(file)
    try:
        if path.is_file():
            return "" if os.access(path, os.R_OK) else f"{file} cannot be read by this user."
        there = path.parent.is_dir()
    except OSError as error:
        return f"{file} cannot be reached: {error.strerror}."
    if there:
        return f"{path.name} is not in {path.parent} any more."
    return (
        f"This host does not see {path.parent}; mount the data there, or open the file on a host that does."
    )


def why_not_open(file: str) -> str:
    """Return why `open_in_silx` would do nothing, in a sentence; "" where it can.

    Touches the file system: call it off the windows' thread where a mount may hang.
    """
    if find_spec("silx.app.view") is None:
        return "silx' viewer is not installed here: install penstock[gui]."
    return why_not_here(file)


IN_SILX = (
    "Show the whole tree of the file in silx view, which may draw row 0 at the bottom until it is told "
    "otherwise: Options, Default plot image y-axis orientation"
)
"""What the button for silx does."""


def open_in_view(file: str) -> str:
    """Start `penstock view` with the file, in a process that outlives this one; why not, or ""."""
    return why_not_here(file) or start_viewer(os.path.abspath(file))


def open_in_silx(file: str) -> str:
    """Start `silx view` with the file, in a process that outlives this one; why not, or ""."""
    return why_not_open(file) or start("-m", "silx", "view", file, called="silx view")
