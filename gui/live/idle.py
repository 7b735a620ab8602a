"""Tells when the window's event loop has nothing else to do: then it may get the next frame."""

from __future__ import annotations

import time
from collections.abc import Callable

from silx.gui import qt

LEAST = 0.01
"""Seconds that the loop must be idle."""
MOST = 0.5
"""Seconds after which the call is made all the same: a window that is busy otherwise is slow, not dead."""
LATE = 0.02
"""Seconds late at which a clock says that the loop had something else to do."""


class Idle(qt.QObject):
    """Calls back once the loop was idle as long as the work before took: so it is half busy at most.

    Args:
        then: what to call.
    """

    def __init__(self, then: Callable[[], None], parent: qt.QObject | None = None) -> None:
        super().__init__(parent)
        self._then = then
        self._timer = qt.QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setTimerType(qt.Qt.PreciseTimer)
        self._timer.timeout.connect(self._look)
        self._due = self._give_up = 0.0

    def wait(self, after: float = 0.0) -> None:
        """Begin to wait, after work that took so many seconds."""
        now = time.monotonic()
        self._give_up = now + max(MOST, after)
        self._begin(now, max(LEAST, min(after, MOST)))

    def forget(self) -> None:
        """Call nobody for the work before: more has come."""
        self._timer.stop()

    def _begin(self, now: float, seconds: float) -> None:
        self._due = now + seconds
        self._timer.start(int(seconds * 1000) + 1)

    def _look(self) -> None:
        now = time.monotonic()
        if now - self._due > LATE and now < self._give_up:
            self._begin(now, LEAST)
            return
        self._then()
