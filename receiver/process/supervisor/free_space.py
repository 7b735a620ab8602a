"""Free space on the disk of the data root, looked up every few seconds by a thread.

A hanging network file system blocks only that thread.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

REFRESH_SECONDS = 5.0
"""Seconds between two looks."""
HANGS_SECONDS = 10.0
"""Seconds of a look after which the last value is no longer valid."""
STEP = 2**20
"""Resolution in bytes, so that small changes by other programs do not count."""


class FreeSpace:
    """The free bytes of one disk.

    Args:
        look: returns the free bytes, or raises OSError.
        clock: monotonic seconds; injected in tests.
    """

    def __init__(self, look: Callable[[], int], clock: Callable[[], float] = time.monotonic) -> None:
        self._look = look
        self._clock = clock
        self._value: int | None = None
        self._looks_since: float | None = None
        self._wake = threading.Event()
        self._ends = False

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, name="free space", daemon=True).start()

    def refresh(self) -> None:
        """Look now: a series has just ended."""
        self._wake.set()

    def close(self) -> None:
        """End the thread; if it hangs, it ends with the process."""
        self._ends = True
        self._wake.set()

    @property
    def value(self) -> int | None:
        """Free bytes in whole MiB; `None` before the first look, and if the disk is away or hangs."""
        since = self._looks_since
        return None if since is not None and self._clock() - since > HANGS_SECONDS else self._value

    def _run(self) -> None:
        while not self._ends:
            self._wake.clear()
            self._looks_since = self._clock()
            try:
                self._value = self._look() // STEP * STEP
            except OSError:
                self._value = None
            self._looks_since = None
            self._wake.wait(REFRESH_SECONDS)
