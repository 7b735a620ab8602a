"""What else shows a receiver: its web page in a browser, and the viewer in a window of its own."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui.live.start import start_viewer


def open_page(url: str) -> str:
    """Open a page in the browser of this desktop; return why not, or ""."""
    opened = qt.QDesktopServices.openUrl(qt.QUrl(f"{url.rstrip('/')}/"))
    return "" if opened else f"This desktop has no browser; the page is {url}"


def open_viewer(url: str) -> str:
    """Start `penstock view` with the receiver, in a process that outlives this one; return why not, or ""."""
    return start_viewer(url)
