"""How late a window's event loop gets to what is posted to it: what a hand on the mouse feels."""

from __future__ import annotations

import threading
import time

PERIOD = 0.01
"""Seconds between two events that are posted to the window's loop."""


class Delays:
    """How late the event loop gets to what a thread posts to it on a fixed schedule.

    The schedule counts, not the moment of posting: also a thread that cannot post is a delay.
    """

    def __init__(self) -> None:
        from silx.gui import qt

        class Bell(qt.QObject):  # type: ignore[misc]
            rung = qt.Signal(float)

        self._bell = Bell()
        self._bell.rung.connect(self._note, qt.Qt.QueuedConnection)
        self._late: list[float] = []
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._ring, daemon=True)
        self._thread.start()

    def end(self) -> list[float]:
        """Stop, and return seconds late of each event that was due."""
        self._ends.set()
        self._thread.join()
        return self._late

    def _ring(self) -> None:
        due = time.monotonic()
        while not self._ends.wait(max(0.0, due - time.monotonic())):
            self._bell.rung.emit(due)
            due += PERIOD

    def _note(self, due: float) -> None:
        self._late.append(time.monotonic() - due)
