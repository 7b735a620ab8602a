"""The series that are over: what is said of the last ones, and how many frames all of them had."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from operator import itemgetter

from penstock.processing.distributor.frames.account import FINAL, State
from penstock.processing.distributor.receiver.events import BYTES, Over, OverMarks, mark_of
from penstock.processing.distributor.series.run import Run
from penstock.processing.models import Series

log = logging.getLogger(__name__)

SHOWN = 20
"""Series that are over and still in the status."""
TOLD_AT_ONCE = 200
"""Most series of which one message tells that they are over."""


class PastSeries:
    """The series of one pipeline that are over.

    Args:
        over: marks of those that an earlier distributor has brought to their end.
        shown: what is to be said of the last of these, the one that began last first.
    """

    def __init__(self, over: bytes = b"", shown: Sequence[Series] = ()) -> None:
        self._shown: deque[tuple[float, Series]] = deque(maxlen=SHOWN)
        """Time at which each of the last series began, and what is said of it as it ended, the last one
        first: their accumulated values may be large."""
        self.finals: dict[State, int] = dict.fromkeys(FINAL, 0)
        """Frames in each final state, without those of an earlier distributor."""
        self._shown += [(-float(place), series) for place, series in enumerate(shown, 1)]
        self._marks = OverMarks(over)
        """The receiver may tell of their end once more."""
        self._untold = bytearray()

    def add(self, run: Run, receiver: str) -> None:
        """Take a series that is over.

        Args:
            run: the series.
            receiver: whose series it is.
        """
        for state, frames in run.account.made.items():
            self.finals[state] += frames
        self._shown.appendleft((run.started or time.time(), run.status(receiver)))
        mark = mark_of(run.name, run.started)
        self._marks.add(mark)
        self._untold += mark

    def totals(self, runs: Iterable[Run]) -> dict[str, int]:
        """Return how many frames have come into each final state since this distributor was started.

        Args:
            runs: the series that are not over.
        """
        made = [self.finals, *(run.account.made for run in runs)]
        return {state.name.lower(): sum(each[state] for each in made) for state in FINAL}

    def last(self, most: int) -> list[Series]:
        """Return what is said of the last ones that ended, at most so many; the one that began last is first:
        short series may end before a long one that began earlier."""
        found = sorted(islice(self._shown, most), key=itemgetter(0), reverse=True)
        return [series for _, series in found]

    def knows(self, series: str) -> bool:
        """Return whether a series of this id is among the last that are over."""
        return any(series == each.id for _, each in self._shown)

    def has(self, over: Over) -> bool:
        """Return whether a series is over that the receiver tells of once more; one that was stopped at its
        very beginning is known by its id alone."""
        return self._marks.has((mark_of(over.series, over.started), mark_of(over.series, 0.0)))

    @property
    def untold(self) -> bytes:
        """Marks of the series whose end the parent was not told yet, at most `TOLD_AT_ONCE`."""
        return bytes(self._untold[: TOLD_AT_ONCE * BYTES])

    def told(self, marks: bytes) -> None:
        """The parent was told of these."""
        del self._untold[: len(marks)]

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
