"""A thread that follows a receiver's status by long polls of its HTTP API."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from penstock.receiver.client import NoAnswer, ReceiverClient
from penstock.receiver.models import Status

log = logging.getLogger(__name__)

POLL = 1.0
"""Seconds for which the receiver may delay its answer while nothing changes."""
PACE = 0.05
"""Least seconds between two requests: the status of a busy receiver changes all the time."""
RETRY = 0.2
"""Seconds between two attempts while the receiver does not answer."""


class ReceiverWatch:
    """Calls `callback` with every new snapshot, or with the error while the receiver does not answer.

    The callback runs in this object's thread and must return at once.
    """

    def __init__(self, client: ReceiverClient, callback: Callable[[Status | NoAnswer], None]) -> None:
        self._client = client
        self._callback = callback
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="receiver watch", daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def stop(self) -> None:
        """Stop following; the running poll ends by itself."""
        self._stop.set()

    def _follow(self) -> None:
        seen: int | None = None
        while not self._stop.is_set():
            try:
                status = self._client.status(seen=seen, wait=POLL)
            except NoAnswer as error:
                seen = None
                if not self._stop.is_set():
                    self._callback(error)
                self._stop.wait(RETRY)
                continue
            seen = status.version
            if not self._stop.is_set():
                self._callback(status)
            self._stop.wait(PACE)
