"""The collector: which message belongs to which series, and when a series has ended.

No socket, no file, no thread, no clock of its own: messages and moments go in, calls of a `Sink`
come out. What happens to a frame:

- of the running series, in range and sound: stored or delivered, at its own index;
- sound header, broken blob: its index is corrupt;
- sent with a part of its pixels: stored or delivered, its index is partial;
- seen before: duplicate, dropped; after the gap clock gave it up: late, stored all the same;
- outside the announced range: counted, dropped;
- of an older series: stale, dropped;
- ahead of its header (several sockets): held, bounded in bytes and time.

ZeroMQ deals messages out round robin to several PULL sockets, so images may arrive before their
header and after their end; the order key (series id, else msg_number) says where they belong.
"""

from __future__ import annotations

import logging
from typing import Protocol

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.models import FrameStatus
from penstock.receiver.processing.frame_processor import FrameProcessor
from penstock.receiver.series.before_start import EarlyMessages
from penstock.receiver.series.doubt import Doubt
from penstock.receiver.series.gap_clock import GapClock
from penstock.receiver.series.reorder_buffer import ReorderBuffer
from penstock.receiver.series.running_series import Outcome, ResumedSeries, RunningSeries, held_bytes
from penstock.receiver.series.succession import Does, Succession
from penstock.receiver.series.timeouts import Timeouts
from penstock.stins.errors import BlobError, RemoteError, StinsError
from penstock.stins.messages import Frame, Header, Message, SeriesEnd, Start
from penstock.stins.texts import named, of_series, plural

log = logging.getLogger(__name__)

END_LOST = "its end message was lost, the next series has begun"


class Sink(Protocol):
    """Where a series goes: file, consumers, live view."""

    def begin(self, series: RunningSeries) -> None:
        """A series begins; its file must exist when this returns."""

    def frame(self, series: RunningSeries, index: int, frame: Frame, status: FrameStatus) -> None:
        """A sound frame that was not seen before."""

    def end(self, series: RunningSeries, outcome: Outcome) -> None:
        """The series has ended; its account is closed."""

    def not_taken(self, header: Header, error: Exception) -> None:
        """A series could not be begun; the error is raised behind this call."""

    def bad_message(self, error: StinsError) -> None:
        """A message, or a frame's blob, that is not what the protocol allows."""


