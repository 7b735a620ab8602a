"""The account of one series: every planned index ends in exactly one status.

All counts derive from it. Two arrays that grow in blocks, no dictionary per frame: an account of
ten million frames takes 10 MB.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from penstock.receiver.models import Counts


class FrameStatus(IntEnum):
    """What became of a planned frame; the numbers stand in the file."""

    MISSING = 0
    """Never arrived. 0, so that an index nobody wrote to reads as missing."""
    STORED = 1
    DELIVERED = 2
    """Live view and consumers only, as asked for."""
    DISCARDED = 3
    """Marked by the sender as not to be written."""
    CORRUPT = 4
    NOT_TRIGGERED = 5
    PENDING = 255
    """Nothing is known yet; stands only in the account of a running series."""


GOOD = (FrameStatus.STORED, FrameStatus.DELIVERED, FrameStatus.DISCARDED)
"""Statuses of a frame that went where it was meant to go."""

_MISSING_FOR_NOW = 254  # the gap clock has spoken, the series is still open

UNANNOUNCED_REACH = 10_000
"""How far past the highest index a frame may be when no total was announced."""


class Account:
    """Statuses and counts of one series.

    Args:
        planned: frames announced, or `None` if nobody said.
        reach: with `planned` unknown, how far past the highest index a frame may be.
    """

    def __init__(self, planned: int | None, reach: int = UNANNOUNCED_REACH) -> None:
        self.planned = planned
        self.received = 0
        self.duplicate = 0
        self.late = 0
        self.out_of_range = 0
        self.stale = 0
        self.flushed = 0
        self.highest = -1
        """Highest index seen."""
        self.gap_start = 0
        """First index of which nothing is known: all below are accounted for."""
        self._reach = reach
        # Grown as indices come, whatever total was announced: a streamer that announces 2**31
        # frames and sends ten costs ten.
        self._status = np.full(1024, FrameStatus.PENDING, np.uint8)

    def in_range(self, index: int) -> bool:
        """Whether a frame may have this index."""
        limit = self.planned if self.planned is not None else self.highest + 1 + self._reach
        return 0 <= index < limit

    def status(self, index: int) -> FrameStatus:
        """What is known of a planned frame now."""
        code = int(self._status[index]) if index < len(self._status) else FrameStatus.PENDING
        return FrameStatus.MISSING if code == _MISSING_FOR_NOW else FrameStatus(code)

    def is_duplicate(self, index: int) -> bool:
        """Whether a good frame of this index has been taken already."""
        return index < len(self._status) and self._status[index] in GOOD

    def take(self, index: int, status: FrameStatus) -> None:
        """Enter a frame that arrived: stored, delivered, discarded or corrupt.

        A good frame replaces a corrupt one of the same index, never the other way round.
        """
        self._grow(index)
        before = int(self._status[index])
        self.received += 1
        if before == _MISSING_FOR_NOW:
            self.late += 1
        if before in GOOD:
            self.duplicate += 1
            return
        self._status[index] = status
        if index > self.highest:
            self.highest = index
        if index == self.gap_start:
            self._advance()

    def has_gap(self) -> bool:
        """Whether a later index has come while an earlier one is not accounted for."""
        return self.gap_start <= self.highest

    def gaps(self) -> int:
        """How many indices below the highest are not accounted for."""
        return int(np.count_nonzero(self._status[self.gap_start : self.highest + 1] == FrameStatus.PENDING))

    def give_up_gaps(self, below: int) -> int:
        """The gap clock: what is still pending below an index is missing, unless it comes late.

        Returns how many were given up.
        """
        span = self._status[self.gap_start : min(below, self.highest + 1)]
        pending = span == FrameStatus.PENDING
        span[pending] = _MISSING_FOR_NOW
        self._advance()
        return int(np.count_nonzero(pending))

    def all_accounted(self) -> bool:
        """Whether every announced frame has arrived in some status."""
        return self.planned is not None and self.gap_start >= self.planned and not self._for_now()

    def close(self, triggered: int | None) -> None:
        """The series has ended: what is not known is missing, or was never triggered.

        Args:
            triggered: how many frames the sender says were triggered; `None` if it did not say.
        """
        if self.planned is None:
            self.planned = max(self.highest + 1, triggered or 0)
        status = self._status[: min(self.planned, len(self._status))]
        unknown = (status == FrameStatus.PENDING) | (status == _MISSING_FOR_NOW)
        status[unknown] = FrameStatus.MISSING
        if triggered is not None:
            tail = status[triggered:]
            tail[unknown[triggered:]] = FrameStatus.NOT_TRIGGERED
        self._closed_tail = FrameStatus.MISSING if triggered is None else FrameStatus.NOT_TRIGGERED
        # Beyond the array nothing ever came; up to `triggered` it is missing, then not triggered.
        self._beyond = max(0, self.planned - len(self._status))
        self._beyond_missing = (
            self._beyond
            if triggered is None
            else min(self._beyond, max(0, min(triggered, self.planned) - len(self._status)))
        )

    _beyond = 0
    _beyond_missing = 0
    _closed_tail: FrameStatus | None = None

    def statuses(self, length: int) -> np.ndarray:
        """Statuses of the first `length` indices, uint8 (`FrameStatus`); missing-for-now is missing."""
        out = np.full(length, FrameStatus.PENDING, np.uint8)
        known = self._status[:length]
        out[: len(known)] = known
        out[out == _MISSING_FOR_NOW] = FrameStatus.MISSING
        if self._closed_tail is not None:
            out[out == FrameStatus.PENDING] = self._closed_tail
        return out

    def counts(self) -> Counts:
        """The counts, as they are now; stored + … + pending == planned while that is known."""
        size = self.planned if self.planned is not None else self.highest + 1
        tally = np.bincount(self._status[: min(size, len(self._status))], minlength=256)
        known = int(tally.sum())
        pending = int(tally[FrameStatus.PENDING]) + max(0, size - known)
        missing = int(tally[FrameStatus.MISSING]) + int(tally[_MISSING_FOR_NOW])
        not_triggered = int(tally[FrameStatus.NOT_TRIGGERED])
        if self._closed_tail is not None:
            missing += self._beyond_missing
            not_triggered += self._beyond - self._beyond_missing
            pending = 0
        return Counts(
            planned=self.planned, received=self.received, stored=int(tally[FrameStatus.STORED]),
            delivered=int(tally[FrameStatus.DELIVERED]), discarded=int(tally[FrameStatus.DISCARDED]),
            corrupt=int(tally[FrameStatus.CORRUPT]), missing=missing, not_triggered=not_triggered,
            pending=pending, flushed=self.flushed, duplicate=self.duplicate, late=self.late,
            out_of_range=self.out_of_range, stale=self.stale,
        )  # fmt: skip

    def _for_now(self) -> bool:
        return bool(np.any(self._status[: self.highest + 1] == _MISSING_FOR_NOW))

    def _advance(self) -> None:
        """Move `gap_start` past what is accounted for."""
        start, end = self.gap_start, self.highest + 1
        # The usual case, in order: one step.
        if start < end and self._status[start] != FrameStatus.PENDING:
            start += 1
        if start < end:
            ahead = np.flatnonzero(self._status[start:end] == FrameStatus.PENDING)
            start = end if not len(ahead) else start + int(ahead[0])
        self.gap_start = start

    def _grow(self, index: int) -> None:
        if index >= len(self._status):
            size = max(index + 1, 2 * len(self._status))
            grown = np.full(size, FrameStatus.PENDING, np.uint8)
            grown[: len(self._status)] = self._status
            self._status = grown
