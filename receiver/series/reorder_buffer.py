"""Puts messages of one streamer in order again that came over several sockets, by their msg_number.

It is one more for each message, start and end included, and runs on over series; a streamer that was
restarted begins at 0 (STINS). So what has no number missing before it can pass, and order tells what belongs
together, as it does on one socket. Where a number is missing, the others wait for it, bounded in bytes and
time.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

from penstock.receiver.series.running_series import held_bytes
from penstock.stins.messages import Message, Start

SETTLE_SECONDS = 0.5
"""Time in which every socket has been read: a start message that is the first of a stream, but not its number
0, may have overtaken others."""


class _Held(NamedTuple):
    run: int
    number: int
    place: int  # of two with one number the first that came, and no comparison of messages
    since: float
    nbytes: int
    message: Message


class ReorderBuffer:
    """Messages that wait for those before them.

    Args:
        seconds: for which they wait; then what is missing is lost, or comes late.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._held: list[_Held] = []  # a heap
        self._run = 0  # of a streamer that counts from 0 on
        self._expected: int | None = None
        """Number that comes next; `None`: that of a start message with nothing before it."""
        self._put = 0
        self.nbytes = 0
        """Memory of what waits."""

    def __len__(self) -> int:
        return len(self._held)

    def put(self, message: Message, number: int, now: float) -> None:
        """A message has come."""
        if isinstance(message, Start) and self._expected is not None and number < self._expected:
            self.restart()
        nbytes = held_bytes(message)
        heappush(self._held, _Held(self._run, number, self._put, now, nbytes, message))
        self._put += 1
        self.nbytes += nbytes

    def restart(self) -> None:
        """What comes from now on is of a streamer that was restarted; what waits need not wait any more."""
        self._run += 1
        self._expected = None

    def next(self, now: float, most_bytes: float) -> Message | None:
        """The message whose turn it is, if there is one.

        Args:
            now: moment on the clock of `put`, in seconds.
            most_bytes: if more than this waits, the first goes on.
        """
        if not self._held:
            return None
        first, expected = self._held[0], self._expected
        waited = now - first.since
        if expected is not None:
            has_turn = first.number <= expected
        else:
            has_turn = isinstance(first.message, Start) and (first.number == 0 or waited > SETTLE_SECONDS)
        is_old = first.run < self._run or waited > self._seconds or self.nbytes > most_bytes
        if not has_turn and not is_old:
            return None
        heappop(self._held)
        self.nbytes -= first.nbytes
        if first.run == self._run and (expected is None or first.number >= expected):
            self._expected = first.number + 1
        return first.message

    def forget(self) -> int:
        """Drop what waits; returns how many messages that are."""
        dropped = len(self._held)
        self._held.clear()
        self.nbytes = 0
        return dropped
