"""The pipeline: everything that a frame meets between the sockets and the file.

Source, processor, collector and sinks are functions called in turn; nothing is queued between them. Who turns
it, and talks to the HTTP process meanwhile, is `data_process`.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping

import msgspec

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.config.rectangles import Rectangle
from penstock.receiver.connection.ingest import Ingest
from penstock.receiver.files import nexus
from penstock.receiver.files.series_files import SeriesFiles
from penstock.receiver.files.storage import StorageError
from penstock.receiver.files.writer import SeriesWriter, WriterError
from penstock.receiver.forward.forwarder import Forwarder
from penstock.receiver.live.last_frame import LastFrame
from penstock.receiver.live.requested_frame import RequestedFrames
from penstock.receiver.models import FrameStatus, PastSeries, Status
from penstock.receiver.process import queues
from penstock.receiver.process.bad_messages import BadMessages
from penstock.receiver.process.memory import Budget
from penstock.receiver.process.rates import Rates
from penstock.receiver.process.stage_times import LOSSES, Measures, StageTimes
from penstock.receiver.process.states import Event, State, StateMachine
from penstock.receiver.process.status_view import StatusView
from penstock.receiver.processing.frame_processor import FrameProcessor
from penstock.receiver.processing.prefetch import Prefetch
from penstock.receiver.processing.transforms.chain import Chain
from penstock.receiver.processing.transforms.format import TransformError
from penstock.receiver.regions import memory as region_memory
from penstock.receiver.regions.memory import RegionMemory
from penstock.receiver.regions.series import RegionSeries
from penstock.receiver.regions.threads import RegionThreads
from penstock.receiver.series.account import IN_FILE
from penstock.receiver.series.collector import Collector
from penstock.receiver.series.gap_clock import GapError
from penstock.receiver.series.running_series import Outcome, RunningSeries
from penstock.receiver.sources import KINDS, Source, create
from penstock.stins.errors import StinsError
from penstock.stins.messages import Frame, Header, Message, SeriesEnd, Start
from penstock.stins.texts import named, of_series, plural

log = logging.getLogger(__name__)

BURST_SECONDS = 0.1
"""A turn takes messages in for no longer, however many wait: frames of 100 MB, or a slow disk, take their
time. A process that says nothing for seconds is taken for hanging, and the live view gets a frame between two
turns."""

LONGEST_BEHIND = 300.0
"""The collector's clock stands still for no longer, however much waits to be read: a series that nobody goes
on with has to end, even if another streamer floods the sockets."""

HAS_VALUES = (FrameStatus.STORED, FrameStatus.DELIVERED, FrameStatus.PARTIAL)
"""Statuses of a frame whose regions of interest have values."""

FAULTS = (WriterError, StorageError, GapError, TransformError)
"""What ends a series in Error."""


class Pipeline:
    """Everything that a frame meets between socket and file.

    Args:
        name: of the receiver; also its NXdetector group unless configured.
        config: the receiver's configuration.
        last_frame: where the live view looks.
        asked_frame: where it finds a frame that it asked for by its index.
        clock: monotonic seconds; injected in tests.
        rois: where the values of regions of interest are found.
    """

    def __init__(
        self,
        name: str,
        config: ReceiverConfig,
        last_frame: LastFrame,
        asked_frame: LastFrame,
        clock: Callable[[], float] = time.monotonic,
        rois: RegionMemory | None = None,
    ) -> None:
        self.machine = StateMachine(name)
        self._budget = Budget(name, config)
        self.ingest, self._processor, self._collector = self._stages(config)
        self._config = config
        self._detector = config.detector or name
        self._clock = clock
        self._source = create(config.source.type)
        self._prefetch = Prefetch(self._processor, config.workers) if self._processor.parallel else None
        self._last_frame = last_frame
        self.asked = RequestedFrames(asked_frame, clock)
        self._forwarder = Forwarder(config.forward)
        self._files = SeriesFiles(name, config)
        self._writer: SeriesWriter | None = None
        self._flush_due = 0.0
        self._looked_at = self._all_read_at = clock()
        self._held_back = 0.0  # seconds for which the collector's clock has stood still
        self._bad = BadMessages(name)
        self._drained = 0
        self._times = StageTimes(clock)
        self._lost: Counter[str] = Counter(dict.fromkeys(LOSSES, 0))
        self._frames = self._bytes = 0
        self._flushed_bytes = 0  # of `_bytes`, those that came before the last flush
        self._burst = (0.0, 0)  # when the running, or last, burst of messages began, and `_frames` then
        self._last_frame_at = 0.0  # end of the last burst that had frames
        self._rates = Rates(clock())
        self._shown = StatusView(config, self._detector)
        self._stall_logged: str | None = None
        self._drop_logged: tuple[str | None, str | None] | None = None
        self._latest: int | None = None
        self._regions = RegionThreads(rois or RegionMemory(region_memory.create()), config.workers)
        self.use_rois(config.rois)

    def _stages(self, config: ReceiverConfig) -> tuple[Ingest, FrameProcessor, Collector]:
        chain = Chain(config.transforms, self._budget) if config.transforms else None
        processor = FrameProcessor(chain, config.workers, self._budget)
        return Ingest(config.source), processor, Collector(config, self, processor)

    def use_rois(self, rois: Mapping[str, Rectangle]) -> None:
        """Have these regions of interest in every series that begins from now on."""
        self._regions.rois = rois
        self._processor.keep_pixels(bool(rois))
        self._config = msgspec.structs.replace(self._config, rois=dict(rois))
        self._budget.config = self._shown.config = self._config

    def recover(self) -> None:
        """Deal with what an earlier process left open when it was killed; call it once, first."""
        recovered = self._files.recover()
        self._shown.recovered(recovered)
        if (resumable := recovered.resumable) is not None:
            now = self._clock() - self._held_back
            self._guarded(lambda: self._collector.resume(resumable.start, resumable.resumed, now))
            failed = self.machine.error
            if self._collector.series is None and not failed:
                # No Error: what the start message says and what is configured by now do not fit.
                failed = f"the receiver was killed, and the series could not go on: {self._bad.last}"
            self._shown.recovered(self._files.finalize(failed))

    # -- the loop ------------------------------------------------------------------------------

    def step(self, seconds: float) -> None:
        """Wait at most so long, take what has arrived, let the clocks run."""
        stalled, ingest = bool(self._forwarder.stalled_by), self.ingest
        ingest.wait(seconds, writable=self._forwarder.unsent(), paused=stalled)
        now = self._clock()
        # The collector's clock stands still while a consumer holds the streamer back, and while another of
        # several sockets is read: what waits on the wire meanwhile is neither late nor missing.
        if not ingest.is_behind:
            self._all_read_at = now
        if stalled or 0.0 < now - self._all_read_at < LONGEST_BEHIND:
            self._held_back += now - self._looked_at
        self._looked_at = now
        if not stalled:
            self._take(now)
        for error in ingest.reconnect():
            self.bad_message(error)
        if ingest.has_reconnected():
            self._guarded(lambda: self._collector.on_reconnect(now - self._held_back))
        connections = sum(item.connections for item in self.ingest.connections())
        self._guarded(lambda: self._collector.tick(now - self._held_back, connections))
        if self._writer is not None and now >= self._flush_due:
            self._flush(self._writer, now)
        if (series := self._collector.series) is not None:
            self._step_regions(series)
        self._last_frame.step(now)
        self._forwarder.step()

    def _flush(self, writer: SeriesWriter, now: float) -> None:
        began = self._clock()
        self._regions.drain()  # a frame that survives a kill has its values
        self._guarded(writer.flush)
        self._times.stages["flush"].observe(self._clock() - began)
        self._flush_due = now + self._config.flush_seconds
        self._flushed_bytes = self._bytes

    def stop(self, reason: str) -> None:
        """End the running series, if there is one."""
        self._guarded(lambda: self._collector.stop(reason, self._clock() - self._held_back))

    def stop_at_end(self, series: str, why: str) -> None:
        """What has not come of this series when it ends was not triggered: its sender ends it early."""
        self._collector.stop_at_end(series, why)

    def reset(self) -> None:
        """Leave Error; in Running nothing happens, stop the series first."""
        self._bad.refused = ""
        if self.machine.state is not State.RUNNING:
            self.machine.handle(Event.RESET, "reset requested")

    def answer_asked(self) -> bool:
        """Look for the frame that somebody asks for; says whether there is an answer now."""
        return self.asked.step(self._collector.series, self._writer)

    def leave(self) -> bool:
        """Hand the running series to the kernel, for the next start to go on with; whether that can be.

        It can be as long as the journal names it: then this process has to end as if it were killed.
        """
        if (writer := self._writer) is None or not self._files.may_go_on():
            return False
        self._flush(writer, self._clock())
        return self._writer is writer

    def close(self, reason: str = "the receiver was shut down") -> None:
        """End what runs and let go of everything."""
        self.stop(reason)
        self._forwarder.close()
        self.ingest.close()
        self._processor.close()
        self._regions.close()
        self._files.close()

    def status(self, version: int) -> Status:
        """A snapshot of everything."""
        frame_rate, byte_rate = self._rates.at(self._clock(), self._frames, self._bytes)
        series, counts = self._shown.now(self._collector.series, self._forwarder.stalled_by)
        times = os.times()
        queue_bytes, queue_limit_bytes = queues.fullest(self._waiting(), self._config)
        return Status(
            state=self.machine.state.value, error=self.machine.error, detector=self._detector,
            version=version, series=series, counts=counts,
            connections=self.ingest.connections(), consumers=self._forwarder.status(),
            errors=dict(self._bad.counts), last_error=self._bad.last, refused=self._bad.refused,
            drained=self._drained + self._collector.drained, frame_rate=frame_rate,
            byte_rate=byte_rate, latest_frame=self._latest, rois=self._regions.now(),
            cpu_seconds=times.user + times.system,
            queue_bytes=queue_bytes, queue_limit_bytes=queue_limit_bytes,
        )  # fmt: skip

    @property
    def ended(self) -> deque[PastSeries]:
        """Series that have ended, oldest first; whoever tells of one takes it out."""
        return self._shown.ended

    def measures(self) -> Measures:
        """What was counted and measured since the start, for Prometheus."""
        times = self._times
        return Measures(
            frames=self._frames, nbytes=self._bytes, lost=dict(self._lost),
            queues={
                **self._waiting(),
                "unflushed": self._bytes - self._flushed_bytes if self._writer is not None else 0,
            },
            stages=times.stages, latency=times.latency, idle=times.idle, stamps_ahead=times.stamps_ahead,
        )  # fmt: skip

    def _waiting(self) -> dict[str, int]:
        """Bytes that wait, by queue; those of `queues.limits`."""
        return {
            "held": self._collector.held_bytes,
            "transforms": self._prefetch.nbytes if self._prefetch is not None else 0,
            "writers": self._writer.waiting_bytes if self._writer is not None else 0,
            "rois": self._regions.nbytes,
        }

    def _take(self, now: float) -> None:
        at = now - self._held_back
        receive, clock, times, before = self._receive, self._clock, self._times, now
        times.begin(now, self._frames)
        self._burst = now, self._frames
        until = now + BURST_SECONDS
        for parts in self.ingest.messages():
            receive(parts, at)
            done = clock()
            if done >= times.due:
                times.turn(before, done, self._frames)
            before = done
            if self._forwarder.consumers and (stalled_by := self._forwarder.stalled_by):
                self._log_stall(stalled_by)
                break
            if done > until:
                break
        if self._prefetch is not None:
            for message in self._prefetch.drain():
                self._turn(message, at)
        if self._frames != self._burst[1]:
            self._last_frame_at = self._clock()

    def _receive(self, parts: list[memoryview], now: float) -> None:
        if self.machine.state is State.ERROR:
            self._drop(self._source, parts)
            return
        times = self._times
        if times.on:
            times.lap("receive")
        try:
            message = self._source.decode(parts)
            if times.on:
                times.lap("decode")
            if self._prefetch is None and not isinstance(message, tuple):
                self._collector.handle(message, now)
                return
        except StinsError as error:
            self.bad_message(error)
        except FAULTS as error:
            self._fail(error)
        else:
            for each in message if isinstance(message, tuple) else (message,):
                if isinstance(each, StinsError):
                    self.bad_message(each)
                elif self._prefetch is None:
                    self._turn(each, now)
                else:
                    for ready in self._prefetch.push(each, self._collector.series is not None):
                        self._turn(ready, now)

    def _turn(self, message: Message, now: float) -> None:
        """A message's turn, at once or after it has waited while threads transformed its frame."""
        if self.machine.state is State.ERROR:
            self._drained += 1
            self._log_dropped(message)
        else:
            self._guarded(lambda: self._collector.handle(message, now))
        if isinstance(message, Frame):
            self._processor.forget(message)

    def _drop(self, source: Source, parts: list[memoryview]) -> None:
        """In Error the sockets are kept empty, so that no stale frame waits for the next series."""
        self._drained += 1
        if KINDS[self._config.source.type].published:
            return  # no start message to be told of: after a reset the decoder begins with the next frame
        with contextlib.suppress(StinsError):
            decoded = source.decode(parts)
            for message in decoded if isinstance(decoded, tuple) else (decoded,):
                self._log_dropped(message)

    def _log_dropped(self, message: Message | StinsError) -> None:
        """Once a series, however many modules send it."""
        if not isinstance(message, Start):
            return
        series, filename = message.header.series, message.header.filename
        if (series, filename) != self._drop_logged:
            self._drop_logged = series, filename
            log.warning(
                "%s: %s is dropped: the receiver is in Error, reset it%s",
                self.machine.name, named(filename), of_series(series),
            )  # fmt: skip

    def _guarded(self, action: Callable[[], None]) -> None:
        try:
            action()
        except StinsError as error:
            self.bad_message(error)  # the start message that waited for the end of the series before it
        except FAULTS as error:
            self._fail(error)

    def _fail(self, error: WriterError | StorageError | GapError | TransformError) -> None:
        """Into Error: close what is there, count and keep the cause."""
        sentence = str(error)
        self._bad.counts[error.kind] += 1
        series = self._collector.series
        if series is not None:
            self.end(series, series.close(sentence), failed=sentence)
        elif self.machine.state is not State.ERROR:
            self.machine.handle(Event.FAIL, sentence)
        self._collector.forget()

    # -- the collector's sink ------------------------------------------------------------------

    def begin(self, series: RunningSeries) -> None:
        """A series begins: its file is created before the state says Running."""
        header, before = series.header, series.resumed
        rois, known = (self._regions.rois, None) if before is None else (before.rois, before.roi_values)
        series.rois = RegionSeries(series.id, rois, series.metadata, header.channels or (), known)
        self._writer, path, started = self._files.begin(series)
        header = series.header
        if self._writer is not None:
            series.rois.to_write = deque()
        self._regions.begin(series.rois)
        self._flush_due = self._clock() + self._config.flush_seconds
        self._flushed_bytes = self._bytes
        self._forwarder.begin(header, series.metadata, series.sent_part)
        channels = nexus.channel_names(header.channels or ())
        self._last_frame.begin(series.metadata, channels)
        self.asked.begin(series.metadata, channels)
        self._latest = None
        self._bad.refused = ""
        self._shown.begin(series, path, started)
        what = f"{path or 'live only'}, {plural(header.frames, 'frame')}{of_series(series.id)}"
        self.machine.handle(Event.BEGIN, what)

    def frame(self, series: RunningSeries, index: int, frame: Frame, status: FrameStatus) -> None:
        """A sound frame: into the file, to the consumers, to the live view."""
        times = self._times
        if timed := times.on:
            times.lap("check")
        if self._writer is not None and status in IN_FILE:
            self._writer.add(index, frame)
            if timed:
                times.lap("write")
                times.stored(frame.image.timestamp)
        if self._regions.active is not None and status in HAS_VALUES:
            self._regions.offer(index, frame)
        self._forwarder.frame(index, frame)
        if timed:
            times.lap("forward")
        self._last_frame.offer(series.id, index, frame)
        if self._latest is None:
            self._shown.first_frame(series, frame.image.shape, frame.image.type)
        self._latest = index
        self._frames += 1
        self._bytes += sum(map(len, frame.blobs))

    def end(self, series: RunningSeries, outcome: Outcome, failed: str = "") -> None:
        """The series has ended: close its file, then say so."""
        writer, self._writer = self._writer, None
        began, frames_before = self._burst
        last_frame_at = began if self._frames != frames_before else self._last_frame_at
        self._regions.drain()
        self._step_regions(series)
        if writer is not None:
            close_began = self._clock()
            failed = self._files.end(writer, outcome, failed)
            self._times.stages["close"].observe(self._clock() - close_began)
            self._flushed_bytes = self._bytes
        self._forwarder.end(series.end or SeriesEnd(reason="fault", message=outcome.reason))
        self._last_frame.finalize()
        counts = series.account.counts()
        self._regions.end(counts.planned or 0)
        self._lost.update({kind: getattr(counts, kind) for kind in LOSSES})
        if counts.received:
            self._times.idle.observe(self._clock() - last_frame_at)
        complete = outcome.complete and not failed
        self._shown.end(series.account, complete=complete, reason=failed or outcome.reason)
        if failed:
            self.machine.handle(Event.FAIL, failed)
        else:
            where = "live only" if writer is None else writer.path
            self.machine.handle(Event.FINISH, f"{where}: {outcome.reason}{of_series(series.id)}")

    def _step_regions(self, series: RunningSeries) -> None:
        for sentence in self._regions.step(series.account.gap_start):
            self.bad_message(sentence)

    def not_taken(self, header: Header, error: Exception) -> None:
        """A series could not be begun: it is shown as the last one. Where its start message is at fault, and
        not this side, that is no Error: the status says why it was refused."""
        self._shown.not_taken(header, str(error))
        self._latest = None
        if isinstance(error, StinsError):
            self._bad.refused = str(error)

    def bad_message(self, error: StinsError) -> None:
        """Count a bad message by its kind, and log the first few."""
        self._bad.take(error)

    def _log_stall(self, consumers: str) -> None:
        """Once a series: a consumer at its limit holds up many times a second."""
        series = self._shown.id
        if series != self._stall_logged:
            self._stall_logged = series
            name, where = self.machine.name, self._shown.filename or "live only"
            log.warning("%s: %s waits for consumer %s%s", name, where, consumers, of_series(series))
