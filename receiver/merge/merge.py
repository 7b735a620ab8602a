"""The merge: messages of several modules' sessions go in, messages of one series come out.

No socket, no thread and no clock of its own, like the collector, to which its events go. Each endpoint is one
module, whose messages arrive in the order of sending.

- A series begins when the start messages of all modules have arrived (`beginning`). Until then, a module that
  has begun is not read: its frames wait at its streamer.
- A frame is joined when all expected modules have sent it (`frame_queue`). A frame that has waited longer for
  a module than the gap clock allows leaves without it, and later frames do not wait for that module until it
  sends something again: a dead module delays nothing, and a late one is stored at its place (`taken`). While
  more than `hold` bytes wait, modules that are ahead are not read, and frames do not wait for a module that
  has sent a later one.
- A series ends when the end messages of all modules have arrived, or are no longer waited for (`ending`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set

from penstock.receiver.connection.events import Event, Stale
from penstock.receiver.connection.numbering import Numbering, Origin
from penstock.receiver.merge.beginning import Beginning
from penstock.receiver.merge.ending import Ending
from penstock.receiver.merge.frame_queue import FrameQueue
from penstock.receiver.merge.stream import Stream
from penstock.stins.messages import Frame, Message, SeriesEnd, Start


class Merge:
    """Joins the streams of one receiver.

    Args:
        endpoints: one per module.
        taken: tells whether a frame of this series and index has been entered already; later modules of it
            leave at once.
        gap: seconds after its first module that a frame waits for the others.
        within: seconds after the first start message of a series within which all others have to arrive; and
            seconds for which a module may be silent once another has ended.
        gone_after: seconds without a connection after which a streamer counts as gone.
        hold: bytes of memory for frames that wait for modules.
        origin: number of the first frame of a series, see `Origin`.
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
        origin: Origin = 0,
    ) -> None:
        self._streams = [Stream(endpoint) for endpoint in endpoints]
        self._beginning = Beginning(self._streams, within)
        self._ending = Ending(self._streams, gone_after, within)
        self._taken = taken
        self._gap = gap
        self._hold = hold
        self._origin = origin
        self._series = ""
        """Name of the running or last series."""
        self._frames: FrameQueue | None = None
        """Waiting frames of the running series; `None` without one."""

    # -- what there is to say ------------------------------------------------------------------

    @property
    def held_bytes(self) -> int:
        """Memory in bytes of frames that wait for modules."""
        return 0 if self._frames is None else self._frames.bytes

    @property
    def held_back(self) -> Set[int]:
        """Modules that are not to be read at present: they have begun the next series before the others, or
        they are ahead while more than `hold` waits."""
        held_back = {module for module, stream in enumerate(self._streams) if stream.next is not None}
        if self._frames is not None and self._frames.bytes > self._hold:
            held_back |= self._frames.held_back
        return held_back

    @property
    def waits_for(self) -> str:
        """Start messages that are still missing, in a sentence; "" for none."""
        return self._beginning.waits_for if self._frames is None else ""

    @property
    def warning(self) -> str:
        """Modules that are missing from the running series, in a sentence; "" for none."""
        return "" if self._frames is None else self._ending.warning

    # -- messages and clocks -------------------------------------------------------------------

    def take(self, module: int, message: Message, now: float) -> list[Event]:
        """Take a message of one module; return the events that follow.

        Args:
            module: number of the module.
            message: decoded message.
            now: time of the injected monotonic clock, in seconds.
        """
        return self._forget_ended() + self._take(module, message, now)

    def _take(self, module: int, message: Message, now: float) -> list[Event]:
        stream = self._streams[module]
        stream.last = now
        stream.absent = False
        numbering, frames = stream.numbering, self._frames
        if numbering is not None and frames is not None and stream.is_running(message):
            if isinstance(message, Frame):
                stream.lost = ""  # it had been given up, and is back
                return self._join(frames, module, numbering, message, now)
            assert isinstance(message, SeriesEnd)
            self._ending.has_ended(stream, message, now)
            return self._not_waited_for(now)
        if isinstance(message, Start):
            return self._take_start(stream, message, now)
        if self._beginning.keep(stream, message):
            return []
        return [*stream.without_start(message), Stale()]

    def tick(self, now: float, idle: Sequence[bool], connected: Sequence[bool]) -> list[Event]:
        """Advance the clocks; call it a few times per second.

        Args:
            now: time of the injected monotonic clock, in seconds.
            idle: for each module, whether its socket is empty.
            connected: for each module, whether it is connected.
        """
        self._ending.observe(now, connected)
        events = self._forget_ended()
        if self._frames is None:
            events += self._begin(now)
            if self._frames is None:
                events += self._beginning.clock(now)
            return events
        gone = self._ending.gone(self._series, now, idle)
        if gone:
            events += [*gone, *self._not_waited_for(now)]
        if self._frames is not None:
            events += self._frames.clock(now, idle)
        if self._frames is not None and self._ending.clock(now, idle):
            events += self._not_waited_for(now)
        return events

    def flush(self) -> list[Event]:
        """Return waiting frames without their missing modules: the series is about to end."""
        return [] if self._frames is None else [*self._frames.everything()]

    def forget(self) -> int:
        """Drop everything, since the receiver goes to Error; return the number of dropped messages."""
        for stream in self._streams:
            stream.expects_start = True
        return self._leave() + sum(stale.count for stale in self._beginning.forget_all())

    # -- from one series to the next -----------------------------------------------------------

    def _take_start(self, stream: Stream, start: Start, now: float) -> list[Event]:
        runs = self._frames is not None
        stream.expects_start = False
        if start.header in self._beginning.known or (runs and stream.has_begun(start)):
            return [Stale()]  # a duplicate
        events = self._beginning.start(stream, start)
        if runs and not stream.is_done:
            self._ending.has_begun_next(stream, now)
            events += self._not_waited_for(now)
        return events + self._begin(now)

    def _begin(self, now: float) -> list[Event]:
        """Begin the next series, if none runs and all modules have begun it."""
        if self._frames is not None:
            return []
        events, begun = self._beginning.begin()
        if begun is None:
            return events
        name = begun.start.header.series
        assert name is not None
        self._series = name
        self._frames = FrameQueue(
            begun.start.joined,
            name,
            self._streams,
            self._taken,
            self._gap,
            0 if self._origin == "first" else self._origin,
        )
        for stream, start in zip(self._streams, begun.starts, strict=True):
            stream.begin(start, Numbering(start.header, self._origin))
        events.append(begun.start)
        for module, message in begun.behind:
            events += self._take(module, message, now)
        return events

    def _not_waited_for(self, now: float) -> list[Event]:
        """Return what follows when a module is no longer waited for: frames that leave, and perhaps the end
        of the series."""
        if self._frames is None:
            return []
        events: list[Event] = [*self._frames.complete()]
        if not self._ending.is_due:
            return events
        events += self._frames.everything()
        events.append(self._ending.message(self._series, self._frames.left))
        self._leave()
        return events + self._begin(now)

    def _forget_ended(self) -> list[Event]:
        """Check whether the collector has ended the running series meanwhile."""
        if self._frames is None or not self._frames.is_over:
            return []
        return [Stale(dropped)] if (dropped := self._leave()) else []

    def _leave(self) -> int:
        """End the running series; return the number of its messages that waited."""
        if self._frames is None:
            return 0
        dropped = self._frames.messages
        self._frames = None
        headers = [stream.start.header for stream in self._streams if stream.start is not None]
        if any(header.series is not None for header in headers):  # others follow in order
            self._beginning.known.add(*headers)
        for stream in self._streams:
            stream.leave()
        return dropped

    # -- frames --------------------------------------------------------------------------------

    def _join(
        self, frames: FrameQueue, module: int, numbering: Numbering, frame: Frame, now: float
    ) -> list[Event]:
        numbering.count(frame.image.msg_number)
        index = numbering.index(frame.image)
        return [*frames.join(module, index, frame, now), *frames.relieve(self._hold)]
