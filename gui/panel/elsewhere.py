"""What else shows a receiver: its web page in a browser, and the viewer in a window of its own."""

from __future__ import annotations

import sys

from silx.gui import qt

VIEWER = "import sys; from penstock.cli.main import main; sys.exit(main())"
"""The command `penstock` of this environment, whatever the PATH."""


def open_page(url: str) -> str:
    """Open the receiver's page in the browser of this desktop; return why not, or ""."""
    opened = qt.QDesktopServices.openUrl(qt.QUrl(f"{url.rstrip('/')}/"))
    return "" if opened else f"This desktop has no browser; the page is {url}"


def open_viewer(url: str) -> str:
    """Start `penstock view` with the receiver, in a process that outlives this one; return why not, or ""."""
    started = qt.QProcess.startDetached(sys.executable, ["-P", "-c", VIEWER, "view", url])
    return (
        "" if (started[0] if isinstance(started, tuple) else started) else "The viewer could not be started."
    )
