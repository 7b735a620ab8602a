"""Silence: since when nothing has come, who is connected, and when that is the end of a series."""

from __future__ import annotations

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.series import RunningSeries

INTERNAL_FACTOR = 10.0
INTERNAL_LEAST = 10.0
"""An INTERNAL series is given up after this many frame times, and at least this many seconds, of
silence: its detector needs nobody's trigger."""


class Silence:
    """What is known of the streamer of the running series while it says nothing.

    Args:
        config: limits, and the endpoints for the sentences.
        end_lost_after: seconds after which a series that has all its frames has lost its end message.
    """

    def __init__(self, config: ReceiverConfig, end_lost_after: float) -> None:
        self._config = config
        self._end_lost_after = end_lost_after
        self._disconnected_since: float | None = None
        self._back_since: float | None = None
        self.last_message = 0.0
        """When the last message came."""

    @property
    def broken(self) -> bool:
        """Whether nothing has come since a lost connection came back. A streamer that was started anew, and
        knows nothing of the running series, may have taken the place of the one that died."""
        return self._back_since is not None and self.last_message <= self._back_since

    def begin(self, now: float) -> None:
        """A series begins."""
        self._disconnected_since = self._back_since = None
        self.last_message = now

    def taken_up(self, now: float) -> None:
        """A series goes on whose receiver was killed; who is connected next may be anybody, too."""
        self._disconnected_since = now

    def connected(self, connections: int, now: float) -> bool:
        """Note how many connections there are; true if there are some again."""
        if not connections:
            if self._disconnected_since is None:
                self._disconnected_since = now
            return False
        if self._disconnected_since is None:
            return False
        self._back_since, self._disconnected_since = now, None
        return True

    def cause(self, series: RunningSeries, now: float) -> str | None:
        """Why a silent series has to end, or `None` while its silence is legitimate."""
        silent = now - self.last_message
        if series.account.all_accounted() and silent > self._end_lost_after:
            return "its end message was lost"
        gone = self._disconnected_since
        if gone is not None and now - max(gone, self.last_message) > self._config.peer_gone:
            return (
                f"the streamer at {', '.join(self._config.source.endpoints)} is gone: "
                f"no connection for {now - gone:.1f} s and no end message; look whether it still runs"
            )
        mode, frame_time = series.header.trigger_mode, series.header.frame_time
        if mode == "INTERNAL" and frame_time is not None:
            limit = max(INTERNAL_LEAST, INTERNAL_FACTOR * frame_time)
        elif mode in (None, "INTERNAL") or self.broken:
            limit = self._config.idle_limit  # nobody can say why it is silent
        else:
            return None  # waits for triggers; that may take hours
        if silent > limit:
            return f"the streamer is connected but silent for {silent:.0f} s (limit {limit:.0f} s)"
        return None
