"""The account of one series: one state per frame, and a table that says how it may change.

Every frame ends in exactly one of the final states; what is not final has somebody who is alive, or whose
death is noticed. No I/O: who calls has seen what happened.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum, IntEnum
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np

from penstock.processing.models import Counts
from penstock.processing.results.layout import MOST_PLANNED
from penstock.processing.results.rows import Beyond

Indices: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"
"""Indices of frames, each once."""
REACH = 2**24
"""How far beyond the highest index a frame may be where frames have no state before they come: a wrong index
must not take memory. A receiver that was told the number has this limit, too, and else a lower one; but not
all of its frames come here."""
FIRST = 4096
"""Frames for which there is room at first."""


class State(IntEnum):
    """What is known of a frame; the numbers of final states are those in the result file."""

    DONE = 1
    """Its results are stored."""
    FAILED = 2
    """The user's code has raised; a sentence is kept."""
    LOST = 3
    """Its worker died with it, and it is not tried (any more); the worker's name is kept."""
    DROPPED = 4
    """The receiver had it, and nobody took it: the queue was full, and there is no file that has it."""
    ABSENT = 5
    """The receiver does not have it."""
    QUEUED = 16
    """It waits for a worker."""
    IN_WORK = 17
    """A worker has it."""
    HELD = 18
    """It went into an accumulated value that is still in its worker."""
    PENDING = 255
    """It is planned and has not come; or the receiver has taken it back."""


FINAL = (State.DONE, State.FAILED, State.LOST, State.DROPPED, State.ABSENT)


class Event(Enum):
    """What happens to frames, in words for the documentation."""

    COMES = "comes, by the stream or from the file"
    GIVEN = "is given to a worker"
    DONE = "results have come"
    HELD = "results have come, and a part of them is still in the worker"
    HANDED_OVER = "the worker has handed over"
    FAILED = "the user's code has raised, or its result is unlike the others"
    AGAIN = "its worker is gone"
    UNOPENED = "its worker cannot open the file"
    LOST = "its worker is gone, at the third attempt or without retry; or the distributor, without a file"
    TAKEN_BACK = "the receiver has taken the shared memory back"
    ABSENT = "the series has ended, and the receiver, or a file of another program, does not have it"
    DROPPED = "the series has ended, and no file has it; or it was stopped, or the pipeline is in Error"


TABLE: Mapping[tuple[State, Event], State] = {
    (State.PENDING, Event.COMES): State.QUEUED,
    (State.PENDING, Event.ABSENT): State.ABSENT,
    (State.PENDING, Event.DROPPED): State.DROPPED,
    (State.PENDING, Event.LOST): State.LOST,
    (State.QUEUED, Event.GIVEN): State.IN_WORK,
    (State.QUEUED, Event.TAKEN_BACK): State.PENDING,
    (State.QUEUED, Event.DROPPED): State.DROPPED,
    (State.IN_WORK, Event.DONE): State.DONE,
    (State.IN_WORK, Event.HELD): State.HELD,
    (State.IN_WORK, Event.FAILED): State.FAILED,
    (State.IN_WORK, Event.AGAIN): State.QUEUED,
    (State.IN_WORK, Event.UNOPENED): State.QUEUED,
    (State.IN_WORK, Event.LOST): State.LOST,
    (State.IN_WORK, Event.TAKEN_BACK): State.PENDING,
    (State.IN_WORK, Event.DROPPED): State.DROPPED,
    (State.HELD, Event.HANDED_OVER): State.DONE,
    (State.HELD, Event.FAILED): State.FAILED,
    (State.HELD, Event.AGAIN): State.QUEUED,
    (State.HELD, Event.DROPPED): State.DROPPED,
}
"""The state that follows; what is not here cannot happen. Final states are left by nothing."""

_NOTHING = 0


def _after(event: Event) -> np.ndarray[Any, np.dtype[np.uint8]]:
    states = np.full(256, _NOTHING, np.uint8)
    for (state, found), follows in TABLE.items():
        if found is event:
            states[state] = follows
    return states


_AFTER = {event: _after(event) for event in Event}


class AccountError(Exception):
    """Something has happened that the table does not have: an error of this program."""


