"""The reorder buffer of one session: it restores the order of sending for messages of several sockets.

ZeroMQ distributes messages over several PULL sockets in turn, and keeps their order only on each socket.
`msg_number` restores it: it increases by one per message, start and end messages included, continues from
series to series, and begins at 0 when the streamer is restarted (STINS).

| message                                  | what happens to it                                              |
|------------------------------------------|-----------------------------------------------------------------|
| the expected number                      | passes at once, nothing is counted                              |
| a higher number                          | waits for its predecessors, for `seconds`                       |
| a lower number                           | passes at once: late, or a copy                                 |
| … by 32768 or more: the counter wraps    | behind all others; at once, or `seconds` after it has arrived   |
| a start message of a lower number        | begins a new session: proxies hide restarts                     |
| first of a session: start, number 0      | passes at once                                                  |
| … another start, or one to be resumed    | waits 0.5 s at most: by then every socket has been read         |
| … any other                              | waits for its start message, for `seconds`                      |
| without a number                         | passes at once; the collector refuses such a series             |

When the waiting time is over, the missing numbers are lost, and the waiting messages pass without them. While
the buffer is full, a socket that is ahead is not read: it has delivered the expected number or a higher one,
and keeps its order. If all are ahead, the expected number is lost, and nothing waits for it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Set
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

import msgspec
import numpy as np

from penstock.receiver.connection.expected_frames import FALLS_BACK, WRAPS
from penstock.stins.messages import Frame, Header, Message, Start

MESSAGE_BYTES = 500
BLOB_BYTES = 500
TEXT_FACTOR = 4
"""Bytes of a message besides the content of its blobs: the message itself, the handle of each blob, and this
many per byte of its header. 1.3 kB were measured for a message with one blob, 1.8 kB are counted."""


def held_bytes(message: Message) -> int:
    """Return the memory of a waiting message in bytes; even empty messages take some."""
    if isinstance(message, Frame):
        blobs = sum(map(len, message.blobs)) + BLOB_BYTES * len(message.blobs)
        return MESSAGE_BYTES + blobs + TEXT_FACTOR * len(msgspec.json.encode(message.image))
    if isinstance(message, Start):
        header = TEXT_FACTOR * len(msgspec.json.encode(message.header))
        part = 0 if message.part is None else len(message.part)
        return MESSAGE_BYTES + header + part + _content_bytes(message.metadata)
    return MESSAGE_BYTES + TEXT_FACTOR * len(msgspec.json.encode(message))


def _content_bytes(value: Any) -> int:
    if isinstance(value, Mapping):
        return sum(_content_bytes(key) + _content_bytes(item) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return sum(map(_content_bytes, value))
    return value.nbytes if isinstance(value, np.ndarray) else sys.getsizeof(value)


FIRST_SECONDS = 0.5
"""Time in seconds in which all sockets have been read: the first message of a session, unless its number is
0, may have overtaken the start message."""


class _Held(NamedTuple):
    lap: int
    """1 if the counter has wrapped before it, so that it comes after all others."""
    number: int
    place: int
    """Order of arrival, so that two messages with the same number are never compared."""
    since: float
    nbytes: int
    message: Message


class ReorderBuffer:
    """The messages of one streamer that wait for their predecessors.

    Args:
        seconds: waiting time for a missing number (`gap.seconds`).
        most_bytes: memory of waiting messages above which the buffer is full (`hold_mb`).
        sockets: number of sockets.
    """

    def __init__(self, seconds: float, most_bytes: float, sockets: int) -> None:
        self._seconds = seconds
        self._most_bytes = most_bytes
        self._sockets = sockets
        self._newest: dict[int, int] = {}
        """Number of the last message of the session, by socket."""
        self._from = [-1] * sockets
        """Sockets of the last messages, by their number modulo that of the sockets."""
        self._held: list[_Held] = []  # a heap
        self._expected: int | None = None
        """Number expected next; `None` before the first of a session."""
        self._last: int | None = None
        """Highest number of the session before."""
        self._start: Header | None = None
        self._first_start: int | None = None
        """Number of the first start message that waits, before the first message of a session has passed."""
        self._put = 0
        self.nbytes = 0
        """Memory of the waiting messages in bytes."""

    @property
    def held_back(self) -> Set[int]:
        """Numbers of the sockets that should not be read at present."""
        return self._sockets_ahead() if self.nbytes > self._most_bytes else frozenset()

    def _sockets_ahead(self) -> Set[int]:
        expected = self._expected or 0
        return {socket for socket, newest in self._newest.items() if newest >= expected}

    @property
    def likely(self) -> int:
        """Number of the socket that should have the expected number, since senders deal their messages to
        their peers in turn; -1 if unknown."""
        return -1 if self._expected is None else self._from[self._expected % self._sockets]

    @property
    def may_release(self) -> bool:
        """True if the message put last may let others go: the first that waits is the next one, or the buffer
        is full. Those whose time is over are left out."""
        held = self._held
        return bool(held) and (
            self._expected is None or held[0].number <= self._expected or self.nbytes > self._most_bytes
        )

    def put(self, message: Message, socket: int, now: float) -> list[Message]:
        """Take a message; return the messages whose turn has come with it, except those that `release`
        returns.

        Args:
            message: decoded message.
            socket: number of the socket that delivered it.
            now: time of a monotonic clock, in seconds.
        """
        number = _number(message)
        if number is None:
            return [message]
        self._newest[socket] = number
        self._from[number % self._sockets] = socket
        if number == self._expected:  # what waits comes behind it
            self._expected = number + 1
            if isinstance(message, Start):
                self._start = message.header
            return [message]
        expected = self._expected
        if expected is not None and number < expected:
            if not isinstance(message, Start) or message.header == self._start:
                if expected - number < FALLS_BACK or (expected in WRAPS and not self._held):
                    return [message]
                self._hold(message, number, now, lap=1)
                return []
            before = self.end_session()
            self._newest[socket] = number
            self._hold(message, number, now)
            return before
        self._hold(message, number, now)
        return []

    def release(self, now: float) -> Message | None:
        """Return the next waiting message whose turn has come, if there is one."""
        if not self._held or not self._may_go(self._held[0], now):
            return None
        return self._pop()

    def end_session(self) -> list[Message]:
        """End the session, since its connections are lost and read to the end, or its streamer was restarted;
        return all waiting messages in order."""
        left = list(self.flush())
        if self._expected is not None:
            self._last = self._expected - 1
        self._expected = None
        self._newest.clear()
        return left

    def flush(self) -> Iterator[Message]:
        """Yield all waiting messages in order: the missing numbers are lost."""
        while self._held:
            yield self._pop()

    def resume(self, number: int | None) -> None:
        """Resume a series whose receiver was killed.

        Args:
            number: number of its start message; the streamer continues with a higher one.
        """
        self._last = number

    def forget(self) -> int:
        """Drop the waiting messages, and expect any number; return how many were dropped."""
        dropped = len(self._held)
        self._held.clear()
        self.nbytes = 0
        self._expected = self._last = self._first_start = None
        self._newest.clear()
        return dropped

    def _hold(self, message: Message, number: int, now: float, lap: int = 0) -> None:
        nbytes = held_bytes(message)
        if self._expected is None and self._first_start is None and isinstance(message, Start):
            self._first_start = number
            self._held = [each._replace(lap=self._lap(each.number)) for each in self._held]
            heapify(self._held)
        heappush(self._held, _Held(lap or self._lap(number), number, self._put, now, nbytes, message))
        self._put += 1
        self.nbytes += nbytes

    def _lap(self, number: int) -> int:
        """Return 1 if the counter has wrapped between the start message that waits and this number."""
        start = self._first_start
        return int(start is not None and start - number >= FALLS_BACK)

    def _may_go(self, first: _Held, now: float) -> bool:
        if first.lap and self._expected not in WRAPS:  # numbers before it may still come
            return self.nbytes > self._most_bytes or now - first.since > self._seconds
        if self._expected is not None:
            if first.number <= self._expected:
                return True
            if self.nbytes > self._most_bytes and len(self._sockets_ahead()) == self._sockets:
                return True
        return now - first.since > self._patience(first)

    def _patience(self, first: _Held) -> float:
        """Return the seconds for which the first waiting message may wait."""
        if self._expected is not None:
            return self._seconds
        is_start = isinstance(first.message, Start)
        if is_start and first.number == 0:
            return -1.0
        # A number that was used before is a restarted streamer's: its start message is still to come.
        may_go_on = self._last is not None and first.number > self._last
        return min(FIRST_SECONDS, self._seconds / 2) if is_start or may_go_on else self._seconds

    def _pop(self) -> Message:
        first = heappop(self._held)
        self.nbytes -= first.nbytes
        self._first_start = None
        if first.lap and self._expected is not None:  # its last numbers are lost
            self._expected = next((size for size in WRAPS if self._expected <= size), self._expected)
        if self._expected is None or first.number >= self._expected:
            self._expected = first.number + 1
        if isinstance(first.message, Start):
            self._start = first.message.header
        return first.message


def _number(message: Message) -> int | None:
    if isinstance(message, Frame):
        return message.image.msg_number
    return message.header.msg_number if isinstance(message, Start) else message.msg_number
