"""When the HTTP process is told what has happened: at once while little happens, else ten times a second.

A scan waits at each point until its frame is counted; at a detector's full rate counts are for the eye. Pure.
"""

from __future__ import annotations

TELL = 0.1
"""Seconds between two snapshots at rates."""
FEW, QUIET = 3, 0.02
"""Most frames that are told at once, if the last ones were told so many seconds before: below 150 frames per
second."""
AT_ONCE_PER_SECOND, AT_ONCE = 25.0, 5.0
"""How often, on average and in a row, frames are told at once: a scan of 40 ms per point."""


class Telling:
    """Decides before each turn of the loop."""

    def __init__(self) -> None:
        self._due = 0.0
        self._received = 0
        self._changed_at = 0.0
        self._left, self._at = AT_ONCE, 0.0

    def is_due(self, now: float, received: int) -> bool:
        """Return whether to tell now.

        Args:
            now: monotonic seconds.
            received: frames received in this series, in any count that changes with them.
        """
        if now >= self._due:
            return True
        new = abs(received - self._received)
        if not 0 < new <= FEW or now - self._changed_at < QUIET:
            return False
        self._left = min(AT_ONCE, self._left + (now - self._at) * AT_ONCE_PER_SECOND)
        self._at = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True

    def told(self, now: float, received: int) -> None:
        """It was told."""
        if received != self._received:
            self._changed_at = now
        self._due, self._received = now + TELL, received