class Collector:
    """Sorts messages into series; one series runs at a time.

    Args:
        config: gap policy, limits and number of sockets.
        sink: receives what is sorted; its exceptions pass through to the caller.
        processor: judges and transforms each frame.
        end_lost_after: seconds for which a series that has all its frames waits for its end message; as long
            as for a frame, by default.
    """

    def __init__(
        self,
        config: ReceiverConfig,
        sink: Sink,
        processor: FrameProcessor,
        end_lost_after: float | None = None,
    ) -> None:
        self._config = config
        self._sink = sink
        self._processor = processor
        sockets, endpoints = config.source.sockets, len(config.source.endpoints)
        self._in_order = sockets * endpoints == 1
        self._early = EarlyMessages(config.gap.seconds)
        self._reorder = ReorderBuffer(config.gap.seconds) if sockets > 1 and endpoints == 1 else None
        self._succession = Succession()
        self._timeouts = Timeouts(config, config.gap.seconds if end_lost_after is None else end_lost_after)
        self._gap_clock = GapClock(config.gap)
        self._next_due = 0.0
        self._end_due: float | None = None
        self._doubt: Doubt | None = None
        self.series: RunningSeries | None = None
        self.drained = 0
        """Messages that belonged to no series."""

    def handle(self, message: Message, now: float) -> None:
        """Take one message in; `now` is the moment on the injected monotonic clock, in seconds."""
        waiting = self._reorder
        if waiting is not None and (number := _to_order(message)) is not None:
            waiting.put(message, number, now)
            self._in_turn(waiting, now)
        else:
            self._sort(message, now)

    def _in_turn(self, waiting: ReorderBuffer, now: float) -> None:
        """Messages without a series' name, in the order of their numbers."""
        while (message := waiting.next(now, self._room + waiting.nbytes)) is not None:
            self._sort(message, now)

    def _sort(self, message: Message, now: float) -> None:
        silence, series = self._timeouts, self.series
        if type(message) is Frame:
            silence.last_message = now
            image = message.image
            if series is not None and self._mine(image.series, image.msg_number, series):
                self._take(series, message)
                if self._end_due is not None and series.all_messages_in():
                    self._finish(None, now)
                return
            self._elsewhere(message, image.series, image.msg_number, now)
            return
        reconnected = silence.may_be_another or self._doubt is not None
        silence.last_message = now
        if isinstance(message, Start):
            self._start(message, now, reconnected=reconnected)
        else:
            assert isinstance(message, SeriesEnd)
            self._end(message, now)

    def tick(self, now: float, connections: int) -> None:
        """Let the clocks run; call it a few times a second and whenever connections change.

        Raises:
            GapError: the gap clock ran out and the policy is to fail.
        """
        self._expire_early(now)
        if self._doubt is not None and self._doubt.is_over(now):
            self._believe(now)
        if self._reorder is not None:
            self._in_turn(self._reorder, now)
        self._timeouts.note_connections(connections, now)
        series = self.series
        if series is None:
            self._begin_next(now)  # the one whose turn it was could not be taken
            return
        self._gap_clock.tick(series, now)
        if self._end_due is not None and now >= self._end_due:
            self._finish(None, now)
        elif self._succession.waits and now >= self._next_due:
            self._finish(END_LOST, now)
        elif cause := self._timeouts.timeout_reason(series, now):
            self.stop(cause, now)

    def on_reconnect(self, now: float) -> None:
        """All connections were lost, everything of them has been handled, and they are made again."""
        self._believe(now)  # a start message that was overtaken would be here
        self._timeouts.on_reconnect(now)
        self._succession.on_reconnect()
        if self._reorder is not None:
            self._reorder.restart()
        series = self.series
        if series is not None and not self._is_in_order(series.header.series):
            self._doubt = Doubt(self._config.gap.seconds, series.highest_number)

    def resume(self, start: Start, resumed: ResumedSeries, now: float) -> None:
        """Go on with a series whose receiver was killed; it ends as one does whose connection was lost."""
        self._begin(start, now, resumed)
        # As after a lost connection: who is connected next may know nothing of this series.
        self.on_reconnect(now)

    def stop(self, cause: str, now: float) -> None:
        """End the running series now, if there is one."""
        self._believe(now)
        if self.series is not None:
            self._finish(cause, now)

    def stop_at_end(self, series: str, why: str) -> None:
        """Its sender is about to end this series before its plan, and its end message cannot say so.

        Args:
            series: id; nothing happens where another one runs, or none.
            why: in words, for the reason of the series.
        """
        if self.series is not None and self.series.id == series:
            self.series.stopping = why

    @property
    def held_bytes(self) -> int:
        """Memory of what waits for its turn, or for its header."""
        by_number = 0 if self._reorder is None else self._reorder.nbytes
        return self._early.nbytes + self._succession.nbytes + by_number

    @property
    def _room(self) -> float:
        """Bytes that may wait besides those that do."""
        return self._config.hold_mb * 1e6 - self.held_bytes

    def forget(self) -> None:
        """Drop everything that is held: the receiver goes into Error, or leaves it."""
        self.drained += len(self._early.take())
        if self._reorder is not None:
            self.drained += self._reorder.forget()
        self._succession.forget()
        self._end_due = self._doubt = None
        if self.series is not None:
            self._succession.ended(self.series)
            self.series = None

    # -- messages ------------------------------------------------------------------------------

    def _start(self, start: Start, now: float, *, reconnected: bool) -> None:
        series = self.series
        if (error := self._has_no_order(start.header)) is not None:
            if series is None:
                self._sink.not_taken(start.header, error)
            raise error
        in_order = self._is_in_order(start.header.series)
        match self._succession.judge(start, series, in_order=in_order, reconnected=reconnected):
            case Does.BEGINS:
                if series is not None:
                    self._finish(END_LOST, now, following=start)
                else:
                    self._begin(start, now)
            case Does.WAITS:
                self._wait(start, now)
            case Does.HAS_TO_PROVE:
                log.warning(
                    "%s: its start message came again; it begins anew with its first frame%s",
                    named(start.header.filename),
                    of_series(start.header.series),
                )
                self.drained += 1
                self._succession.doubt(start)
                if self._early.has_frame_of(start.header.series):
                    self._prove(start, now)
            case Does.DUPLICATE:
                name = named(start.header.filename)
                log.warning("%s: a second start message ignored%s", name, of_series(start.header.series))
                self.drained += 1

    def _has_no_order(self, header: Header) -> RemoteError | None:
        source = self._config.source
        if source.sockets == 1 or header.msg_number is not None:
            return None
        return RemoteError(
            "no_order_key",
            "this streamer's messages have no msg_number by which those of several sockets could be put in "
            "order; set source.sockets to 1",
        )

    def _wait(self, start: Start, now: float) -> None:
        """The end of the running series, and some frames, may be on their way through another socket."""
        if not self._succession.waits:
            self._next_due = now + self._config.gap.seconds
        self._succession.wait(start, self._room + self._succession.nbytes)
        if self._end_due is not None:
            self._end_due = min(self._end_due, self._next_due)

    def _begin_next(self, now: float) -> None:
        if (following := self._succession.next()) is not None:
            self._begin(following, now)

    def _begin(self, start: Start, now: float, resumed: ResumedSeries | None = None) -> None:
        try:
            series = self._announce(start, resumed)
            series.sent = start
            self._gap_clock.begin()
            self._end_due = self._doubt = None
            self._timeouts.begin(now)
            self._next_due = now + self._config.gap.seconds
            self._sink.begin(series)
        except Exception as error:
            if resumed is None:
                self._sink.not_taken(start.header, error)
            raise
        self._succession.begins(start)
        self.series = series
        self._release(now)

    def _announce(self, start: Start, resumed: ResumedSeries | None) -> RunningSeries:
        unable = self._processor.begin(start.header)
        if resumed is None:
            # A series that goes on was let in by the process before this one, which said so.
            self._processor.admit(start.header)
            if unable is not None:
                self._sink.bad_message(unable)
        announced = Start(self._processor.announced(start.header), self._processor.described(start))
        return RunningSeries(announced, self._config.source.frame_origin, resumed)

    def _end(self, end: SeriesEnd, now: float) -> None:
        series = self.series
        if series is None or not self._mine(end.series, end.msg_number, series):
            self._elsewhere(end, end.series, end.msg_number, now)
            return
        series.end = end
        if self._is_in_order(end.series) or series.all_messages_in():
            self._finish(None, now)
        else:
            self._end_due = now + self._config.gap.seconds

    def _take(self, series: RunningSeries, frame: Frame) -> None:
        series.has_come(frame.image.msg_number)
        account = series.account
        index = series.index(frame.image)
        if not account.in_range(index):
            self._out_of_range(series, index, frame)
            return
        if account.is_duplicate(index):
            account.take(index, FrameStatus.STORED)
            return
        try:
            frame = self._processor.process(frame)
        except BlobError as error:
            left = self._processor.sound_channels(frame)
            if left is None:
                account.take(index, FrameStatus.CORRUPT)
                self._sink.bad_message(error)
                return
            frame = left
        image = frame.image
        status = FrameStatus.STORED if series.writes else FrameStatus.DELIVERED
        if image.discard or image.partial is not None:
            status = FrameStatus.DISCARDED if image.discard else FrameStatus.PARTIAL
            if not account.improves(index, status):
                account.take(index, status)
                return
        if status is FrameStatus.PARTIAL:
            self._sink.bad_message(BlobError("partial", f"frame {image.frame}: {image.partial}"))
        try:
            self._sink.frame(series, index, frame, status)
        except Exception:
            account.refuse(index)
            raise
        account.take(index, status)

    def _out_of_range(self, series: RunningSeries, index: int, frame: Frame) -> None:
        planned = series.account.planned
        series.account.out_of_range += 1
        self._sink.bad_message(
            StinsError(
                "frame_out_of_range",
                f"{series.name}: frame {frame.image.frame} is index {index} of {plural(planned, 'frame')}; "
                "it is not stored. Set source.frame_origin if this detector counts from "
                f"elsewhere{of_series(series.id)}",
            )
        )

    def _finish(self, cause: str | None, now: float, following: Start | None = None) -> None:
        """The running series has ended; `following` is the next, else the one that waits."""
        series = self.series
        assert series is not None
        outcome = series.close(cause)
        self.series = None
        self._end_due = self._doubt = None
        self._succession.ended(series)
        self._sink.end(series, outcome)
        if following is not None:
            self._begin(following, now)
        else:
            self._begin_next(now)

    # -- whose message is it? ------------------------------------------------------------------

    def _is_in_order(self, series_id: str | None) -> bool:
        """Whether what came before a message was sent before it: by one socket of each streamer, or ordered
        by number. Streamers that name no series take turns."""
        return self._in_order or series_id is None

    def _mine(self, series_id: str | None, number: int | None, series: RunningSeries) -> bool:
        name, first = series.header.series, series.header.msg_number
        if series_id is not None and name is not None and (series_id != name or self._in_order):
            return series_id == name
        if self._doubt is not None:
            return False
        if number is None or first is None:
            return True  # order of arrival decides
        # A name may come again, and what is of the one before it may be late.
        return number >= first and not (self._succession.waits and self._succession.follows(name, number))

    def _elsewhere(self, message: Message, series_id: str | None, number: int | None, now: float) -> None:
        """A message that is not of the running series: an older one's, or ahead of its header."""
        if type(message) is Frame and (start := self._succession.proven(series_id)) is not None:
            self._prove(start, now)
            self._sort(message, now)
            return
        series = self.series
        first = series.header.msg_number if series is not None else None
        name = series.header.series if series is not None else None
        doubt = self._doubt
        older = number is not None and first is not None and number < first and series_id == name
        if (older and doubt is None) or self._is_in_order(series_id) or self._succession.is_over(series_id):
            self.drained += 1
            if series is not None:
                series.account.stale += 1
            return
        if doubt is not None and series_id == name:
            doubt.observe(number, now)
            if not doubt.is_another and held_bytes(message) > self._room:
                self._believe(now)
                self._sort(message, now)
                return
        if series is not None and self._succession.waits and held_bytes(message) > self._room:
            # There is no room to wait for the end of the running series any longer.
            self._finish(END_LOST if series.end is None else None, now)
            self._sort(message, now)
            return
        for dropped in self._early.add(message, now, self._room + self._early.nbytes):
            self._dropped(dropped)

    def _believe(self, now: float) -> None:
        """The running series goes on with what has waited, unless that is certainly of another."""
        doubt, self._doubt = self._doubt, None
        if doubt is not None and not doubt.is_another:
            self._release(now)

    def _prove(self, start: Start, now: float) -> None:
        """A series whose name and header have been has a frame: it is a new one."""
        if self.series is None:
            self._begin(start, now)
        elif self._is_in_order(start.header.series):
            self._finish(END_LOST, now, following=start)
        else:
            self._wait(start, now)
        self.drained -= 1

    def _release(self, now: float) -> None:
        """The header is here: sort again what was held."""
        held = self._early.take()
        for place, message in enumerate(held):
            try:
                self._sort(message, now)
            except BaseException:  # of a series that begins meanwhile
                self._early.put_back(held[place + 1 :], now)
                raise

    def _expire_early(self, now: float) -> None:
        while self._early.is_late(now) and not self._succession.waits:
            self._dropped(self._early.drop_late())

    def _dropped(self, why: StinsError) -> None:
        self.drained += 1
        self._sink.bad_message(why)


def _to_order(message: Message) -> int | None:
    """Number of a message of several sockets that can be sorted by nothing else."""
    if type(message) is Frame:
        image = message.image
        return image.msg_number if image.series is None else None
    if isinstance(message, Start):
        return message.header.msg_number if message.header.series is None else None
    assert isinstance(message, SeriesEnd)
    return message.msg_number if message.series is None else None
