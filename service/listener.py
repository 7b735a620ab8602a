"""A listening socket that waits while no more files can be opened, instead of occupying its process.

`asyncio` tries again after a second, but before that as often as connections may wait, and each of these
tries comes back after a second as well (CPython 3.11, `selector_events.py`). So a try that has failed ends
the turn.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from typing import Any

from penstock.service import open_files

log = logging.getLogger(__name__)

PAUSE_SECONDS = 0.9
"""Shorter than the second after which `asyncio` tries again."""
SAID_SECONDS = 60.0
"""Shortest time between two lines of the log."""


class Listener(socket.socket):
    """A bound, listening socket.

    Args:
        bound: the socket, which is taken over.
    """

    def __init__(self, bound: socket.socket) -> None:
        super().__init__(fileno=bound.detach())
        self._paused_until = self._said_until = 0.0

    def accept(self) -> tuple[socket.socket, Any]:
        """See socket.socket.

        Raises:
            BlockingIOError: nobody connects, or there was no file left a moment ago.
            OSError: there is no file left, or the connection is broken.
        """
        now = time.monotonic()
        if now < self._paused_until:
            raise BlockingIOError
        try:
            return super().accept()
        except OSError as error:
            if (remedy := open_files.REMEDIES.get(error.errno or 0)) is not None:
                self._paused_until = now + PAUSE_SECONDS
                if now >= self._said_until:
                    self._said_until = now + SAID_SECONDS
                    log.error("new connections wait: %s. %s", error.strerror, remedy)
            raise


def said(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Handle what an event loop has to say: what a `Listener` has said already is left out."""
    error = context.get("exception")
    if not (isinstance(error, OSError) and error.errno in open_files.REMEDIES and "socket" in context):
        loop.default_exception_handler(context)
