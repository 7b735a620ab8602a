"""Time-outs: how long to wait for a frame, and when silence or a lost connection ends a series."""

from __future__ import annotations

import logging

from penstock.receiver.config import GapConfig, ReceiverConfig
from penstock.receiver.series.running_series import Outcome, RunningSeries
from penstock.stins.texts import of_series, plural

log = logging.getLogger(__name__)

INTERNAL_FACTOR = 10.0
INTERNAL_LEAST = 10.0
"""An INTERNAL series ends after this many frame times of silence, and at least this many seconds: its
detector waits for no trigger."""


class Timeouts:
    """The decision that silence or a lost connection ends the running series.

    Args:
        config: limits, and the endpoints for the sentences.
        end_lost_after: seconds for which a complete series waits for its end message.
    """

    def __init__(self, config: ReceiverConfig, end_lost_after: float) -> None:
        self._config = config
        self._end_lost_after = end_lost_after
        self._disconnected_since: float | None = None
        self.last_message = 0.0
        """Time of the last message."""

    def begin(self, now: float) -> None:
        """Begin a series."""
        self._disconnected_since = None
        self.last_message = now

    def observe(self, connections: int, now: float) -> None:
        """Note the present number of connections."""
        if connections:
            self._disconnected_since = None
        elif self._disconnected_since is None:
            self._disconnected_since = now

    def timeout_reason(self, series: RunningSeries, now: float, *, suspended: bool) -> str | None:
        """Return why a silent series has to end; `None` while its silence is legitimate.

        Args:
            series: the running series.
            now: time of the collector's clock, in seconds.
            suspended: whether the connected streamer may not know the series.
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
            limit = self._config.idle_limit  # there may be many reasons for its silence
        else:
            return None  # it waits for triggers, perhaps for hours
        if silent > limit:
            return f"the streamer is connected but silent for {silent:.0f} s (limit {limit:.0f} s)"
        return None


POLICY_IS_FAIL = "and gap.policy is fail; look for losses at the streamer"


class GapError(Exception):
    """A frame is missing, and the configured policy is to fail."""

    kind = "gap"


class GapClock:
    """The gap clock; it runs only once a later index has arrived, so it never ends a paused series.

    Args:
        config: policy, and waiting time for a frame.
    """

    def __init__(self, config: GapConfig) -> None:
        self._config = config
        self._at = -1  # index of the timed gap
        self._below = 0  # this and all other missing frames below this index are given up together
        self._due = 0.0

    def begin(self) -> None:
        """Begin a series."""
        self._at = -1

    def tick(self, series: RunningSeries, now: float) -> None:
        """Advance the clock.

        Raises:
            GapError: the clock has ended, and the policy is to fail.
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
                raise GapError(f"{sentence}, {POLICY_IS_FAIL}")

    def failure(self, series: RunningSeries, outcome: Outcome) -> str:
        """Return why a series has failed whose end message has come before the clock has ended; "" if it has
        not. Of one that was given up, by a fault or an abort, frames are missing for that reason."""
        given_up = series.stopping or (series.end is not None and series.end.reason in ("abort", "fault"))
        if self._config.policy != "fail" or given_up or not series.account.counts().missing:
            return ""
        return f"{outcome.reason}, {POLICY_IS_FAIL}"
