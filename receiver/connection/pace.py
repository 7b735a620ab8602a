"""How long messages may gather before the loop looks for them again.

Each time that the loop wakes up it looks at clocks, connections and commands, which for small frames takes
longer than the frames do. A sender that is a little slower than the receiver would wake it up for every one.
"""

from __future__ import annotations

REST_SECONDS = 0.0025
"""Longest rest; messages that come more rarely than this are not waited for."""
SHARE = 4
"""At most one in so many of the messages that a socket holds may gather: the sender never waits for room."""
LEAST = 4
"""If that is fewer messages than this they are large, and it does not matter what a wake-up takes."""


class Pace:
    """The pace of the messages on one socket.

    Args:
        holds: messages that the socket holds; 0: nothing is to gather.
    """

    def __init__(self, holds: int) -> None:
        self._most = holds // SHARE
        self._last = 0.0  # begin of the last turn with messages
        self._until = 0.0

    def turn(self, now: float, messages: int) -> None:
        """Take note of how many messages a turn has found.

        Args:
            now: monotonic seconds at its begin.
            messages: their number.
        """
        if not messages or self._most < LEAST:
            return
        since, self._last = now - self._last, now
        if since < REST_SECONDS * messages:
            self._until = now + min(REST_SECONDS, self._most * since / messages)

    def rest(self, now: float) -> float:
        """Return for how many seconds to rest before the next turn; 0 for not at all."""
        return max(0.0, self._until - now)
