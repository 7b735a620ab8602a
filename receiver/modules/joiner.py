"""The joiner: messages of several modules' streams in, those of one series out.

No socket, no thread, no clock of its own, like the collector, which gets what comes out. Each endpoint is one
module, whose messages come in the order in which they were sent.

- A series begins once every module's start message is here. Until then frames wait, bounded in bytes and
  time; modules that name their series are joined by that name, others by the order of their start messages.
- A frame is joined once all modules that are still expected have sent it. One that waits for a module longer
  than the gap clock allows leaves without it, and that module is not waited for again until it shows up:
  so a dead module holds nothing up, and a late one is stored where it belongs (`taken`).
- A series ends once every module's end message is here. A module whose connection is gone, that has begun the
  next series, or that stays silent after the others have ended is not waited for.

The gap clock of a module runs only while nothing of it waits to be read (`idle`): a receiver that was held up
itself must not call late what lies in its own sockets.
"""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import msgspec

from penstock.receiver.modules import series as joined_series
from penstock.receiver.modules.series import Joined, JoinedFrame, JoinedStart
from penstock.receiver.series import RunningSeries, held_bytes
from penstock.stins.errors import RemoteError, StinsError
from penstock.stins.messages import Buffer, Frame, Image, Message, SeriesEnd, Start

REMEMBERED_SERIES = 64
"""Names of series that are over: their messages are recognised as stale."""


class Cut(msgspec.Struct, frozen=True):
    """The running series is over although not every end message has come."""

    cause: str


class Stale(msgspec.Struct, frozen=True):
    """Messages that belong to no series that runs or is to come."""

    count: int = 1


Event: TypeAlias = JoinedStart | JoinedFrame | SeriesEnd | Cut | Stale | StinsError


