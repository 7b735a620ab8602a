"""An interruption of the network between receiver and streamer, while their connection stands."""

from __future__ import annotations

from penstock.stins.tcp import Silence

ANSWERED_WITHIN = 1.4
"""Seconds within which a host answers a probe, the second of silence before the probe included."""


class Interruption:
    """The interruption of one connection.

    After it, the streamer's kernel does not send at once what was lost: its pauses double, so that the last
    one may be as long as the interruption was.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        """Seconds for which the streamer's host has not answered; 0 while it does."""
        self._noted = 0.0
        self._until = 0.0

    def observe(self, silence: Silence, now: float) -> None:
        """Take what the kernel says; `now` is the time of a monotonic clock, in seconds."""
        if silence.unanswered > ANSWERED_WITHIN:
            self.seconds, self._noted, self._until = silence.unanswered, now, now + silence.unanswered
            return
        self.seconds = 0.0
        if silence.without_data < now - self._noted:
            self._until = now

    def lasts(self, now: float) -> bool:
        """Return whether messages that were sent may still be under way, however long ago that was."""
        return now < self._until
