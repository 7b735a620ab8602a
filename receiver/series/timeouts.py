"""Time-outs: when silence, or a lost connection, ends a series. That of a frame is in `gap_clock`."""

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
        self.last_message = 0.0
        """When the last message was read."""

    def begin(self, now: float) -> None:
        """A series begins."""
        self._disconnected_since = None
        self.last_message = now

    def observe(self, connections: int, now: float) -> None:
        """Take in how many connections there are now."""
        if connections:
            self._disconnected_since = None
        elif self._disconnected_since is None:
            self._disconnected_since = now

    def timeout_reason(self, series: RunningSeries, now: float, *, suspended: bool) -> str | None:
        """Return why a silent series has to end, or `None` while its silence is legitimate.

        Args:
            series: the running one.
            now: moment on the collector's clock, in seconds.
            suspended: whether the streamer that is connected may know nothing of it.
        """
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
        elif mode in (None, "INTERNAL") or suspended:
            limit = self._config.idle_limit  # nobody can say why it is silent
        else:
            return None  # waits for triggers; that may take hours
        if silent > limit:
            return f"the streamer is connected but silent for {silent:.0f} s (limit {limit:.0f} s)"
        return None
