"""The pipeline: all stages of a frame between the sockets and the file.

Arrivals, processor, collector and outputs are called in turn; nothing is queued between them except frames
that threads transform or check (`Prefetch`). `data_process` runs the loop and talks to the HTTP process.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

import msgspec

from penstock.hosts.version import version as software_version
from penstock.receiver.config import ReceiverConfig
from penstock.receiver.config.rectangles import Rectangle
from penstock.receiver.connection.events import Cut, Event, NoHeader, Stale
from penstock.receiver.files.refusals import StorageError
from penstock.receiver.files.writer import WriterError
from penstock.receiver.live.last_frame import LastFrame
from penstock.receiver.live.request import FrameAnswer
from penstock.receiver.models import Ending, PastSeries, Status
from penstock.receiver.process import queues, stages
from penstock.receiver.process.held_up import HeldUp, Look
from penstock.receiver.process.memory import Budget
from penstock.receiver.process.outputs import Outputs
from penstock.receiver.process.stage_times import Measures, Rates
from penstock.receiver.process.states import Event as StateEvent
from penstock.receiver.process.states import State
from penstock.receiver.regions.memory import RegionMemory
from penstock.receiver.series.timeouts import GapError
from penstock.receiver.sources import KINDS
from penstock.receiver.transforms.frame_processor import Result
from penstock.receiver.transforms.prefetch import Prefetch
from penstock.receiver.transforms.steps.format import TransformError
from penstock.stins.errors import NotTaken, StinsError
from penstock.stins.messages import Frame, Message, Start
from penstock.stins.texts import named, of_series
from penstock.stins.user_part import UserPart

log = logging.getLogger(__name__)

BURST_SECONDS = 0.1
"""Longest time in seconds for the messages of one turn: frames of 100 MB, or a slow disk, take time.
Snapshots are sent between two turns, and a process without them for seconds counts as hanging; the live view
also gets its frame between two turns."""

READ_SECONDS, QUIET_SECONDS = 1.0, 0.002
"""Longest time in seconds for what has arrived, when a series is left to the next start; and the silence
behind which nothing is taken to be under way, so that the sockets are closed between two frames."""
LONGEST_BEHIND = 300.0
"""Longest time in seconds for which the collector's clock stands still while messages wait: an abandoned
series has to end even if another streamer floods the sockets."""

FAULTS = (WriterError, StorageError, GapError, TransformError)
"""Errors that end a series in Error."""


class Pipeline:
    """All stages of a frame between socket and file.

    Args:
        name: name of the receiver; also of its NXdetector group unless configured.
        config: configuration of the receiver.
        last_frame: shared memory for the newest frame.
        requested_frame: shared memory for a frame requested by its index.
        clock: monotonic seconds; injected in tests.
        rois: shared memory for the values of regions of interest.
        ending: whether it takes no series but one that it resumes; see `drain`.
    """

    def __init__(
        self,
        name: str,
        config: ReceiverConfig,
        last_frame: LastFrame,
        requested_frame: LastFrame,
        clock: Callable[[], float] = time.monotonic,
        rois: RegionMemory | None = None,
        *,
        ending: bool = False,
    ) -> None:
        self._name = name
        self._config = config
        self._clock = clock
        self._budget = Budget(name, config)
        self.outputs = Outputs(name, config, last_frame, requested_frame, clock, rois)
        self.machine = self.outputs.machine
        """The receiver's state."""
        self._arrivals, self._processor, self._collector = stages.of(config, self.outputs, self._budget)
        self.ingest = self._arrivals.ingest
        self._prefetch = Prefetch(self._processor, config.workers)
        self._gathers = not self._processor.transforms_ahead
        self._looked_at = self._all_read_at = clock()
        self._held_back = 0.0  # seconds for which the collector's clock has stood still
        self._drained = 0
        self._rates = Rates(clock())
        self._waited = 0.0  # seconds for which the loop has waited for messages
        self._held_up = HeldUp(name, config)
        self._stall_logged: str | None = None
        self._ending: Ending = "drained" if ending else ""
        self._drop_logged: tuple[str | None, str | None] | None = None
        self.use_rois(config.rois)
        if not ending:
            self.ingest.connect()

    def use_rois(self, rois: Mapping[str, Rectangle]) -> None:
        """Use these regions of interest in every series that begins from now on."""
        self.outputs.use_rois(rois)
        self._processor.keep_pixels(bool(rois))
        self._budget.config = msgspec.structs.replace(self._budget.config, rois=dict(rois))

    def recover(self) -> None:
        """Recover files that a killed process left open; call it once, first."""
        if (resumable := self.outputs.recover()) is None:
            return
        self._arrivals.resume(resumable.start)
        self._guarded(partial(self._collector.resume, resumable.start, resumable.resumed, self._now()))
        failed = self.machine.error
        if self._collector.series is None and not failed:
            # No Error: the start message does not fit the present configuration.
            failed = f"the receiver was killed, and the series could not be resumed: {self.outputs.bad.last}"
        self.outputs.recovered(failed)
        if self._ending and self._collector.series is not None:
            self._ending = "draining"
            self.ingest.connect()

    # -- the loop ------------------------------------------------------------------------------

    @property
    def received(self) -> int:
        """Frames received in the running series; 0 if none runs."""
        series = self._collector.series
        return 0 if series is None else series.account.received

    def step(self, seconds: float) -> None:
        """Wait for messages for this time at most, handle them, and advance the clocks."""
        outputs, ingest = self.outputs, self.ingest
        stalled = bool(outputs.forwarder.stalled_by)
        self._arrivals.expected.tick(before := self._clock())
        forwarder = outputs.forwarder
        longest, unsent = forwarder.soonest(seconds), forwarder.unsent()
        outputs.hand_over()
        ingest.wait(longest, writable=unsent, paused=stalled)
        now = self._clock()
        self._waited += now - before
        # The collector's clock stands still while a consumer blocks the stream, while other sockets are read,
        # and while the network is interrupted: messages on the wire meanwhile are neither late nor missing.
        ingest.observe_network(now)
        if not (ingest.is_behind or ingest.is_interrupted):
            self._all_read_at = now
        if stalled or 0.0 < now - self._all_read_at < LONGEST_BEHIND:
            self._held_back += now - self._looked_at
        self._looked_at = now
        at = now - self._held_back
        if not stalled:
            self._take(now, at)
        for error in ingest.reconnect():
            outputs.bad_message(error)
        if ingest.has_reconnected():
            self._pass_on(self._arrivals.on_reconnect(), at)
            self._drain(at)
            self._collector.on_reconnect()
        self._guarded(lambda: self._collector.tick(at, ingest.connected))
        self._guarded(lambda: outputs.flush_if_due(now))
        outputs.step(self._collector.series, now)
        if self._ending == "draining" and self._is_empty():
            ingest.part()
            self._ending = "drained"

    def stop(self, reason: str, *, stopped: bool = False) -> None:
        """End the running series, if there is one, after all messages that have arrived.

        Args:
            reason: reason in a sentence.
            stopped: a client wants it to end here, and nothing has failed.
        """
        at = self._now()
        self._pass_on(self._arrivals.flush(), at)
        self._drain(at)
        self._guarded(lambda: self._collector.stop(reason, stopped=stopped))

    def stop_at_end(self, series: str, why: str, *, failed: bool) -> None:
        """Count frames missing at the end of this series as not triggered: its sender ends it early."""
        self._guarded(lambda: self._collector.stop_at_end(series, why, failed=failed))

    def expect(self, part: UserPart, seconds: float) -> None:
        """Expect a series of a stream without start messages.

        Args:
            part: file and plan, under the id of its arming.
            seconds: for how long; 0 for ever.
        """
        self._arrivals.expected.expect(part, self._clock() + seconds if seconds else None)

    def forget(self, arm: str) -> None:
        """Do not expect the series of this arming any more, unless it has begun."""
        self._arrivals.expected.forget(arm)

    def drain(self, on: bool) -> None:
        """Take no new series once the running one has ended: its streamer's messages then wait there.

        Args:
            on: `False` to take series again.
        """
        if on:
            self._ending = self._ending or "draining"
            return
        if self._ending == "drained":
            self.ingest.connect()
            self._pass_on(self._arrivals.on_reconnect(), self._now())  # perhaps to another streamer
            self._collector.on_reconnect()
        self._ending = ""

    def _is_empty(self) -> bool:
        """Return whether no series runs, waits or is about to begin."""
        arrivals = self._arrivals
        waits = arrivals.held_bytes or arrivals.waits_for or arrivals.expected.waiting
        return self._collector.series is None and not waits and not self.ingest.comes_within(QUIET_SECONDS)

    def reset(self) -> None:
        """Leave Error; does nothing in Running: stop the series first."""
        self.outputs.bad.refused = ""
        if self.machine.state is State.ERROR:
            self._collector.on_reset()
        if self.machine.state is not State.RUNNING:
            self.machine.fire(StateEvent.RESET, "reset requested")

    def answer_request(self) -> bool:
        """Look for the requested frame, if there is a request; return whether there is an answer now."""
        return self.outputs.requested.step(self._collector.series, self.outputs.writer)

    def leave(self, *, asked: bool) -> str:
        """Take what has arrived, and leave the running series to the next start.

        Args:
            asked: the receiver was asked to end, and not killed.

        Returns:
            "" if it is left, and this process has to end as if it were killed. Else why not: `close` ends it.
        """
        if why_not := self.outputs.why_not_resumable():
            return why_not
        due = self._clock() + READ_SECONDS
        while self.ingest.comes_within(QUIET_SECONDS) and self._clock() < due:
            self.step(0.0)
        at = self._now()
        self._pass_on(self._arrivals.flush(), at)
        self._drain(at)
        if why_not := self.outputs.why_not_resumable():
            return why_not  # its end was among it
        self.ingest.close()  # from now on, its frames wait in the streamer
        self._guarded(partial(self.outputs.leave, asked=asked))
        return self.machine.error

    def close(self, reason: str = "the receiver was shut down") -> None:
        """End the running series and release everything."""
        self.stop(reason)
        self.ingest.close()
        self._processor.close()
        self.outputs.close()

    # -- status --------------------------------------------------------------------------------

    @property
    def ended(self) -> deque[PastSeries]:
        """Ended series, oldest first; the caller removes those it has reported."""
        return self.outputs.view.ended

    @property
    def answer(self) -> FrameAnswer:
        """Answer to the latest request for a frame."""
        return self.outputs.requested.answer

    def status(self, version: int) -> Status:
        """Return the status of the receiver."""
        out, machine = self.outputs, self.machine
        frame_rate, byte_rate = self._rates.at(now := self._clock(), out.frames, out.nbytes)
        series, counts = out.view.now(
            self._collector.series, out.forwarder.stalled_by, suspended=self._collector.is_suspended
        )
        writer = out.writer
        look = Look(now, self._waited, out.times.writing, 0.0 if writer is None else writer.held_seconds)
        held_up = self._held_up.look(None if writer is None else out.view.id, look)
        if series is not None and series.active and (self._arrivals.warning or held_up):
            reasons = filter(None, (series.reason, self._arrivals.warning, held_up))
            series = replace(series, reason="; ".join(reasons))
        times = os.times()
        of_files = 0 if writer is None else writer.most_waiting_bytes
        queue_bytes, queue_limit_bytes = queues.fullest(self._queue_bytes(), self._config, of_files)
        return Status(
            state=machine.state.value, error=machine.error, detector=self._config.detector or self._name,
            penstock=software_version(), version=version, series=series, counts=counts,
            connections=self.ingest.connections(), consumers=out.forwarder.status(),
            errors=dict(out.bad.counts), last_error=out.bad.last, refused=out.bad.refused,
            drained=self._drained + self._collector.drained, frame_rate=frame_rate,
            byte_rate=byte_rate, latest_frame=out.latest, rois=out.regions.now(),
            cpu_seconds=times.user + times.system, waits_for=self._arrivals.waits_for,
            expected=self._arrivals.expected.waiting, ending=self._ending,
            queue_bytes=queue_bytes, queue_limit_bytes=queue_limit_bytes,
        )  # fmt: skip

    def measures(self) -> Measures:
        """Return counts and times since the start, for Prometheus."""
        out, times = self.outputs, self.outputs.times
        return Measures(
            frames=out.frames, nbytes=out.nbytes, lost=dict(out.lost),
            queues={**self._queue_bytes(), "unflushed": out.unflushed_bytes},
            stages=times.stages, latency=times.latency, idle=times.idle, stamps_ahead=times.stamps_ahead,
        )  # fmt: skip

    def _queue_bytes(self) -> dict[str, int]:
        """Return the bytes in each queue of `queues.limits`."""
        writer = self.outputs.writer
        return {
            "held": self._arrivals.held_bytes,
            "transforms": self._prefetch.nbytes,
            "files": writer.waiting_bytes if writer is not None else 0,
            "rois": self.outputs.regions.nbytes,
        }

    # -- messages ------------------------------------------------------------------------------

    def _now(self) -> float:
        """Return the time of the collector's clock, in seconds."""
        return self._clock() - self._held_back

    def _take(self, now: float, at: float) -> None:
        """Handle the messages that have arrived; `at` is the time of the collector's clock."""
        outputs, receive, clock, before = self.outputs, self._receive, self._clock, now
        times, may_stall = outputs.times, outputs.forwarder.may_stall
        several = self._config.source.sockets > 1
        outputs.begin_burst(now)
        until = now + BURST_SECONDS
        for parts in self.ingest.messages():
            receive(parts, at)
            done = clock()
            if done >= times.due:
                self._settled()
                outputs.hand_over()
                done = times.turn(before, done, outputs.frames)
            before = done
            if several and self._arrivals.may_release:
                self._release(at)
            if may_stall and (stalled_by := outputs.forwarder.stalled_by):
                self._log_stall(stalled_by)
                break
            if done > until:
                break
        if before != now:
            self._collector.on_message(at)
        self._release(at)
        self._pass_on(self._arrivals.tick(at), at)
        if self._may_gather:
            self._guarded(self._collector.pause)
        else:
            self._drain(at)
        outputs.end_burst()

    def _receive(self, parts: list[memoryview], now: float) -> None:
        if self.machine.state is State.ERROR:
            self._drop(parts)
            return
        times = self.outputs.times
        if times.on:
            times.lap("receive")
        try:
            event = self._arrivals.receive(parts, now)
        except StinsError as error:
            self._drain(now)
            self._collector.undecodable(error)
            if isinstance(error, NotTaken):
                self._collector.not_taken(error)
            self.outputs.bad_message(error)
            return
        try:
            if times.on:
                times.lap("decode")
            elif self._may_gather and not isinstance(event, tuple) and self._collector.gather(event):
                return
            if not isinstance(event, tuple) and not self._prefetch.takes(event):
                if self._settled():
                    self._collector.handle(event, now)
                else:
                    self._drop(parts)
                return
        except StinsError as error:
            self.outputs.bad_message(error)
        except FAULTS as error:
            self._fail(error)
        else:
            self._pass_on(event if isinstance(event, tuple) else (event,), now)

    def _release(self, now: float) -> None:
        """Pass on messages whose predecessors have arrived, unless a consumer blocks the stream."""
        while not self.outputs.forwarder.stalled_by and (event := self._arrivals.release(now)) is not None:
            self._pass_on((event,), now)

    def _pass_on(self, events: Iterable[Event], now: float) -> None:
        for event in events:
            if self._may_gather and self._gathered(event):
                continue
            self._settled()
            if isinstance(event, Stale):
                self._collector.drop(event.count)
            elif isinstance(event, StinsError):
                if isinstance(event, NotTaken):
                    self._collector.not_taken(event)
                if isinstance(event, NoHeader):
                    self._collector.without_start(event)
                else:
                    self.outputs.bad_message(event)
            elif isinstance(event, Cut):
                self._drain(now)
                self._guarded(partial(self._collector.stop, event.cause))
            elif not self._prefetch.takes(event):
                self._handle(event, now)
            else:
                for ready in self._prefetch.push(event, self._collector.series is not None):
                    self._handle(ready.message, now, ready.result)
                    self.outputs.hand_over()  # the next one may not be ready

    @property
    def _may_gather(self) -> bool:
        """True if no message waits for threads, so that the next one may be entered at once."""
        return self._gathers and not self._prefetch.waiting

    def _gathered(self, event: Event) -> bool:
        """Take an event if it is a frame that merely continues the one before; return whether it is."""
        if not isinstance(event, Frame) or self.outputs.times.on:
            return False
        try:
            return self._collector.gather(event)
        except FAULTS as error:
            self._fail(error)
            return True

    def _drain(self, now: float) -> None:
        """Hand on all frames that threads transform or check, or that were gathered."""
        self._settled()
        for ready in self._prefetch.drain():
            self._handle(ready.message, now, ready.result)
            self._settled()
            self.outputs.hand_over()  # the next one may not be ready

    def _settled(self) -> bool:
        """Hand on the frames that were gathered; return whether the receiver is not in Error then."""
        if self._gathers:
            self._guarded(self._collector.settle)
        return self.machine.state is not State.ERROR

    def _handle(self, message: Message, now: float, result: Result | None = None) -> None:
        """Handle a message in its turn, at once or after waiting."""
        if self.machine.state is State.ERROR:
            self._drained += 1
            self._log_dropped(message)
        else:
            self._guarded(partial(self._collector.handle, message, now, result))

    def _drop(self, parts: list[memoryview]) -> None:
        """Drop a message in Error, so that no stale frame waits in the sockets for the next series."""
        self._drained += 1
        if KINDS[self._config.source.type].published:
            return  # there are no start messages: after a reset the decoder begins with the next frame
        with contextlib.suppress(StinsError):
            decoded = self._arrivals.decode(parts)
            for message in decoded if isinstance(decoded, tuple) else (decoded,):
                self._log_dropped(message)

    def _log_dropped(self, message: Message | StinsError) -> None:
        """Log a dropped start message once per series, however many modules send it."""
        if not isinstance(message, Start):
            return
        series, filename = message.header.series, message.header.filename
        if (series, filename) != self._drop_logged:
            self._drop_logged = series, filename
            log.warning(
                "%s: %s is dropped: the receiver is in Error, reset it%s",
                self._name, named(filename), of_series(series),
            )  # fmt: skip

    def _log_stall(self, consumers: str) -> None:
        """Log a stall once per series: a consumer at its limit blocks the stream many times per second."""
        view = self.outputs.view
        if view.id != self._stall_logged:
            self._stall_logged = view.id
            where = view.filename or "live only"
            log.warning("%s: %s waits for consumer %s%s", self._name, where, consumers, of_series(view.id))

    # -- faults --------------------------------------------------------------------------------

    def _guarded(self, action: Callable[[], None]) -> None:
        try:
            action()
        except StinsError as error:
            self.outputs.bad_message(error)
        except FAULTS as error:
            self._fail(error)

    def _fail(self, error: WriterError | StorageError | GapError | TransformError) -> None:
        """Go to Error: end the series, count and keep the cause."""
        sentence = str(error)
        self.outputs.bad.counts[error.kind] += 1
        if not self._collector.fail(sentence):
            self.outputs.fail(sentence)
        self._drained += self._arrivals.forget()