class _Stream:
    """One endpoint: its place in the running series, and what it has sent of the next one."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self.part: RunningSeries | None = None
        """Its share of the running series; gives each frame its index."""
        self.end: SeriesEnd | None = None
        self.lost = ""
        """Why nothing more is expected of it in the running series."""
        self.absent = False
        """Whether it has let a frame wait for too long, and sent nothing since."""
        self.last = 0.0
        """Moment of its last message."""
        self.gone_since: float | None = None
        self.next: deque[Message] = deque()
        """The start message of the next series, and what has come behind it."""
        self.next_bytes = 0
        """Memory of what has come behind it."""

    @property
    def is_done(self) -> bool:
        """Whether nothing more of the running series is expected of it."""
        return self.end is not None or bool(self.lost)

    @property
    def header(self) -> Start | None:
        """The start message of the next series, if it has come."""
        first = self.next[0] if self.next else None
        return first if isinstance(first, Start) else None


class _Waiting:
    """One frame of which some modules have come."""

    def __init__(self, since: float) -> None:
        self.since = since
        self.came: dict[int, tuple[Image, Sequence[Buffer]]] = {}
        self.again: list[tuple[int, Frame]] = []
        """Modules that came twice: the first may be corrupt."""
        self.bytes = 0


class Joiner:
    """Joins the streams of one receiver.

    Args:
        endpoints: one a module.
        taken: whether a frame of this series and index has been entered already; what comes of it now does
            not wait for other modules.
        gap: seconds after its first module that a frame waits for the others.
        within: seconds after the first start message of a series within which all have to come; and seconds
            for which a module may be silent once another has ended.
        gone_after: seconds after which a lost connection means that the streamer is gone.
        hold: bytes of memory for what waits, for other modules or for start messages.
        origin: number of a series' first frame, where it is configured.
    """

    def __init__(
        self,
        endpoints: Sequence[str],
        taken: Callable[[str, int], bool],
        *,
        gap: float,
        within: float,
        gone_after: float,
        hold: float,
        origin: int | None = None,
    ) -> None:
        self._streams = [_Stream(endpoint) for endpoint in endpoints]
        self._endpoints = tuple(endpoints)
        self._taken = taken
        self._gap = gap
        self._within = within
        self._gone_after = gone_after
        self._hold = hold
        self._origin = origin
        self._id = ""
        self._joined: Joined | None = None
        self._frames: dict[int, _Waiting] = {}  # in the order of `since`
        self._bytes = 0
        self._sent = 0
        self._headers_since: float | None = None
        self._ended_at = 0.0
        self._over: deque[str] = deque(maxlen=REMEMBERED_SERIES)

    # -- what there is to say ------------------------------------------------------------------

    @property
    def held_bytes(self) -> int:
        """Memory of what waits, for other modules or for start messages."""
        return self._bytes

    @property
    def waits_for(self) -> str:
        """Which start messages are still to come, in a sentence; "" while none is."""
        if self._joined is not None or not any(stream.header for stream in self._streams):
            return ""
        missing = [stream.endpoint for stream in self._streams if stream.header is None]
        if not missing:
            return f"the modules' series differ: {self._names()}"
        here = len(self._streams) - len(missing)
        return f"{here} of {len(self._streams)} modules have begun a series; waits for {', '.join(missing)}"

    @property
    def warning(self) -> str:
        """Which modules are missing from the running series, in a sentence; "" while none is."""
        if self._joined is None:
            return ""
        lost = [f"{stream.endpoint}: {stream.lost}" for stream in self._streams if stream.lost]
        silent = [
            f"{stream.endpoint} sends nothing"
            for stream in self._streams
            if stream.absent and not stream.is_done
        ]
        return "; ".join((*lost, *silent)) and f"frames are partial: {'; '.join((*lost, *silent))}"

    # -- messages and clocks -------------------------------------------------------------------

    def take(self, module: int, message: Message, now: float) -> list[Event]:
        """One message of one module's stream; `now` is the moment on the injected monotonic clock."""
        return list(self._take(module, message, now))

    def _take(self, module: int, message: Message, now: float) -> Iterator[Event]:
        stream = self._streams[module]
        stream.last = now
        stream.absent = False
        if stream.part is not None and self._is_running(stream, message):
            if isinstance(message, Frame):
                stream.lost = ""  # it was gone, and is back
                yield from self._join(module, stream.part, message, now)
            else:
                assert isinstance(message, SeriesEnd)
                stream.end, stream.lost = message, ""
                yield from self._stream_ended(now)
            return
        name = message.header.series if isinstance(message, Start) else _name(message)
        if isinstance(message, Start):
            if name is not None and (name in self._over or (stream.part is not None and name == self._id)):
                yield Stale()  # a second start message of a series that has begun, or is over
                return
            if stream.header is not None:
                missing = [other.endpoint for other in self._streams if other.header is None]
                yield from self._not_taken(
                    f"no start message from {', '.join(missing)} before the next series"
                )
                yield from self._forget(stream)
            stream.next.append(message)
            if stream.part is not None and not stream.is_done:
                stream.lost = "its end message was lost, it has begun the next series"
                yield from self._stream_ended(now)
            yield from self._begin(now)
        elif stream.header is None or (name is not None and name != stream.header.header.series):
            yield Stale()
        else:
            nbytes = held_bytes(message)
            stream.next.append(message)
            stream.next_bytes += nbytes
            self._bytes += nbytes
            yield from self._make_room()

    def tick(self, now: float, idle: Sequence[bool], connected: Sequence[bool]) -> list[Event]:
        """Let the clocks run; call it a few times a second.

        Args:
            idle: of each module, whether nothing of it waits to be read.
            connected: of each module, whether somebody is connected.
        """
        return list(self._tick(now, idle, connected))

    def _tick(self, now: float, idle: Sequence[bool], connected: Sequence[bool]) -> Iterator[Event]:
        for stream, is_connected in zip(self._streams, connected, strict=True):
            if is_connected:
                stream.gone_since = None
            elif stream.gone_since is None:
                stream.gone_since = now
        if self._joined is None:
            yield from self._begin(now)
            yield from self._header_clock(now)
            return
        yield from self._gone(now, idle)
        yield from self._gap_clock(now, idle)
        yield from self._end_clock(now, idle)

    def flush(self) -> list[Event]:
        """What waits for other modules leaves without them: the series is about to end."""
        return list(self._flush())

    def over(self, series: str) -> int:
        """This series has ended behind the joiner; returns how many messages that drops."""
        return self._reset() if self._joined is not None and series == self._id else 0

    def forget(self) -> int:
        """Drop everything: the receiver goes into Error. Returns how many messages that were."""
        dropped = self._reset()
        for stream in self._streams:
            dropped += sum(event.count for event in self._forget(stream))
        return dropped

    def _reset(self) -> int:
        dropped = sum(len(waiting.came) + len(waiting.again) for waiting in self._frames.values())
        self._bytes -= sum(waiting.bytes for waiting in self._frames.values())
        self._frames.clear()
        if self._joined is not None:
            self._over.append(self._id)
        self._joined = self._headers_since = None
        for stream in self._streams:
            stream.part, stream.end, stream.lost, stream.absent = None, None, "", False
        return dropped

    # -- start messages ------------------------------------------------------------------------

    def _begin(self, now: float) -> Iterator[Event]:
        starts = [stream.header for stream in self._streams]
        if self._joined is not None or any(start is None for start in starts):
            return
        known = [start for start in starts if start is not None]
        names = {start.header.series for start in known} - {None}
        if len(names) > 1:
            return  # one of them may be a series behind; the clock runs
        name = names.pop() if names else None
        self._headers_since = None
        try:
            begun, wrong = joined_series.start(self._endpoints, known, name or uuid.uuid4().hex)
        except RemoteError as error:
            yield error
            for stream in self._streams:
                yield from self._forget(stream)
            if name is not None:
                self._over.append(name)
            return
        for sentence in wrong:
            yield RemoteError("modules_differ", f"series {begun.header.series}: {sentence}")
        assert begun.header.series is not None
        self._id, self._joined, self._sent = begun.header.series, begun.joined, 0
        held = []
        for module, (stream, start) in enumerate(zip(self._streams, known, strict=True)):
            stream.part = RunningSeries(start, self._origin)
            stream.end, stream.lost, stream.absent = None, "", False
            stream.gone_since = None
            stream.next.popleft()
            held += [(module, message) for message in stream.next]
            self._bytes -= stream.next_bytes
            stream.next_bytes = 0
            stream.next.clear()
        yield begun
        for module, message in held:
            yield from self._take(module, message, now)

    def _header_clock(self, now: float) -> Iterator[Event]:
        if self._joined is not None or not any(stream.header for stream in self._streams):
            self._headers_since = None
            return
        if self._headers_since is None:
            self._headers_since = now
        if now - self._headers_since <= self._within:
            return
        missing = [stream.endpoint for stream in self._streams if stream.header is None]
        if missing:
            yield from self._not_taken(
                f"no start message from {', '.join(missing)} within {self._within:g} s of the first"
            )
        else:
            dropped = sum(len(stream.next) for stream in self._streams)
            yield RemoteError(
                "series_differ",
                f"the modules have begun different series ({self._names()}); {dropped} messages are dropped. "
                "Give every module's streamer the same series id, or none",
            )
        for stream in self._streams:
            header = stream.header
            if header is not None and header.header.series is not None:
                self._over.append(header.header.series)
            yield from self._forget(stream)
        self._headers_since = None

    def _not_taken(self, why: str) -> Iterator[StinsError]:
        dropped = sum(len(stream.next) for stream in self._streams)
        yield RemoteError(
            "no_module_header",
            f"a series is not taken, {dropped} messages of its modules are dropped: {why}. "
            "Does every module's streamer run and take part in each series?",
        )

    def _names(self) -> str:
        return ", ".join(
            f"{stream.header.header.series} at {stream.endpoint}" for stream in self._streams if stream.header
        )

    def _forget(self, stream: _Stream) -> Iterator[Stale]:
        if stream.next:
            self._bytes -= stream.next_bytes
            stream.next_bytes = 0
            yield Stale(len(stream.next))
            stream.next.clear()

    # -- frames --------------------------------------------------------------------------------

    def _is_running(self, stream: _Stream, message: Message) -> bool:
        """Whether a message is of the running series, for all that its stream says."""
        if isinstance(message, Start) or stream.next or stream.end is not None:
            return False
        name = _name(message)
        return name is None or stream.part is None or stream.part.header.series in (None, name)

    def _join(self, module: int, part: RunningSeries, frame: Frame, now: float) -> Iterator[Event]:
        index = part.index(frame.image)
        part.messages += 1
        part.account.received += 1  # gives the next one its index, where frames have no number
        waiting = self._frames.get(index)
        if waiting is None:
            if self._taken(self._id, index):
                yield self._frame(index, {module: (frame.image, frame.blobs)})
                return
            waiting = self._frames[index] = _Waiting(now)
        nbytes = held_bytes(frame)
        waiting.bytes += nbytes
        self._bytes += nbytes
        if module in waiting.came:
            waiting.again.append((module, frame))
        else:
            waiting.came[module] = (frame.image, frame.blobs)
        if not self._expected(waiting):
            yield from self._emit(index)
        else:
            yield from self._make_room()

    def _expected(self, waiting: _Waiting) -> list[int]:
        """Modules that a frame waits for."""
        return [
            module
            for module, stream in enumerate(self._streams)
            if module not in waiting.came and not stream.absent and not stream.is_done
        ]

    def _emit(self, index: int) -> Iterator[Event]:
        waiting = self._frames.pop(index)
        self._bytes -= waiting.bytes
        self._sent += 1
        yield self._frame(index, waiting.came)
        for module, frame in waiting.again:
            yield self._frame(index, {module: (frame.image, frame.blobs)})

    def _emit_complete(self) -> Iterator[Event]:
        """Somebody is not waited for any more: frames that have all others leave."""
        for index in [index for index, waiting in self._frames.items() if not self._expected(waiting)]:
            yield from self._emit(index)

    def _frame(self, index: int, came: dict[int, tuple[Image, Sequence[Buffer]]]) -> JoinedFrame:
        assert self._joined is not None
        return joined_series.frame(self._joined, self._id, index + (self._origin or 0), came)

    def _make_room(self) -> Iterator[Event]:
        while self._bytes > self._hold:
            if self._frames:
                yield from self._emit(next(iter(self._frames)))
                continue
            stream = max(self._streams, key=lambda stream: stream.next_bytes)
            nbytes = held_bytes(stream.next[1])
            del stream.next[1]  # behind the start message
            stream.next_bytes -= nbytes
            self._bytes -= nbytes
            yield Stale()
            yield StinsError(
                "hold_overflow",
                f"more than hold_mb ({self._hold / 1e6:g} MB) wait for the start messages of other modules; "
                f"a message of {stream.endpoint} is dropped",
            )

    # -- clocks --------------------------------------------------------------------------------

    def _gone(self, now: float, idle: Sequence[bool]) -> Iterator[Event]:
        lost = False
        for stream, is_idle in zip(self._streams, idle, strict=True):
            since = stream.gone_since
            if since is None or stream.is_done or not is_idle:
                continue
            if now - max(since, stream.last) <= self._gone_after:
                continue
            stream.lost = f"its streamer is gone, no connection for {now - since:.1f} s and no end message"
            lost = True
            yield RemoteError(
                "module_gone",
                f"series {self._id}: {stream.endpoint}: {stream.lost}; look whether it still runs",
            )
        if lost:
            yield from self._emit_complete()
            yield from self._finish_if_done(now)

    def _gap_clock(self, now: float, idle: Sequence[bool]) -> Iterator[Event]:
        overdue = self._overdue(now, idle)
        for index in overdue:
            waiting = self._frames[index]
            for module in self._expected(waiting):
                # One that has sent something since has only left out this frame.
                stream = self._streams[module]
                stream.absent = stream.last <= waiting.since
        for index in overdue:
            yield from self._emit(index)
        if overdue:
            yield from self._emit_complete()

    def _flush(self) -> Iterator[Event]:
        for index in list(self._frames):
            yield from self._emit(index)

    def _overdue(self, now: float, idle: Sequence[bool]) -> list[int]:
        due = []
        for index, waiting in self._frames.items():
            if now - waiting.since <= self._gap:
                break
            if all(idle[module] for module in self._expected(waiting)):
                due.append(index)
        return due

    def _end_clock(self, now: float, idle: Sequence[bool]) -> Iterator[Event]:
        if not any(stream.end is not None or stream.next for stream in self._streams):
            return
        lost = False
        for module, stream in enumerate(self._streams):
            if not stream.is_done and idle[module] and now - max(self._ended_at, stream.last) > self._within:
                stream.lost = "its end message was lost"
                lost = True
        if lost:
            yield from self._emit_complete()
            yield from self._finish_if_done(now)

    # -- the end -------------------------------------------------------------------------------

    def _stream_ended(self, now: float) -> Iterator[Event]:
        self._ended_at = now
        yield from self._emit_complete()
        yield from self._finish_if_done(now)

    def _finish_if_done(self, now: float) -> Iterator[Event]:
        if self._joined is None or not all(stream.is_done for stream in self._streams):
            return
        yield from self._flush()
        ends = [stream.end for stream in self._streams if stream.end is not None]
        if len(ends) == len(self._streams):
            parts = [stream.part for stream in self._streams]
            whole = True
            for part, end in zip(parts, ends, strict=True):
                assert part is not None
                part.end = end
                whole = whole and part.all_messages_in()
            yield joined_series.end(self._endpoints, ends, self._id, self._sent if whole else None)
        else:
            lost = (f"{stream.endpoint}: {stream.lost}" for stream in self._streams if stream.lost)
            yield Cut("; ".join(lost))
        self._reset()
        yield from self._begin(now)


def _name(message: Message) -> str | None:
    if isinstance(message, Frame):
        return message.image.series
    return message.series if isinstance(message, SeriesEnd) else message.header.series
