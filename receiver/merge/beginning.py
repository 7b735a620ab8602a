"""The beginning of a joined series: the start messages of all modules.

Modules that name their series are joined by that name, others by the order of their start messages. A module
that has begun is not read until the others have, for at most `join_seconds`.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import NamedTuple

from penstock.receiver.connection.events import Event, Stale
from penstock.receiver.connection.known_starts import KnownStarts
from penstock.receiver.merge import messages
from penstock.receiver.merge.stream import Stream, series_of
from penstock.receiver.transforms.joined import JoinedStart
from penstock.stins.errors import NotTaken, RemoteError, StinsError
from penstock.stins.messages import Message, Start
from penstock.stins.texts import of_series, plural


class Begun(NamedTuple):
    """A series that all modules have begun."""

    start: JoinedStart
    starts: list[Start]
    """Start messages of the modules."""
    behind: list[tuple[int, Message]]
    """Module and message of what was received meanwhile, in the order of each module."""


class Beginning:
    """The messages of the next series.

    Args:
        streams: one per module; their `next`, and the messages after it, are kept here.
        within: seconds after the first start message within which all others have to arrive.
    """

    def __init__(self, streams: Sequence[Stream], within: float) -> None:
        self._streams = streams
        self._within = within
        self._since: float | None = None
        self.known = KnownStarts()
        """Start messages that are ignored from now on."""

    @property
    def waits_for(self) -> str:
        """Start messages that are still missing, in a sentence; "" before the first."""
        missing = self._missing()
        if len(missing) == len(self._streams):
            return ""
        here = len(self._streams) - len(missing)
        return (
            f"{here} of {plural(len(self._streams), 'module')} have begun a series; waits for "
            f"{', '.join(missing)}"
        )

    def start(self, stream: Stream, start: Start) -> list[Event]:
        """Take the start message of a stream's next series; drop those of other streams with another name,
        which will never begin."""
        name = start.header.series
        others = [each for each in self._streams if _name(each) not in (None, name)] if name else []
        stream.next = start
        if not others:
            return []
        names = ", ".join(f"{_name(each)} at {each.endpoint}" for each in (*others, stream))
        events: list[Event] = [stale for each in others for stale in self._give_up(each)]
        count = sum(event.count for event in events if isinstance(event, Stale))
        error = NotTaken(
            "series_differ",
            f"the modules have begun different series ({names}); "
            f"{plural(count, 'message is', 'messages are')} dropped. "
            "Give every module's streamer the same series id, or none",
            start.header,
        )
        return [error, *events]

    def _give_up(self, stream: Stream) -> list[Stale]:
        if (name := _name(stream)) is not None:
            self.known.add_name(name)
        return self.forget(stream)

    def keep(self, stream: Stream, message: Message) -> bool:
        """Keep a message that follows the start message; return `False` if it belongs to no series."""
        name = series_of(message)
        if stream.next is None or (name is not None and name != stream.next.header.series):
            return False
        stream.behind.append(message)
        return True

    def begin(self) -> tuple[list[Event], Begun | None]:
        """Return events, and the series that all modules have begun; `None` while one has not, or if the
        series cannot be taken."""
        starts = [stream.next for stream in self._streams if stream.next is not None]
        if len(starts) < len(self._streams):
            return [], None
        name = next((start.header.series for start in starts if start.header.series is not None), None)
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
        """Give up start messages that have waited too long for those of other modules."""
        missing = self._missing()
        if len(missing) == len(self._streams):
            self._since = None
            return []
        if self._since is None:
            self._since = now
        if now - self._since <= self._within:
            return []
        why = self._too_late(missing)
        self._since = None
        return [why, *(stale for stream in self._streams for stale in self._give_up(stream))]

    def forget(self, stream: Stream) -> list[Stale]:
        """Drop the messages of the next series of one stream."""
        if stream.next is None:
            return []
        stale = Stale(1 + len(stream.behind))
        stream.next = None
        stream.behind.clear()
        return [stale]

    def forget_all(self) -> list[Stale]:
        """Drop the messages of the next series of all streams."""
        self._since = None
        return [stale for stream in self._streams for stale in self.forget(stream)]

    def _missing(self) -> list[str]:
        return [stream.endpoint for stream in self._streams if stream.next is None]

    def _too_late(self, missing: Sequence[str]) -> StinsError:
        return NotTaken(
            "no_module_header",
            f"no start message from {', '.join(missing)} within {self._within:g} s of the first; "
            "the messages of its modules are dropped. "
            "Does every module's streamer run and take part in each series?",
            next(stream.next.header for stream in self._streams if stream.next is not None),
        )


def _name(stream: Stream) -> str | None:
    """Return the name of the series that a module has begun; `None` without one."""
    return None if stream.next is None else stream.next.header.series
