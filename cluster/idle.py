"""When workers are taken away because no series runs, and when they come back. It knows no clock."""

from __future__ import annotations

from typing import Literal

Step = Literal["sleep", "wake", ""]


class Idle:
    """The workers of one pipeline.

    Args:
        limit: seconds without a series after which they are taken away; `None`: never.
        now: the time.
    """

    def __init__(self, limit: float | None, now: float) -> None:
        self._limit = limit
        self._since = now
        self.asleep = False
        """True if they were taken away."""
        self._found = False

    def look(self, now: float, *, wanted: int, count: int = 1, runs: bool, unknown: bool) -> Step:
        """Return what is to be done.

        Args:
            now: the time.
            wanted: workers that Kubernetes is asked for.
            count: how many there are after a start.
            runs: whether a series runs.
            unknown: whether nobody says that none runs.
        """
        if not self._found:  # who has ended before knew of any that were stopped, and it is gone
            self._found, self.asleep = True, not wanted and count > 0 and self._limit is not None
        if runs or unknown:
            self._since = now
        if wanted and self.asleep:  # somebody else has brought them back
            self.asleep, self._since = False, now
        if self.asleep:
            return "wake" if runs else ""
        if not wanted or self._limit is None or now - self._since < self._limit:
            return ""
        return "sleep"

    def was_set(self, now: float, *, asleep: bool = False) -> None:
        """Note that their number was changed.

        Args:
            now: the time.
            asleep: whether they were taken away because no series ran; else somebody has asked for it.
        """
        self._found, self.asleep, self._since = True, asleep, now
