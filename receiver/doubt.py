"""Whether it is the same streamer that is connected again."""

from __future__ import annotations

from penstock.receiver.by_number import SETTLE_SECONDS
from penstock.receiver.series import held_bytes
from penstock.stins.messages import Message


class Doubt:
    """Over several sockets, frames may overtake the start message of a streamer that was started anew, under
    the name of the running series. So behind a lost connection all wait for it, for a moment.

    Args:
        seconds: for which a message may be ahead of its start message.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = min(SETTLE_SECONDS, seconds / 2)
        self._since: float | None = None

    def holds(self, message: Message, now: float, room: float) -> bool:
        """Whether one more may wait; there is room for so many bytes."""
        if self._since is None:
            self._since = now
        return held_bytes(message) <= room

    def is_over(self, now: float) -> bool:
        """Whether a start message would have come by now."""
        return self._since is not None and now - self._since > self._seconds
