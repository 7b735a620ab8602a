"""The beginning of a joined series: the start messages of all modules, and what is received before the last.

Modules that name their series are joined by that name, others by the order of their start messages. What
comes behind a start message waits with it until the others have come, for as long as the header clock allows.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import NamedTuple

from penstock.receiver.connection.events import Event, NotTaken, Stale
from penstock.receiver.connection.held_bytes import held_bytes
from penstock.receiver.connection.known_starts import KnownStarts
from penstock.receiver.merge import messages
from penstock.receiver.merge.stream import Stream, series_of
from penstock.receiver.processing.joined import JoinedStart
from penstock.stins.errors import RemoteError, StinsError
from penstock.stins.messages import Header, Message, Start
from penstock.stins.texts import of_series, plural


class Begun(NamedTuple):
    """A series that every module has begun."""

    start: JoinedStart
    starts: list[Start]
    """Of each module."""
    behind: list[tuple[int, Message]]
    """Module and message: what was received meanwhile, in each module's order."""


class Beginning:
    """What the modules have sent of the next series.

    Args:
        streams: one per module; what stands in `next` and behind it is kept here.
        within: seconds after the first start message within which all have to come.
    """

    def __init__(self, streams: Sequence[Stream], within: float) -> None:
        self._streams = streams
        self._within = within
        self._since: float | None = None
        self.known = KnownStarts()
        """Series whose start messages begin nothing any more."""
        self.bytes = 0
        """Memory of what waits behind start messages."""

    @property
    def waits_for(self) -> str:
        """Which start messages are still to come, in a sentence; "" before the first."""
        missing = self._missing()
        if len(missing) == len(self._streams):
            return ""
        if not missing:
            return f"the modules' series differ: {self._names()}"
        here = len(self._streams) - len(missing)
        return (
            f"{here} of {plural(len(self._streams), 'module')} have begun a series; waits for "
            f"{', '.join(missing)}"
        )

    def start(self, stream: Stream, start: Start) -> list[Event]:
        """The start message of a stream's next series; one that has not begun by now never will."""
        events: list[Event] = []
        if stream.next is not None:
            missing = ", ".join(self._missing())
            why = f"no start message from {missing} before the next series"
            events.append(self._not_taken(why) if missing else self._differ())
            events += self.forget(stream)
        stream.next = start
        return events

    def keep(self, stream: Stream, message: Message) -> bool:
        """Keep a message behind its start message; false where it belongs to none."""
        name = series_of(message)
        if stream.next is None or (name is not None and name != stream.next.header.series):
            return False
        nbytes = held_bytes(message)
        stream.behind.append(message)
        stream.behind_bytes += nbytes
        self.bytes += nbytes
        return True

    def drop_one(self) -> Stream:
        """Drop the oldest message of the stream of which the most waits; returns that stream."""
        stream = max(self._streams, key=lambda stream: stream.behind_bytes)
        nbytes = held_bytes(stream.behind.popleft())
        stream.behind_bytes -= nbytes
        self.bytes -= nbytes
        return stream

    def begin(self) -> tuple[list[Event], Begun | None]:
        """Return what there is to say, and the series that every module has begun by now; `None` while one
        has not, or if it cannot be taken."""
        starts = [stream.next for stream in self._streams if stream.next is not None]
        if len(starts) < len(self._streams):
            return [], None
        names = {start.header.series for start in starts} - {None}
        if len(names) > 1:
            return [], None  # one of them may be a series behind; the clock runs
        name = names.pop() if names else None
        endpoints = [stream.endpoint for stream in self._streams]
        try:
            start, wrong = messages.start(endpoints, starts, name or uuid.uuid4().hex)
        except RemoteError as error:
            if name is not None:
                self.known.add(*(each.header for each in starts))
            refused = NotTaken(error.kind, str(error), starts[0].header)
            return [refused, *self.forget_all()], None
        said: list[Event] = [
            RemoteError("modules_differ", f"{sentence}{of_series(start.header.series)}") for sentence in wrong
        ]
        behind = [(module, each) for module, stream in enumerate(self._streams) for each in stream.behind]
        self.forget_all()
        return said, Begun(start, starts, behind)

    def clock(self, now: float) -> list[Event]:
        """Give up what has waited too long for the other modules' start messages."""
        missing = self._missing()
        if len(missing) == len(self._streams):
            self._since = None
            return []
        if self._since is None:
            self._since = now
        if now - self._since <= self._within:
            return []
        why = self._too_late(missing) if missing else self._differ()
        for stream in self._streams:
            if stream.next is not None and stream.next.header.series is not None:
                self.known.add_name(stream.next.header.series)
        return [why, *self.forget_all()]

    def forget(self, stream: Stream) -> list[Stale]:
        """Drop what one stream has sent of its next series."""
        if stream.next is None:
            return []
        stale = Stale(1 + len(stream.behind))
        self.bytes -= stream.behind_bytes
        stream.next, stream.behind_bytes = None, 0
        stream.behind.clear()
        return [stale]

    def forget_all(self) -> list[Stale]:
        """Drop what all streams have sent of their next series."""
        self._since = None
        return [stale for stream in self._streams for stale in self.forget(stream)]

    def _missing(self) -> list[str]:
        return [stream.endpoint for stream in self._streams if stream.next is None]

    def _dropped_messages(self) -> int:
        return sum(1 + len(stream.behind) for stream in self._streams if stream.next is not None)

    def _too_late(self, missing: Sequence[str]) -> StinsError:
        return self._not_taken(
            f"no start message from {', '.join(missing)} within {self._within:g} s of the first"
        )

    def _differ(self) -> StinsError:
        return NotTaken(
            "series_differ",
            f"the modules have begun different series ({self._names()}); "
            f"{plural(self._dropped_messages(), 'message is', 'messages are')} dropped. Give every module's "
            "streamer the same series id, or none",
            self._first_header(),
        )

    def _not_taken(self, why: str) -> StinsError:
        return NotTaken(
            "no_module_header",
            f"{why}; {plural(self._dropped_messages(), 'message')} of its modules dropped. "
            "Does every module's streamer run and take part in each series?",
            self._first_header(),
        )

    def _first_header(self) -> Header:
        return next(stream.next.header for stream in self._streams if stream.next is not None)

    def _names(self) -> str:
        return ", ".join(
            f"{stream.next.header.series} at {stream.endpoint}"
            for stream in self._streams
            if stream.next is not None
        )
