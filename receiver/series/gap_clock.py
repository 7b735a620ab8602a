"""The gap clock: for how long a frame is waited for once a later one has arrived."""

from __future__ import annotations

import logging

from penstock.receiver.config import GapConfig
from penstock.receiver.series.running_series import RunningSeries
from penstock.stins.texts import of_series, plural

log = logging.getLogger(__name__)


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
