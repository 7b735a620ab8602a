"""Frames per second, from how many are done at what moment."""

from __future__ import annotations

from collections import deque

SPAN = 5.0
"""Seconds looked back at."""


class Progress:
    """Follows a number that grows; times are seconds of any one clock that never goes back."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def note(self, now: float, done: int) -> None:
        """Note how many there are now."""
        if self._seen and done < self._seen[-1][1]:
            self._seen.clear()
        self._seen.append((now, done))
        while len(self._seen) > 2 and self._seen[1][0] < now - SPAN:
            self._seen.popleft()

    def rate(self, now: float) -> float:
        """Return how many more there are per second, over the last seconds."""
        if len(self._seen) < 2:
            return 0.0
        (first, before), (_, done) = self._seen[0], self._seen[-1]
        return (done - before) / max(now - first, 1e-3)
