"""Timeouts: since when nothing has come, who is connected, and when that is the end of a series."""

from __future__ import annotations

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.series.running_series import RunningSeries

INTERNAL_FACTOR = 10.0
INTERNAL_LEAST = 10.0
"""An INTERNAL series is given up after this many frame times, and at least this many seconds, of
silence: its detector needs nobody's trigger."""


class Timeouts:
    """What is known of the streamer of the running series while it says nothing.

    Args:
        config: limits, and the endpoints for the sentences.
        end_lost_after: seconds after which a series that has all its frames has lost its end message.
    """

    def __init__(self, config: ReceiverConfig, end_lost_after: float) -> None:
        self._config = config
        self._end_lost_after = end_lost_after
        self._disconnected_since: float | None = None
        self._anew_since: float | None = None
        self.last_message = 0.0
        """When the last message came."""

    @property
    def may_be_another(self) -> bool:
        """Whether nothing has come since lost connections were made again: a streamer that was started anew,
        and knows nothing of the running series, may have taken the place of the one that died."""
        return self._anew_since is not None and self.last_message <= self._anew_since

    def begin(self, now: float) -> None:
        """A series begins."""
        self._disconnected_since = self._anew_since = None
        self.last_message = now

    def on_reconnect(self, now: float) -> None:
        """Everything of a lost connection has been read, and it is made again: maybe to another streamer."""
        self._anew_since = now

    def note_connections(self, connections: int, now: float) -> None:
        """So many there are now."""
        if connections:
            self._disconnected_since = None
        elif self._disconnected_since is None:
            self._disconnected_since = now

    def timeout_reason(self, series: RunningSeries, now: float) -> str | None:
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
        elif mode in (None, "INTERNAL") or self.may_be_another:
            limit = self._config.idle_limit  # nobody can say why it is silent
        else:
            return None  # waits for triggers; that may take hours
        if silent > limit:
            return f"the streamer is connected but silent for {silent:.0f} s (limit {limit:.0f} s)"
        return None
