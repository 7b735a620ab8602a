"""Frames per second, from the moments at which they were drawn."""

from __future__ import annotations

from collections import deque

SPAN = 3.0
"""Seconds looked back at."""


class Meter:
    """Counts events; times are seconds of any one clock that never goes back."""

    def __init__(self) -> None:
        self._times: deque[float] = deque()

    def tick(self, now: float) -> None:
        """Count one event."""
        self._times.append(now)

    def rate(self, now: float) -> float:
        """Events a second over the last `SPAN` seconds; 0 once they have stopped for so long."""
        while self._times and self._times[0] < now - SPAN:
            self._times.popleft()
        if len(self._times) < 2:
            return 0.0
        return (len(self._times) - 1) / max(self._times[-1] - self._times[0], 1e-3)
