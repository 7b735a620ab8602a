"""The engine's clock, which tests replace to control time."""

from __future__ import annotations

import time
from threading import TIMEOUT_MAX, Condition


class Clock:
    """The system's clocks."""

    def monotonic(self) -> float:
        """Return the seconds of a clock that never jumps, with an arbitrary origin."""
        return time.monotonic()

    def time(self) -> float:
        """Return the seconds since 1970 (UTC)."""
        return time.time()

    def wait(self, condition: Condition, moment: float | None = None) -> None:
        """Wait on a held condition until it is notified or `monotonic()` reaches `moment`."""
        left = TIMEOUT_MAX if moment is None else min(TIMEOUT_MAX, max(0.0, moment - self.monotonic()))
        condition.wait(left)
