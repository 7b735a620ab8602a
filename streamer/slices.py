"""Waits that a signal ends.

A signal that arrives after Python has looked for one, and before its system call begins, does not
interrupt that call: Python handles it when the call returns. And where a handler only sets a flag, Python
goes on with the call. So whatever Ctrl-C shall end waits in slices.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

SLICE = 0.5
"""Seconds of the longest call that a signal may have to wait for."""


def slices(seconds: float) -> Iterator[float]:
    """Yield the seconds for the next part of a wait, until `seconds` are over; at least once."""
    due = time.monotonic() + seconds
    yield max(0.0, min(SLICE, seconds))
    while (left := due - time.monotonic()) > 0:
        yield min(SLICE, left)


def sleep_until(moment: float, stopping: Callable[[], bool] = lambda: False) -> None:
    """Sleep until this moment of the monotonic clock, or until `stopping()`."""
    while (left := moment - time.monotonic()) > 0 and not stopping():
        time.sleep(min(SLICE, left))


def call(function: Callable[[], object], stopping: Callable[[], bool] = lambda: False) -> None:
    """Return when the function has returned, or once `stopping()`: then it goes on without us."""
    running = threading.Thread(target=function, name="call", daemon=True)
    running.start()
    while running.is_alive() and not stopping():
        running.join(SLICE)
