"""What was recorded of one channel: the newest values, in the order of their times."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.processing.channels.join import Floats, Places
from penstock.processing.channels.recording import ENDED

MOST = 1_000_000
"""Values that are kept of a channel (24 MB): those of 17 minutes at 1,000/s."""


class History:
    """Values of one channel, bounded.

    Args:
        most: values that are kept at least, once there are so many.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._columns: tuple[Any, ...] = (np.empty(1024), np.empty(1024), np.empty(1024, np.int64))
        self._first = self._end = 0
        self.total = 0
        """Values that were recorded, those included that are not kept any more."""

    @property
    def times(self) -> Floats:
        """Times in s since 1970, ascending; of equal ones the last was recorded last."""
        return self.since(-np.inf)[0]

    @property
    def values(self) -> Floats:
        """The values."""
        return self.since(-np.inf)[1]

    @property
    def numbers(self) -> Places:
        """Numbers of their frames; `NO_NUMBER` where they do not say so, `ENDED` of what is no value."""
        return self.since(-np.inf)[2]

    @property
    def newest(self) -> float:
        """Time of the newest value; -inf if there is none."""
        return float(self._columns[0][self._end - 1]) if self._end > self._first else -np.inf

    def add(self, times: Floats, values: Floats, numbers: Places) -> None:
        """Add values in the order in which they were recorded."""
        count = len(times)
        if not count:
            return
        self._make_room(count)
        begin, end = self._end, self._end + count
        for column, new in zip(self._columns, (times, values, numbers), strict=True):
            column[begin:end] = new
        self._end, self.total = end, self.total + int(np.count_nonzero(numbers != ENDED))
        earliest = float(times.min())
        is_late = begin > self._first and earliest < self._columns[0][begin - 1]
        if is_late or bool((np.diff(times) < 0).any()):
            # Some are earlier than those that came before: from there on they are put in order.
            kept = self._columns[0][self._first : begin]
            start = self._first + int(np.searchsorted(kept, earliest, side="right"))
            order = start + np.argsort(self._columns[0][start:end], kind="stable")
            for column in self._columns:
                column[start:end] = column[order]
        self._first = max(self._first, self._end - self._most)

    def since(self, time: float) -> tuple[Floats, Floats, Places]:
        """Return times, values and numbers from a time on."""
        begin = self._first
        if time > -np.inf:
            begin += int(np.searchsorted(self._columns[0][begin : self._end], time, side="left"))
        times, values, numbers = (column[begin : self._end] for column in self._columns)
        return times, values, numbers

    def _make_room(self, count: int) -> None:
        """Make room behind the last value: twice as much as is kept, so that each is moved once at most."""
        if self._end + count <= len(self._columns[0]):
            return
        kept = self._end - self._first
        made = []
        for column in self._columns:
            new = np.empty(2 * (kept + count), column.dtype)
            new[:kept] = column[self._first : self._end]
            made.append(new)
        self._columns, self._first, self._end = tuple(made), 0, kept
