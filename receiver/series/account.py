"""The account of one series: every planned index ends in exactly one status.

All counts derive from it. One byte per index and no object per frame: an account of ten million frames takes
10 MB.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from penstock.receiver.models import Counts, Fate, FrameStatus, Lost

GOOD = frozenset((FrameStatus.STORED, FrameStatus.DELIVERED, FrameStatus.DISCARDED))
"""Statuses of a frame that went where it was meant to go."""

_NOT_WHOLE = (FrameStatus.CORRUPT, FrameStatus.PARTIAL)
BETTER: Mapping[int, frozenset[FrameStatus]] = {
    FrameStatus.MISSING: GOOD.union(_NOT_WHOLE),  # it was stored, and the disk has lost it
    FrameStatus.CORRUPT: GOOD | {FrameStatus.PARTIAL},
    # A frame that is in the file stays there, so not DISCARDED.
    FrameStatus.PARTIAL: frozenset((FrameStatus.STORED, FrameStatus.DELIVERED)),
    **dict.fromkeys(GOOD, frozenset()),
}
"""Statuses of a later copy that replaces a frame, by the frame's status. Any other copy is a duplicate."""
_ARRIVED = (*GOOD, FrameStatus.PARTIAL, FrameStatus.CORRUPT)
_SETTLED = (*_ARRIVED, FrameStatus.NOT_TRIGGERED)
_NOTHING_YET = int(FrameStatus.PENDING)
_MISSING_FOR_NOW = (
    254  # given up by the gap clock, but the series is still open; this and above are not final
)
BLOCK = 2**20
"""Statuses that are counted at a time: NumPy counts in a copy of eight bytes per status."""
RUNS_BLOCK = 2**16
"""Statuses in which runs are searched at a time: the first ranges are found in milliseconds, however many
follow."""

FATES: Mapping[int, Fate] = {
    FrameStatus.MISSING: "missing",
    FrameStatus.CORRUPT: "corrupt",
    FrameStatus.PARTIAL: "partial",
    FrameStatus.DISCARDED: "discarded",
    FrameStatus.NOT_TRIGGERED: "not_triggered",
}
"""Statuses, after the end of a series, of frames that are not, or not completely, where they belong."""
MOST_LOST = 100
"""Most ranges of such frames that are reported."""
ABSENT: frozenset[Fate] = frozenset(("missing", "corrupt", "not_triggered"))
"""Fates of frames whose pixels the receiver does not have."""
MOST_ABSENT = 1_000_000
"""Most ranges of such frames in an end message, whose size is limited."""

COUNTERS = (
    "received", "stored", "partial", "delivered", "discarded", "corrupt", "missing", "not_triggered",
    "pending", "duplicate", "late", "out_of_range", "stale", "undecodable", "lost_messages",
)  # fmt: skip
"""Counts in the account of a file, /entry/instrument/<detector>/series."""

UNANNOUNCED_REACH = 10_000
"""How far beyond the highest index a frame may be if the total was not announced."""
ANNOUNCED_REACH = 2**24
"""The same if it was announced: a day of lost frames at 200 Hz."""


