"""Follows a receiver's status by the long poll of its HTTP API, on a thread of its own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from penstock.receiver.client import ReceiverClient, ReceiverRefused, ReceiverUnavailable
from penstock.receiver.models import Status

log = logging.getLogger(__name__)

POLL = 1.0
"""Seconds for which the receiver may hold a question back while nothing changes."""
PACE = 0.05
"""Least time between two questions: a busy receiver changes all the time."""
RETRY = 0.2
"""Seconds between two attempts while it does not answer."""


class ReceiverWatch:
    """Calls `callback` with every new snapshot, and with a sentence while nobody answers.

    The callback runs on this object's thread: it must only take note.
    """

    def __init__(self, client: ReceiverClient, callback: Callable[[Status | str], None]) -> None:
        self._client = client
        self._callback = callback
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="receiver watch", daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def stop(self) -> None:
        """Let go; a poll that is under way ends by itself."""
        self._stop.set()

    def _follow(self) -> None:
        seen: int | None = None
        while not self._stop.is_set():
            try:
                status = self._client.status(seen=seen, wait=POLL)
            except (ReceiverUnavailable, ReceiverRefused) as error:
                seen = None
                if not self._stop.is_set():
                    self._callback(str(error))
                self._stop.wait(RETRY)
                continue
            seen = status.version
            if not self._stop.is_set():
                self._callback(status)
            self._stop.wait(PACE)
