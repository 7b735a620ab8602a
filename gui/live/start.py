"""Starts `penstock view` in a process of its own."""

from __future__ import annotations

import sys

from silx.gui import qt

COMMAND = "import sys; from penstock.cli.main import main; sys.exit(main())"
"""The command `penstock` of this environment, whatever the PATH."""


def start_viewer(what: str) -> str:
    """Open a window for a receiver or a file, which outlives this process; return why not, or "".

    Args:
        what: address of a receiver, or absolute path of a file.
    """
    started = qt.QProcess.startDetached(sys.executable, ["-P", "-c", COMMAND, "view", what])
    return (
        "" if (started[0] if isinstance(started, tuple) else started) else "The viewer could not be started."
    )
