"""Frames and bytes per second, from counters that only grow."""

from __future__ import annotations

RATE_SECONDS = 1.0
"""Shortest interval in seconds over which rates are computed."""


class Rates:
    """The rates of the last complete interval.

    Args:
        now: monotonic seconds.
    """

    def __init__(self, now: float) -> None:
        self._rates = (0.0, 0.0)
        self._since = (now, 0, 0)

    def at(self, now: float, frames: int, nbytes: int) -> tuple[float, float]:
        """Return frames and bytes per second.

        Args:
            now: monotonic seconds.
            frames: counted up to now.
            nbytes: of these frames.
        """
        since, frames_then, nbytes_then = self._since
        seconds = now - since
        if seconds >= RATE_SECONDS:
            self._rates = ((frames - frames_then) / seconds, (nbytes - nbytes_then) / seconds)
            self._since = (now, frames, nbytes)
        return self._rates
