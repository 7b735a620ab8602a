"""The threads of a service that are not to end before it does: the error of one ends the service."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable

log = logging.getLogger(__name__)


class Threads:
    """A service that works in threads.

    Args:
        failed: called, in any thread, when one has ended by an error of Penstock.
    """

    def __init__(self, failed: Callable[[], None]) -> None:
        self.failure = ""
        """Why a thread has ended."""
        self._failed = failed
        self._ends = threading.Event()
        self._threads: list[threading.Thread] = []

    def _start(self, work: Iterable[tuple[str, Callable[[threading.Event], None]]]) -> None:
        """Start threads.

        Args:
            work: the name of each, and what it does until the event is set.
        """
        for name, run in work:
            thread = threading.Thread(target=self._guarded, args=(name, run), name=name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def _join(self) -> None:
        for thread in self._threads:
            thread.join()

    def _guarded(self, name: str, run: Callable[[threading.Event], None]) -> None:
        try:
            run(self._ends)
        except Exception as error:
            log.exception("the thread %s has ended", name)
            self.failure = f"the thread {name} has ended by an error of Penstock ({error}); see the log"
            self._failed()
