"""Time-outs: how long a frame is waited for, and when silence or a lost connection ends a series."""

from __future__ import annotations

import logging

from penstock.receiver.config import GapConfig, ReceiverConfig
from penstock.receiver.series.running_series import RunningSeries
from penstock.stins.texts import of_series, plural

log = logging.getLogger(__name__)

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


class GapError(Exception):
    """A frame is missing and the configured policy is to fail."""

    kind = "gap"


class GapClock:
    """Runs only while a later index has arrived: a paused series is never touched by it.

    Args:
        config: the policy, and for how many seconds a frame is waited for.
    """

    def __init__(self, config: GapConfig) -> None:
        self._config = config
        self._at = -1  # index of the gap that is timed
        self._below = 0  # it, and what else is missing below this index, is given up together
        self._due = 0.0

    def begin(self) -> None:
        """A series begins."""
        self._at = -1

    def tick(self, series: RunningSeries, now: float) -> None:
        """Let the clock run.

        Raises:
            GapError: it ran out and the policy is to fail.
        """
        account, config = series.account, self._config
        if not account.has_gap():
            self._at = -1
        elif account.gap_start != self._at:
            self._at = account.gap_start
            self._below = account.highest
            self._due = now + config.seconds
        elif now >= self._due:
            given_up = account.give_up_gaps(self._below)
            first, self._at = self._at, -1
            sentence = (
                f"{plural(given_up, 'frame')} from index {first} on did not come within "
                f"{config.seconds:g} s of a later one"
            )
            log.warning("%s: %s%s", series.name, sentence, of_series(series.id))
            if config.policy == "fail":
                raise GapError(f"{sentence}, and gap.policy is fail; look for losses at the streamer")
