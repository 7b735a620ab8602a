"""Free space on the disk of the data root, asked for every few seconds on a thread that nobody waits for.

A network file system that hangs holds that thread up, and nothing else.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

REFRESH_SECONDS = 5.0
"""Between two looks while nothing happens."""
HANGS_SECONDS = 10.0
"""A look that takes longer makes the figure before it worth nothing."""
STEP = 2**20
"""Bytes in which it is told: what other programs log on the same disk is no news."""


class FreeSpace:
    """The free bytes of one disk.

    Args:
        look: returns them, or raises OSError.
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
        """Begin to look."""
        threading.Thread(target=self._run, name="free space", daemon=True).start()

    def refresh(self) -> None:
        """Look now: a series has just ended."""
        self._wake.set()

    def close(self) -> None:
        """Look no more; a thread that hangs ends with the process."""
        self._ends = True
        self._wake.set()

    @property
    def value(self) -> int | None:
        """Bytes, in whole MiB; `None` before the first look, and where the disk is away or hangs."""
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