class Account:
    """The states of the frames of one series.

    Each frame has a state of its own up to the highest that has come, or all do if not very many are planned.
    All others, from `reach` on, are in one state together.

    Args:
        planned: number of frames; `None` if nobody knows.
    """

    def __init__(self, planned: int | None) -> None:
        self.planned = planned
        self._frames = self._reach = 0
        self._states = np.full(FIRST, State.PENDING, np.uint8)
        self._beyond = State.PENDING
        self._counts = [0] * 256
        self._restored = dict.fromkeys(FINAL, 0)
        self.extend(planned or 0)

    @property
    def frames(self) -> int:
        """Number of frames: what was planned, or the highest index known + 1."""
        return self._frames

    @property
    def reach(self) -> int:
        """Number of frames that have a state of their own."""
        return self._reach

    @property
    def beyond(self) -> Beyond:
        """All others, and their state."""
        return Beyond(self._reach, self._frames, self._beyond)

    def without_rows(self) -> Beyond:
        """Return the frames that need no row in the file at the end: `beyond`, or many at the end of what was
        planned that are absent."""
        others = np.flatnonzero(self.states != State.ABSENT)
        first = int(others[-1]) + 1 if len(others) else 0
        if self._reach < self._frames or self._frames - first < FIRST:
            return self.beyond
        return Beyond(first, self._frames, State.ABSENT)

    @property
    def states(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """(reach,), one `State` each; not to be changed."""
        return self._states[: self._reach]

    @property
    def counts(self) -> Counts:
        """The account, which adds up at every moment."""
        counts, frames = self._counts, self._frames
        named = {state.name.lower(): counts[state] for state in State if state is not State.PENDING}
        return Counts(frames=frames, pending=frames - sum(named.values()), **named)

    @property
    def made(self) -> dict[State, int]:
        """Frames that have come into each final state here, without those that were restored."""
        return {state: self._counts[state] - self._restored[state] for state in FINAL}

    @property
    def open(self) -> int:
        """Frames that are queued, in work or held."""
        return self._counts[State.QUEUED] + self._counts[State.IN_WORK] + self._counts[State.HELD]

    def indices(self, state: State) -> Indices:
        """Return the frames in a state, ascending, of those that have one of their own."""
        return np.flatnonzero(self.states == state).astype(np.int64, copy=False)

    def expected(self, indices: Sequence[int]) -> list[bool]:
        """Return for each frame that comes whether it is expected, once, and make room for it. Others are
        known already, were sent twice, or lie beyond what was planned."""
        if not indices:
            return []
        highest = max(indices)
        if highest >= self._reach and self._beyond is State.PENDING:
            # Of those that lie too far beyond, none makes room for the others.
            limit = self._reach + REACH
            if self.planned is not None:
                limit = min(limit, self._frames)
            self.keep(max((index + 1 for index in indices if index < limit), default=0))
        if min(indices) >= 0 and highest < self._reach and len(set(indices)) == len(indices):
            states = self._states[np.fromiter(indices, np.int64, len(indices))]
            return (states == State.PENDING).tolist()  # type: ignore[no-any-return]
        found, seen = [], set()
        for index in indices:
            is_known = not 0 <= index < self._reach or index in seen
            found.append(not is_known and bool(self._states[index] == State.PENDING))
            seen.add(index)
        return found

    def extend(self, frames: int) -> None:
        """Let there be at least so many frames."""
        self._frames = max(self._frames, frames)
        if frames <= MOST_PLANNED:
            self.keep(frames)

    def keep(self, end: int) -> None:
        """Let each frame before `end` have a state of its own."""
        if end <= self._reach:
            return
        if end > len(self._states):
            more = np.full(max(end, 2 * len(self._states)), State.PENDING, np.uint8)
            more[: self._reach] = self.states
            self._states = more
        self._reach, self._frames = end, max(self._frames, end)

    def close(self, event: Event) -> None:
        """Let something happen to all frames that have no state of their own; they have a final one then, and
        no more frames are expected among them."""
        if self._reach < self._frames and self._beyond is State.PENDING:
            self._beyond = TABLE[State.PENDING, event]
            self._counts[self._beyond] += self._frames - self._reach

    def happens(self, event: Event, indices: Indices) -> None:
        """Let something happen to frames.

        Raises:
            AccountError: to one of them it cannot happen; nothing has changed.
        """
        if not len(indices):
            return
        before = self._states[indices]
        first, n = int(before[0]), len(before)
        if before.tobytes().count(first) == n and (follows := int(_AFTER[event][first])):  # nearly always
            self._states[indices] = follows
            self._counts[first] -= n
            self._counts[follows] += n
            return
        after = _AFTER[event][before]
        if not after.all():
            place = int(np.argmin(after))
            state = State(int(before[place])).name.lower()
            raise AccountError(f"frame {int(indices[place])} is {state}, and cannot be: {event.value}")
        self._states[indices] = after
        self._count(before, -1)
        self._count(after, 1)

    def restore(self, states: np.ndarray[Any, np.dtype[np.uint8]], beyond: Beyond | None = None) -> None:
        """Take final states over that an earlier distributor has stored; all others are pending.

        Args:
            states: of the frames that have a row.
            beyond: the others, of a series that is over.
        """
        stored = np.isin(states, FINAL)
        last = int(np.flatnonzero(stored)[-1]) + 1 if stored.any() else 0
        self.keep(last)
        known = np.flatnonzero(stored[:last])
        self._count(self._states[known], -1)
        self._states[known] = states[known]
        self._count(states[known], 1)
        for state in FINAL:
            self._restored[state] += int(np.count_nonzero(states[known] == state))
        if beyond is not None and beyond.state in FINAL:
            self.keep(beyond.first)
            self._frames, self._beyond = beyond.end, State(beyond.state)
            self._states[beyond.first : self._reach] = self._beyond  # they have one here, and no row there
            self._counts[self._beyond] += beyond.end - beyond.first
            self._restored[self._beyond] += beyond.end - beyond.first

    def _count(self, states: np.ndarray[Any, np.dtype[np.uint8]], sign: int) -> None:
        """Count states; of frames that are pending there is no count, since it is what is left."""
        first, n = int(states[0]) if len(states) else 0, len(states)
        if n and (n == 1 or bool((states == first).all())):
            self._counts[first] += sign * n
            return
        counts = np.bincount(states, minlength=1)
        for state in np.flatnonzero(counts).tolist():
            self._counts[state] += sign * int(counts[state])


def rest_of(absent: Iterable[tuple[int, int]], frames: int) -> tuple[int, bool]:
    """Return from which frame on all are absent, or all are not, up to the last one; and whether they are.

    Args:
        absent: first and last index of ranges, in any order.
        frames: number of all frames.
    """
    end, behind = frames, 0
    for first, last in sorted(absent, key=itemgetter(1), reverse=True):
        behind = max(behind, last + 1)
        if last + 1 < end:
            break
        end = min(end, first)
    return (end, True) if end < frames else (min(behind, frames), False)
