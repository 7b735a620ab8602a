"""The collector: it assigns messages to series, and decides when a series has ended.

No socket, no file, no thread and no clock of its own: messages and times go in, calls of a `Sink` come out.
Messages arrive in the order in which their streamer sent them (`connection`), so that a table decides:

| state     | start message              | own frame or end                 | another's | reconnected  |
|-----------|----------------------------|----------------------------------|-----------|--------------|
| IDLE      | begin                      | –                                | stale     | –            |
| RUNNING   | the same: duplicate, or    | take; finish                     | stale     | → SUSPENDED  |
|           | pending without a name;    |                                  |           |              |
|           | else end (end lost), begin |                                  |           |              |
| SUSPENDED | end (end lost), begin      | number > last: → RUNNING, take;  | stale     | –            |
|           |                            | else stale                       |           |              |

These are phases of the series; the states of the receiver are in `process.states`. Time-outs and requests to
stop end a series in either phase. SUSPENDED is a series whose streamer was lost, or whose receiver was
killed: the peer connected next may not know it. A start message that was received before is *pending*: it may
merely be repeated, so it begins a series only with its first frame; with name and number, in the same
session, it is a duplicate. If it repeats that of a running series without a name, the next frame decides: if
its index was counted already, the old series ends (end lost) and the next one begins; otherwise it is a
duplicate.

A series without a name also ends when its `msg_number` falls back: a counter has wrapped, or the streamer was
restarted.
"""

from __future__ import annotations

import logging

from penstock.codecs.cbf_header import facts_of
from penstock.receiver.config import ReceiverConfig
from penstock.receiver.connection.events import NoHeader
from penstock.receiver.connection.expected_frames import FALLS_BACK
from penstock.receiver.connection.known_starts import KnownStarts
from penstock.receiver.models import FrameStatus
from penstock.receiver.series.frame_entry import Entry
from penstock.receiver.series.running_series import ResumedSeries, RunningSeries
from penstock.receiver.series.sink import Sink
from penstock.receiver.series.timeouts import GapClock, GapError, Timeouts
from penstock.receiver.transforms.frame_processor import Result, refusal
from penstock.stins.errors import NotTaken, RemoteError, StinsError
from penstock.stins.messages import Frame, Header, Image, Message, RefusedImage, SeriesEnd, Start
from penstock.stins.texts import named, of_series

log = logging.getLogger(__name__)

REASON_WITHIN = 2.0
"""Seconds within which the device of a detector's own box says why its series has ended early."""
END_LOST = "its end message was lost, the next series has begun"
ARRIVED = frozenset(FrameStatus) - {FrameStatus.PENDING, FrameStatus.MISSING}