class Account:
    """Statuses and counts of one series.

    Args:
        planned: announced number of frames; `None` if unknown.
    """

    def __init__(self, planned: int | None) -> None:
        self.planned = planned
        self.announced = planned is not None
        """True if the number of frames was known before the end."""
        self.received = 0
        self.duplicate = 0
        self.late = 0
        self.out_of_range = 0
        self.stale = 0
        self.undecodable = 0
        self.lost_messages = 0
        self.flushed = 0
        self.highest = -1
        """Highest index seen."""
        self.gap_start = 0
        """First pending index: every index below it has arrived or been given up."""
        self.closed = False
        self._tally = [0] * 256
        self._triggered = 0
        self._came = 0  # end of the indices with a known frame
        # Bytes for single frames; an array on the same memory for everything else.
        self._bytes = bytearray()
        self._status = np.empty(0, np.uint8)
        # Grown as indices arrive, whatever total was announced: announcing 2**31 frames and sending ten takes
        # the memory of ten.
        self._grow_to(1024)

    def restore(self, statuses: np.ndarray, counts: Mapping[str, int]) -> None:
        """Resume the account of a file whose writer died; call it before any frame is entered.

        Args:
            statuses: statuses of the first indices, uint8; missing frames are pending again.
            counts: counts in the file; used only for what no status tells.
        """
        size = len(statuses)
        self._grow_to(max(size, len(self._bytes)))
        self._status[:size] = statuses
        span = self._status[:size]
        span[span == FrameStatus.MISSING] = FrameStatus.PENDING
        known = np.bincount(span, minlength=256)
        known[FrameStatus.PENDING] = 0
        self._tally = [int(n) for n in known]
        self.highest = size - 1
        self._advance()
        self.duplicate, self.late = counts["duplicate"], counts["late"]
        self.out_of_range, self.stale = counts["out_of_range"], counts["stale"]
        self.undecodable, self.lost_messages = counts["undecodable"], counts["lost_messages"]
        self.received = max(counts["received"], sum(self._tally) + self.duplicate)
        self.flushed = self._tally[FrameStatus.STORED] + self._tally[FrameStatus.PARTIAL]

    def in_range(self, index: int) -> bool:
        """Return whether a frame may have this index."""
        limit = self.planned if self.planned is not None else self.highest + 1 + UNANNOUNCED_REACH
        # A sound stream has no such gap, and a wrong number must not take memory and time.
        return 0 <= index < limit and index - self.highest <= ANNOUNCED_REACH

    def status(self, index: int) -> FrameStatus:
        """Return the present status of a planned frame."""
        code = self._bytes[index] if index < len(self._bytes) else FrameStatus.PENDING
        return FrameStatus.MISSING if code == _MISSING_FOR_NOW else FrameStatus(code)

    def is_duplicate(self, index: int) -> bool:
        """Return whether a good frame with this index has arrived already."""
        return index < len(self._bytes) and self._bytes[index] in GOOD

    def improves(self, index: int, status: FrameStatus) -> bool:
        """Return whether a frame of this status would be accepted: there is none yet, or a worse one."""
        before = self._bytes[index] if index < len(self._bytes) else _NOTHING_YET
        return before >= _MISSING_FOR_NOW or status in BETTER[before]

    def take(self, index: int, status: FrameStatus) -> None:
        """Enter a frame that has arrived: stored, delivered, discarded, partial or corrupt.

        Of two frames with the same index the better one counts, see `BETTER`; of two equal ones, the first.
        """
        if index >= len(self._bytes):
            self._grow_to(max(index + 1, 2 * len(self._bytes)))
        before = self._bytes[index]
        self.received += 1
        if before != _NOTHING_YET:
            if before == _MISSING_FOR_NOW:
                self.late += 1
            elif status not in BETTER[before]:
                self.duplicate += 1
                return
        self._bytes[index] = status
        self._tally[before] -= 1
        self._tally[status] += 1
        if index > self.highest:
            self.highest = index
        if index == self.gap_start:
            self._advance()

    def take_run(self, first: int, count: int, status: FrameStatus) -> None:
        """Enter consecutive frames of one status, beyond the highest index seen."""
        end = first + count
        if end > len(self._bytes):
            self._grow_to(max(end, 2 * len(self._bytes)))
        self._bytes[first:end] = bytes((status,)) * count
        self._tally[_NOTHING_YET] -= count
        self._tally[status] += count
        self.received += count
        self.highest = end - 1
        if first == self.gap_start:
            self.gap_start = end

    def refuse(self, index: int) -> None:
        """Enter a sound frame that could not be stored, which ends the series: it is missing, even if no
        total was announced."""
        self._came = max(self._came, index + 1)

    def revise(self, index: int, status: FrameStatus, *, late: bool) -> None:
        """Change the status of a frame because one of its modules has arrived later.

        Args:
            index: index of the frame.
            status: its new status.
            late: whether to count it as late.
        """
        before = self._bytes[index]
        self._bytes[index] = status
        self._tally[before] -= 1
        self._tally[status] += 1
        self.late += late

    def has_gap(self) -> bool:
        """Return whether a later index was received while an earlier one is pending."""
        return self.gap_start <= self.highest

    def gaps(self) -> int:
        """Return how many indices below the highest are not accounted for."""
        return int(np.count_nonzero(self._status[self.gap_start : self.highest + 1] == FrameStatus.PENDING))

    def absent_since(self, first: int) -> int:
        """Return how many indices from one on, below the highest, have no frame; before the account is
        closed."""
        return int(np.count_nonzero(self._status[max(0, first) : self.highest + 1] >= _MISSING_FOR_NOW))

    def give_up_gaps(self, below: int) -> int:
        """Give up pending frames below an index: missing, unless they arrive late. Return their number."""
        span = self._status[self.gap_start : min(below, self.highest + 1)]
        pending = span == FrameStatus.PENDING
        span[pending] = _MISSING_FOR_NOW
        given_up = int(np.count_nonzero(pending))
        self._tally[FrameStatus.PENDING] -= given_up
        self._tally[_MISSING_FOR_NOW] += given_up
        self._advance()
        return given_up

    @property
    def arrived(self) -> int:
        """Number of indices whose frame has arrived, whatever its status."""
        return sum(self._tally[status] for status in _ARRIVED)

    def all_accounted(self) -> bool:
        """Return whether all announced frames have arrived in some status."""
        return (
            self.planned is not None and self.gap_start >= self.planned and not self._tally[_MISSING_FOR_NOW]
        )

    def close(self, triggered: int | None, tail: int = 0) -> None:
        """Close the account at the end of the series: pending frames become missing or not triggered.

        Args:
            triggered: number of triggered frames according to the sender; `None` if unknown.
            tail: number of frames that were lost after the last one received; they are planned if no total
                was announced.
        """
        if self.planned is None:
            self.planned = max(self.highest + 1 + tail, self._came, triggered or 0)
        self._triggered = self.planned if triggered is None else min(triggered, self.planned)
        self.closed = True
        size = min(self.planned, len(self._status))
        known = np.zeros(256, np.int64)
        for start in range(0, size, BLOCK):
            block = self._status[start : min(start + BLOCK, size)]
            unknown = block >= _MISSING_FOR_NOW
            triggered_here = max(0, self._triggered - start)
            block[:triggered_here][unknown[:triggered_here]] = FrameStatus.MISSING
            block[triggered_here:][unknown[triggered_here:]] = FrameStatus.NOT_TRIGGERED
            known += np.bincount(block, minlength=256)
        # Nothing beyond the array was received.
        known[FrameStatus.MISSING] += max(0, self._triggered - size)
        known[FrameStatus.NOT_TRIGGERED] += self.planned - max(size, self._triggered)
        self._tally = [int(n) for n in known]

    def statuses_of(self, indices: np.ndarray) -> np.ndarray:
        """Return the statuses of some indices with known frames, uint8."""
        found: np.ndarray = self._status[indices]
        return found

    def statuses(self, length: int) -> np.ndarray:
        """Return the statuses of the first `length` indices, uint8 (`FrameStatus`); frames given up by the
        gap clock are missing."""
        out = self._final(length) if self.closed else np.full(length, FrameStatus.PENDING, np.uint8)
        known = min(length, len(self._status))
        out[:known] = self._status[:known]
        out[out == _MISSING_FOR_NOW] = FrameStatus.MISSING
        return out

    @property
    def upto(self) -> int:
        """End of the indices whose fate may be known: while the series is open, of those received."""
        return (self.planned or 0) if self.closed else self.highest + 1

    def lost(self, begin: int = 0, limit: int = MOST_LOST) -> list[Lost]:
        """Return ranges of frames that are not, or not completely, where they belong, in order.

        While the series is open, frames that were given up count as missing, and pending ones do not.

        Args:
            begin: lowest index; a range that it divides begins there.
            limit: most ranges to return.
        """
        found: list[Lost] = []
        for first, after, status in self._runs(begin):
            fate = FATES.get(status)
            if fate is None or first >= after:
                continue
            if found and found[-1][1:] == (first - 1, fate):
                found[-1] = (found[-1][0], after - 1, fate)
            elif len(found) == limit:
                break
            else:
                found.append((first, after - 1, fate))
        return found

    def absent(self) -> tuple[tuple[int, int, str], ...] | None:
        """Return all frames whose pixels were never there, as ranges in order: first, last, fate; `None` if
        there are more ranges than an end message can hold."""
        found = [lost for lost in self.lost(limit=MOST_ABSENT + 1) if lost[2] in ABSENT]
        return tuple(found) if len(found) <= MOST_ABSENT else None

    def _runs(self, begin: int) -> Iterator[tuple[int, int, int]]:
        """Yield first index, end and status of runs of frames of one status; a long run may be split."""
        planned = self.upto
        size = min(planned, len(self._status))
        for start in range(begin, size, RUNS_BLOCK):
            block = self._status[start : min(start + RUNS_BLOCK, size)]
            edges = np.flatnonzero(block[1:] != block[:-1]) + 1
            first = start
            for edge in (*(edges + start).tolist(), start + len(block)):
                status = int(self._bytes[first])
                yield first, edge, FrameStatus.MISSING if status == _MISSING_FOR_NOW else status
                first = edge
        if self.closed:  # nothing beyond the array was received
            yield max(size, begin), self._triggered, FrameStatus.MISSING
            yield max(size, self._triggered, begin), planned, FrameStatus.NOT_TRIGGERED

    def counts(self) -> Counts:
        """Return the present counts; stored + … + pending == planned if that is known."""
        tally = self._tally
        missing = tally[FrameStatus.MISSING] + tally[_MISSING_FOR_NOW]
        settled = sum(tally[status] for status in _SETTLED)
        size = self.planned if self.planned is not None else self.highest + 1
        return Counts(
            planned=self.planned, received=self.received, stored=tally[FrameStatus.STORED],
            partial=tally[FrameStatus.PARTIAL],
            delivered=tally[FrameStatus.DELIVERED], discarded=tally[FrameStatus.DISCARDED],
            corrupt=tally[FrameStatus.CORRUPT], missing=missing,
            not_triggered=tally[FrameStatus.NOT_TRIGGERED], pending=size - settled - missing,
            flushed=self.flushed, duplicate=self.duplicate, late=self.late,
            out_of_range=self.out_of_range, stale=self.stale, undecodable=self.undecodable,
            lost_messages=self.lost_messages,
        )  # fmt: skip

    def _final(self, length: int) -> np.ndarray:
        """Return the status that a pending index has at the end."""
        final = np.full(length, FrameStatus.MISSING, np.uint8)
        final[self._triggered :] = FrameStatus.NOT_TRIGGERED
        return final

    def _advance(self) -> None:
        """Move `gap_start` beyond the indices that are accounted for."""
        start, end = self.gap_start, self.highest + 1
        # The usual case, in order: one step.
        if start < end and self._bytes[start] != FrameStatus.PENDING:
            start += 1
        if start < end:
            ahead = np.flatnonzero(self._status[start:end] == FrameStatus.PENDING)
            start = end if not len(ahead) else start + int(ahead[0])
        self.gap_start = start

    def _grow_to(self, size: int) -> None:
        grown = bytearray(b"\xff") * size
        grown[: len(self._bytes)] = self._bytes
        self._bytes = grown
        self._status = np.frombuffer(grown, np.uint8)
