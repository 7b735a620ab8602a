"""Whether it is the same streamer that is connected again."""

from __future__ import annotations

from penstock.receiver.series.reorder_buffer import SETTLE_SECONDS


class Doubt:
    """Over several sockets, frames may overtake the start message of a streamer that was started anew, under
    the name of the running series. So behind a lost connection all that bears that name waits: for a moment,
    or, where its number shows that it is of another streamer, as long as anything ahead of its start message.

    Args:
        seconds: for which a message may be ahead of its start message; half of it is waited for at most.
        highest: number of the last message that the running series has had. All that came over the lost
            connections has been read, so its streamer can only go on behind it.
    """

    def __init__(self, seconds: float, highest: int) -> None:
        self._seconds = min(SETTLE_SECONDS, seconds / 2)
        self._highest = highest
        self._since: float | None = None
        self.is_another = False
        """Whether another streamer has been heard."""

    def observe(self, number: int | None, now: float) -> None:
        """A message of this number, and of the name of the running series, waits."""
        if self._since is None:
            self._since = now
        if number is not None and number <= self._highest:
            self.is_another = True

    def is_over(self, now: float) -> bool:
        """Whether a start message would have come by now."""
        return self._since is not None and not self.is_another and now - self._since > self._seconds