class Collector:
    """Assigns messages to series; one series runs at a time.

    Args:
        config: gap policy, limits and number of sockets.
        sink: receives series and frames; its exceptions pass through to the caller.
        entry: enters the frames of a series.
        end_lost_after: seconds for which a complete series waits for its end message; by default as long as
            for a frame.
    """

    def __init__(
        self, config: ReceiverConfig, sink: Sink, entry: Entry, end_lost_after: float | None = None
    ) -> None:
        self._sink = sink
        self._entry = entry
        self._run = entry.run
        self._several_sockets = config.source.sockets > 1
        self._known = KnownStarts()
        self._unconfirmed: Start | None = None
        """Start message whose series begins with its first frame."""
        self._timeouts = Timeouts(config, config.gap.seconds if end_lost_after is None else end_lost_after)
        self._gap_clock = GapClock(config.gap)
        self._announced: str | None = ""
        """Name of the series whose start, or lack of a start, was noted last; "" for none."""
        self._ended_at: int | None = None
        """Number of the last end message of a series without a name."""
        self.series: RunningSeries | None = None
        self._reason_due = 0.0
        """Time at which a series whose end message has arrived ends without the reason of its device."""
        self._not_taken: Header | None = None
        """Header of the last start message if its series could not begin, until its end message."""
        self.is_suspended = False
        """True if the connected streamer may not know the running series."""
        self.drained = 0
        """Number of messages that belonged to no series."""

    def on_message(self, now: float) -> None:
        """Note that the streamer is not silent, even if its messages still wait for their turn."""
        self._timeouts.last_message = now

    def handle(self, message: Message, now: float, result: Result | None = None) -> None:
        """Take a message.

        Args:
            message: message, in the order of sending.
            now: time of the injected monotonic clock, in seconds.
            result: result of a thread for its frame; `None` without one.
        """
        if isinstance(message, Frame):
            series, image = self.series, message.image
            if (
                series is not None
                and self._belongs(series, image.series, image.msg_number)
                and (self._unconfirmed is None or not self._begins_next(series, image))
            ):
                self._entry.take(series, message, result)
            else:
                self._another_frame(message, now, result)
        elif isinstance(message, Start):
            self._start(message, now)
        else:
            self._end(message, now)

    def gather(self, message: Message) -> bool:
        """Take a message if it is a frame that merely continues the one before; return whether it is.

        Such frames are entered into their series together, by `settle` at the latest; call that before
        anything but `gather`.

        Raises:
            Exception: see `settle`.
        """
        return self._run is not None and self._run.take(message)

    def settle(self) -> None:
        """Enter the gathered frames, and gather no more.

        Raises:
            Exception: the sink could not take them.
        """
        if self._run is not None:
            self._run.settle()

    def pause(self) -> None:
        """Enter the gathered frames, and go on gathering in the next turn.

        Raises:
            Exception: see `settle`.
        """
        if self._run is not None:
            self._run.enter()

    def tick(self, now: float, connections: int) -> None:
        """Advance the clocks; call it a few times per second and whenever connections change.

        Args:
            now: time of the injected monotonic clock, in seconds.
            connections: present number of connections.

        Raises:
            GapError: the gap clock has ended, and the policy is to fail.
        """
        self._timeouts.observe(connections, now)
        series = self.series
        if series is None:
            return
        if series.end is not None:
            if now >= self._reason_due:
                self._finish(series, None)
            return
        self._gap_clock.tick(series, now)
        if cause := self._timeouts.timeout_reason(series, now, suspended=self.is_suspended):
            self._finish(series, cause)
            if series.header.series is None:
                self._expect_start()

    def on_reconnect(self) -> None:
        """Suspend the running series: all connections were lost, read to the end, and made again."""
        self._known.on_reconnect()
        self._end_run()
        self.is_suspended = self.series is not None
        if self.series is None:
            self._expect_start()

    def on_reset(self) -> None:
        """Expect a start message, since the receiver has left Error: what arrives without one is reported."""
        self._expect_start()
        if self._not_taken is not None:
            self._not_taken = None
            self._sink.not_taken_end()

    def resume(self, start: Start, resumed: ResumedSeries, now: float) -> None:
        """Resume a series whose receiver was killed, like one whose streamer was lost."""
        self._announced = start.header.series
        self._begin(start, now, resumed)
        self.is_suspended = True

    def stop(self, cause: str, *, stopped: bool = False) -> None:
        """End the running series now, if there is one.

        Args:
            cause: reason in a sentence.
            stopped: a client wants it to end here, and nothing has failed.
        """
        if self.series is not None:
            self._finish(self.series, cause, stopped=stopped and not self.is_suspended)

    def stop_at_end(self, series: str, why: str, *, failed: bool = False) -> None:
        """Note that this series ends early, which its end message cannot say; it may have arrived already.

        Args:
            series: id of the series; nothing happens if it is not the running one.
            why: reason in words, for the reason of the series; "" if frames were lost.
            failed: it has failed or was aborted.
        """
        if self.series is not None and self.series.id == series:
            self.series.stopping, self.series.failing = why, failed
            if self.series.end is not None:
                self._finish(self.series, None)

    def fail(self, why: str) -> bool:
        """End the running series in Error; return whether there was one.

        Args:
            why: reason in a sentence.
        """
        series = self.series
        if series is not None:
            self._leave(series)
            self._sink.end(series, series.close(why), failed=why)
        self._unconfirmed = None
        return series is not None

    def drop(self, count: int = 1) -> None:
        """Count messages that belong to no running or coming series."""
        self.drained += count
        if self.series is not None:
            self.series.account.stale += count

    def not_taken(self, error: NotTaken) -> None:
        """Note a series whose start message cannot be used, unless another one is running.

        Of a series that was noted already, as when several modules send it, the first reason stays.
        """
        name = error.header.series
        if self.series is None and (name is None or not self._is_not_taken(name)):
            self._refuse(error.header, error)

    def without_start(self, error: NoHeader) -> None:
        """Report frames whose start message was not received, unless it was, and the series was not taken."""
        if not self._is_not_taken(error.series):
            self._sink.refuse(error)

    def undecodable(self, error: StinsError) -> None:
        """Count a message that could not be read: it may have been a frame of the running series."""
        series = self.series
        if series is not None:
            series.account.undecodable += 1
            series.losses.note_dropped("undecodable", f"{error.kind}: {error}")

    # -- messages ------------------------------------------------------------------------------

    def _belongs(self, series: RunningSeries, name: str | None, number: int | None) -> bool:
        """Return whether a frame or end message belongs to the running series; if so, end its suspension."""
        header = series.header
        if name is not None and header.series is not None:
            own = name == header.series
        else:
            first = header.msg_number
            own = number is None or first is None or number > first
            # Some streamers send the same number each time.
            own = own or (number == first and not self._falls_back(series, name, number))
        if own and self.is_suspended:
            own = number is None or number > series.numbering.highest
            self.is_suspended = not own
        return own

    def _start(self, start: Start, now: float) -> None:
        header, series = start.header, self.series
        self._announced = header.series
        if self._several_sockets and header.msg_number is None:
            raise self._refused(header)
        repeats = series is not None and header == series.sent.header and not self.is_suspended
        # Without a name it may be from a streamer that was restarted with the same settings.
        if series is not None and repeats and (header.series is not None or not series.numbering.messages):
            self._duplicate(header)
        elif header not in self._known and not repeats:
            self._begin_next(start, now)
        elif header.series is None or header.msg_number is None or not self._known.is_of_this_session(header):
            log.warning(
                "%s: its start message was repeated; it begins with its first frame%s",
                named(header.filename),
                of_series(header.series),
            )
            self.drained += 1
            self._unconfirmed = start
        else:
            self._duplicate(header)

    def _refused(self, header: Header) -> RemoteError:
        error = RemoteError(
            "no_order_key",
            "this streamer's messages have no msg_number by which those of several sockets could be put in "
            "order; set source.sockets to 1",
        )
        if self.series is None:
            self._refuse(header, error)
        return error

    def _duplicate(self, header: Header) -> None:
        log.warning("%s: a second start message ignored%s", named(header.filename), of_series(header.series))
        self.drained += 1

    def _another_frame(self, frame: Frame, now: float, result: Result | None) -> None:
        """Take a frame that is not of the running series: it may begin the next one, else it is stale."""
        start = self._unconfirmed
        name, number = frame.image.series, frame.image.msg_number
        self._end_if_fallen_back(name, number)
        if start is None or name != start.header.series:
            if isinstance(frame.image, RefusedImage):
                self.undecodable(error := refusal(frame.image))
                self._sink.bad_message(error)
            self.drop()
            if self._is_not_taken(name):
                self._sink.not_taken_frame()
            elif self.series is None and name != self._announced and not self._is_late(name, number):
                self._announced = name
                self._sink.refuse(NoHeader(name))
            return
        self._begin_next(start, now)
        self.drained -= 1
        self.handle(frame, now, result)

    def _end(self, end: SeriesEnd, now: float) -> None:
        series = self.series
        if end.series is None:
            self._expect_start(end.msg_number)
        if series is None or not self._belongs(series, end.series, end.msg_number):
            self._end_if_fallen_back(end.series, end.msg_number)
            self.drop()
            if self._is_not_taken(end.series):
                if not self._several_sockets:  # frames on the others may be behind it
                    self._not_taken = None
                self._sink.not_taken_end()
            return
        series.end = end
        if end.image_header:
            series.learned = self._entry.learned(series.sent, facts_of(end.image_header))
        if series.header.series is None:
            self._unconfirmed = None  # the start message was a duplicate: no frame came after it
        if series.awaits_reason:
            self._reason_due = now + REASON_WITHIN
        else:
            self._finish(series, None)

    # -- streams without names -----------------------------------------------------------------

    def _begins_next(self, series: RunningSeries, image: Image) -> bool:
        """Return whether a frame begins the next series, whose start message is pending, and not that of the
        running one, which has no name either; if it does not, the start message was a duplicate."""
        start = self._unconfirmed
        numbered = image.msg_number is not None and series.header.msg_number is not None
        if start is None or start.header.series is not None or series.header.series is not None:
            return False
        if image.frame is None and not numbered:
            return True  # nothing else tells them apart
        index = series.numbering.index(image)
        if series.account.in_range(index) and series.account.status(index) in ARRIVED:
            return True
        self._unconfirmed = None
        return False

    def _falls_back(self, series: RunningSeries, name: str | None, number: int | None) -> bool:
        """Return whether the messages of a series without a name have fallen back to this number."""
        first = series.header.msg_number
        if number is None or first is None or name is not None or series.header.series is not None:
            return False
        if self.is_suspended:
            return False
        is_in_order = not self._several_sockets  # so that a lower number is not late
        return (is_in_order and number < first) or series.numbering.highest - number >= FALLS_BACK

    def _end_if_fallen_back(self, name: str | None, number: int | None) -> None:
        series = self.series
        if series is None or not self._falls_back(series, name, number):
            return
        self._finish(
            series,
            f"msg_number fell back from {series.numbering.highest} to {number} in the series: a counter of "
            "16 or 32 bits has wrapped, or the streamer was restarted; what follows is dropped until a "
            "start message arrives",
        )
        self._expect_start()

    def _expect_start(self, after: int | None = None) -> None:
        """Report the next frame without a start message.

        Args:
            after: number of the end message that has arrived; frames with a lower one are late.
        """
        self._announced, self._ended_at = "", after

    def _is_late(self, name: str | None, number: int | None) -> bool:
        """Return whether a frame without a name belongs to a series whose end message has arrived."""
        return name is None and number is not None and self._ended_at is not None and number < self._ended_at

    def _is_not_taken(self, name: str | None) -> bool:
        """Return whether a message with this name belongs to a series that could not begin."""
        return self._not_taken is not None and name == self._not_taken.series

    # -- from one series to the next -----------------------------------------------------------

    def _begin_next(self, start: Start, now: float) -> None:
        if self.series is not None:
            self._finish(self.series, END_LOST if self.series.end is None else None)
        self._begin(start, now)

    def _begin(self, start: Start, now: float, resumed: ResumedSeries | None = None) -> None:
        self._unconfirmed = None
        try:
            series = self._entry.begin(start, resumed)
            series.sent = start
            self._gap_clock.begin()
            self._timeouts.begin(now)
            self._sink.begin(series)
        except Exception as error:
            if resumed is None:
                self._refuse(start.header, error)
            raise
        self.series, self._not_taken = series, None

    def _refuse(self, header: Header, error: Exception) -> None:
        """Note a series that does not begin: its frames are dropped, and what is said of them is said now."""
        self._announced, self._not_taken = header.series, header
        self._sink.not_taken(header, error)

    def _finish(self, series: RunningSeries, cause: str | None, *, stopped: bool = False) -> None:
        """End the running series for this cause; `None` for its end message.

        Raises:
            GapError: a frame is missing, and the policy is to fail.
        """
        outcome = series.close(cause, stopped=stopped)
        self._leave(series)
        failed = "" if cause or stopped else self._gap_clock.failure(series, outcome)
        self._sink.end(series, outcome, failed)
        if failed:
            raise GapError(failed)

    def _leave(self, series: RunningSeries) -> None:
        self._end_run()
        self.series, self.is_suspended = None, False
        self._known.add(series.sent.header)

    def _end_run(self) -> None:
        if self._run is not None:
            self._run.end()
