"""What else shows a receiver or a file: its web page in a browser, and `penstock view` in its own process."""

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
    return start("-c", COMMAND, "view", what, called="The viewer")


def start(*arguments: str, called: str) -> str:
    """Start Python in a process that outlives this one; return why not, or "".

    Args:
        arguments: for Python.
        called: what the user calls that program.
    """
    started = qt.QProcess.startDetached(sys.executable, ["-P", *arguments])
    has_begun = started[0] if isinstance(started, tuple) else started
    return "" if has_begun else f"{called} could not be started."


def open_page(url: str) -> str:
    """Open a page in the browser of this desktop; return why not, or ""."""
    opened = qt.QDesktopServices.openUrl(qt.QUrl(f"{url.rstrip('/')}/"))
    return "" if opened else f"This desktop has no browser; the page is {url}"
