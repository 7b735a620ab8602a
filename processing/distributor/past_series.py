"""The series that are over: what is said of the last ones, and how many frames all of them had."""

from __future__ import annotations

import logging
import time
from collections import deque
from dataclasses import replace
from itertools import islice
from operator import itemgetter

from penstock.processing.distributor import series_status
from penstock.processing.distributor.account import FINAL, State
from penstock.processing.distributor.receiver_news import Over
from penstock.processing.distributor.series_run import Run
from penstock.processing.models import Series

log = logging.getLogger(__name__)

SHOWN = 20
"""Series that are over and still in the status."""
REMEMBERED = 10_000
"""Series that are over whose ids are remembered: more than a receiver tells of."""


class PastSeries:
    """The series of one pipeline that are over."""

    def __init__(self) -> None:
        self._shown: deque[tuple[float, Series]] = deque(maxlen=SHOWN)
        """When they began, and what is said of them, as they ended, the last one first: their accumulated
        values may be large."""
        self.finals: dict[State, int] = dict.fromkeys(FINAL, 0)
        """Frames in each final state, without those of an earlier distributor."""
        self._ended: dict[tuple[str, float], None] = {}
        """Id and begin: the receiver may tell of their end once more."""

    def add(self, run: Run, receiver: str) -> None:
        """Take a series that is over.

        Args:
            run: the series.
            receiver: whose series it is.
        """
        for state, frames in run.account.made.items():
            self.finals[state] += frames
        self._shown.appendleft((run.started or time.time(), series_status.status(run, receiver)))
        self._ended[run.name, run.started] = None
        while len(self._ended) > REMEMBERED:
            del self._ended[next(iter(self._ended))]

    def last(self, most: int) -> list[Series]:
        """Return what is said of the last ones that ended, at most so many; the one that began last is first:
        short series may end before a long one that began earlier."""
        found = sorted(islice(self._shown, most), key=itemgetter(0), reverse=True)
        return [series for _, series in found]

    def has(self, over: Over) -> bool:
        """Return whether a series is over that the receiver tells of once more; one that was stopped at its
        very beginning is known by its id alone."""
        return not self._ended.keys().isdisjoint(((over.series, over.started), (over.series, 0.0)))

    def say(self, result_file: str, what: str, *, failed: bool) -> None:
        """Say something of a series, by its result file."""
        if not what:
            return
        (log.error if failed else log.warning)("%s: %s", result_file, what)
        for place, (began, series) in enumerate(self._shown):
            if series.result_file == result_file:
                reason = "; ".join([*([series.reason] if series.reason else []), what])
                self._shown[place] = began, replace(series, reason=reason[:500])
                return
