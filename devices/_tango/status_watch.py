"""A thread that follows the status of a receiver or of a pipeline by long polls of its HTTP API."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from penstock.receiver.client import NoAnswer

POLL = 1.0
"""Seconds for which an answer may be delayed while nothing changes."""
PACE = 0.05
"""Least seconds between two requests: the status of a busy receiver changes all the time."""
RETRY = 0.2
"""Seconds between two attempts while nobody answers."""


class Versioned(Protocol):
    """A status with a number that grows with every change."""

    @property
    def version(self) -> int:
        """See the class."""


StatusT = TypeVar("StatusT", bound=Versioned)
AnyStatus = TypeVar("AnyStatus", bound=Versioned, covariant=True)


class StatusClient(Protocol[AnyStatus]):
    """The client of a service that says how it is."""

    def status(self, seen: int | None = None, wait: float = 0.0) -> AnyStatus:
        """Return the status; with `seen`, wait up to `wait` seconds for another version.

        Raises:
            NoAnswer: there is none.
        """


class StatusWatch(Generic[StatusT]):
    """Calls `callback` with every new snapshot, or with the error while nobody answers.

    The callback runs in this object's thread and must return at once.
    """

    def __init__(
        self, client: StatusClient[StatusT], callback: Callable[[StatusT | NoAnswer], None], what: str
    ) -> None:
        self._client = client
        self._callback = callback
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, name=f"{what} watch", daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def close(self) -> None:
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
