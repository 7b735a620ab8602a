"""The data process: one loop from the sockets to the file.

Source, worker, collector and sinks are functions called in turn; nothing is queued between them.
Commands come, and snapshots go, over one socket pair to the HTTP process, which is the parent. If
the parent dies, the running series is left to the next start, or closed if it could not go on, and the
process ends; if this process dies, the parent says so.

Started by `service.DataProcess`, never by hand:
python -m penstock.receiver.pipeline CONTROL_FD LAST_FRAME_FD ASKED_FRAME_FD
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec

from penstock.receiver import memory, nexus, recovery, storage, stores
from penstock.receiver.account import IN_FILE, FrameStatus
from penstock.receiver.asked_frame import AskedFrames, FrameAnswer
from penstock.receiver.collector import Collector, GapError
from penstock.receiver.config import ReceiverConfig
from penstock.receiver.forwarder import Forwarder
from penstock.receiver.ingest import Ingest
from penstock.receiver.journal import Journal
from penstock.receiver.last_frame import LastFrame
from penstock.receiver.memory import Budget
from penstock.receiver.models import ConsumerStatus, Counts, Series, Status
from penstock.receiver.recovery import GoesOn
from penstock.receiver.series import Outcome, RunningSeries, TakenUp
from penstock.receiver.sources import create
from penstock.receiver.stage_times import LOSSES, Measures, StageTimes
from penstock.receiver.states import Event, State, StateMachine
from penstock.receiver.storage import StorageError
from penstock.receiver.transforms.ahead import Ahead
from penstock.receiver.transforms.chain import Chain
from penstock.receiver.transforms.format import TransformError
from penstock.receiver.worker import Worker
from penstock.receiver.writer import SeriesWriter, WriterError
from penstock.stins.errors import StinsError
from penstock.stins.messages import Frame, Message, SeriesEnd

log = logging.getLogger("penstock.receiver.pipeline")  # run with -m, so that __name__ is __main__

TICK = 0.05
"""Seconds between two looks at clocks, connections and commands."""
BURST_SECONDS = 0.1
"""The same while frames keep coming: those of 100 MB, or a slow disk, take their time. A process that says
nothing for seconds is taken for hanging, and the live view gets a frame between two bursts."""
HEARTBEAT = 0.5
"""A snapshot goes out at least so often, so that the parent sees a hanging process."""
LOGGED_PER_KIND = 5
"""Bad messages of one kind that are logged each; the rest is only counted."""

REFUSALS = ("over_memory",)
"""Of start messages that are sound, but ask for more than the configuration allows. No Error: whoever can
connect could send such messages, and would keep the receiver from taking any series."""
GONE = "the receiver's HTTP process is gone"

FAULTS = (WriterError, StorageError, GapError, TransformError)
"""What ends a series in Error."""


class Setup(msgspec.Struct, frozen=True):
    """First message of the parent."""

    name: str
    config: ReceiverConfig


class Command(msgspec.Struct, frozen=True):
    """What the parent asks."""

    number: int
    """Commands are numbered; a snapshot says which was the last to be carried out."""
    action: str
    """"stop", "reset", "quit", "leave" (nobody is there who could ask any more), or "frame": this one is
    numbered apart, and answered for itself."""
    reason: str = ""
    index: int = -1
    """Of the frame that is asked for."""


class Snapshot(msgspec.Struct, frozen=True):
    """What the parent is told."""

    status: Status
    handled: int
    """Number of the last command that was carried out."""
    answer: FrameAnswer = FrameAnswer(0)
    """To the latest request for a frame."""
    measures: Measures = Measures()


class Pipeline:
    """Everything that a frame meets between socket and file.

    Args:
        name: of the receiver; also its NXdetector group unless configured.
        config: the receiver's configuration.
        last_frame: where the live view looks.
        asked_frame: where it finds a frame that it asked for by its index.
        clock: monotonic seconds; injected in tests.
    """

    def __init__(
        self,
        name: str,
        config: ReceiverConfig,
        last_frame: LastFrame,
        asked_frame: LastFrame,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.machine = StateMachine(name)
        self.ingest, self._worker, self._collector = self._stages(config)
        self._config = config
        self._detector = config.detector or name
        self._clock = clock
        self._source = create(config.source.type)
        self._ahead = Ahead(self._worker, config.workers) if self._worker.parallel else None
        self._last_frame = last_frame
        self.asked = AskedFrames(asked_frame, clock)
        self._forwarder = Forwarder(config.forward)
        self._writer: SeriesWriter | None = None
        self._writing = replace(
            stores.writing(config.writers, int(config.write_queue_mb * 1e6), config.write_with),
            frames_per_file=config.frames_per_file,
            swmr=config.swmr,
            late_seconds=config.gap.seconds,
            space_seconds=config.preallocate_seconds,
        )
        self._journal = Journal(name, config)
        self._goes_on: GoesOn | None = None
        self._flush_due = 0.0
        self._held_back = 0.0  # seconds for which consumers have held the streamer back
        self._errors: Counter[str] = Counter()
        self._last_error = self._refused = ""
        self._drained = 0
        self._times = StageTimes(clock)
        self._lost: Counter[str] = Counter(dict.fromkeys(LOSSES, 0))
        self._frames = self._bytes = 0
        self._flushed_bytes = 0  # of `_bytes`, those that came before the last flush
        self._burst = (0.0, 0)  # when the running, or last, burst of messages began, and `_frames` then
        self._last_frame_at = 0.0  # end of the last burst that had frames
        self._rates = (0.0, 0.0)
        self._rates_from = (clock(), 0, 0)
        self._shown: Series | None = None
        self._stall_logged = ""
        self._counts = Counts()
        self._latest: int | None = None

    def _stages(self, config: ReceiverConfig) -> tuple[Ingest, Worker, Collector]:
        budget = Budget(self.machine.name, config)
        chain = Chain(config.transforms, budget) if config.transforms else None
        worker = Worker(chain, config.workers, budget)
        return Ingest(config.source), worker, Collector(config, self, worker)

    def recover(self) -> None:
        """Deal with what an earlier process left open when it was killed; call it once, first."""
        recovered = recovery.recover(self._journal, self._config)
        if recovered.marked:
            self._shown, self._counts = recovered.marked[-1], recovered.counts
        if (goes_on := recovered.goes_on) is not None:
            self._goes_on = goes_on
            now = self._clock() - self._held_back
            self._guarded(lambda: self._collector.take_up(goes_on.start, goes_on.taken_up, now))
            goes_on.left.settle()  # there is a new entry by now
            self._goes_on = None

    # -- the loop ------------------------------------------------------------------------------

    def step(self, seconds: float) -> None:
        """Wait at most so long, take what has arrived, let the clocks run."""
        stalled, began = bool(self._forwarder.stalled_by), self._clock()
        self.ingest.wait(seconds, writable=self._forwarder.waiting(), paused=stalled)
        now = self._clock()
        if stalled:
            self._held_back += now - began
        else:
            self._take(now)
        for error in self.ingest.reopen():
            self.bad_message(error)
        connections = sum(item.connections for item in self.ingest.connections())
        self._guarded(lambda: self._collector.tick(now - self._held_back, connections))
        if self._writer is not None and now >= self._flush_due:
            self._flush(self._writer, now)
        self._last_frame.step(now)
        self._forwarder.step()

    def _flush(self, writer: SeriesWriter, now: float) -> None:
        began = self._clock()
        self._guarded(writer.flush)
        self._times.stages["flush"].observe(self._clock() - began)
        self._flush_due = now + self._config.flush_seconds
        self._flushed_bytes = self._bytes

    def stop(self, reason: str) -> None:
        """End the running series, if there is one."""
        self._guarded(lambda: self._collector.stop(reason, self._clock() - self._held_back))

    def reset(self) -> None:
        """Leave Error; in Running nothing happens, stop the series first."""
        self._refused = ""
        if self.machine.state is not State.RUNNING:
            self.machine.handle(Event.RESET, "reset requested")

    def answer_asked(self) -> bool:
        """Look for the frame that somebody asks for; says whether there is an answer now."""
        return self.asked.step(self._collector.series, self._writer)

    def leave(self) -> bool:
        """Hand the running series to the kernel, for the next start to go on with; whether that can be.

        It can be as long as the journal names it: then this process has to end as if it were killed.
        """
        if (writer := self._writer) is None or not self._journal.goes_on(self._config):
            return False
        self._flush(writer, self._clock())
        return self._writer is writer

    def close(self, reason: str = "the receiver was shut down") -> None:
        """End what runs and let go of everything."""
        self.stop(reason)
        self._forwarder.close()
        self.ingest.close()
        self._worker.close()
        self._writing.close()

    def status(self, version: int) -> Status:
        """A snapshot of everything."""
        now = self._clock()
        since, frames, nbytes = self._rates_from
        if now - since >= 1.0:
            self._rates = ((self._frames - frames) / (now - since), (self._bytes - nbytes) / (now - since))
            self._rates_from = (now, self._frames, self._bytes)
        running = self._collector.series
        if running is not None:
            self._counts = running.account.counts()
        times = os.times()
        shown = self._shown
        if shown is not None and running is not None and running.unconfirmed:
            reason = "the receiver was restarted within the series and waits for what comes of it"
            shown = replace(shown, unconfirmed=True, reason=reason)
        if shown is not None and (stalled_by := self._forwarder.stalled_by):
            reason = f"waits for consumer {stalled_by} (when_full: block); does it read?"
            shown = replace(shown, reason=reason)
        return Status(
            state=self.machine.state.value, error=self.machine.error, detector=self._detector,
            version=version, series=shown, counts=self._counts,
            connections=self.ingest.connections(), consumers=self._consumers(),
            errors=dict(self._errors), last_error=self._last_error, refused=self._refused,
            drained=self._drained + self._collector.drained, frame_rate=self._rates[0],
            byte_rate=self._rates[1], latest_frame=self._latest, cpu_seconds=times.user + times.system,
        )  # fmt: skip

    def measures(self) -> Measures:
        """What was counted and measured since the start, for Prometheus."""
        times = self._times
        return Measures(
            frames=self._frames, nbytes=self._bytes, lost=dict(self._lost),
            queues={
                "held": self._collector.held_bytes,
                "transforms": self._ahead.nbytes if self._ahead is not None else 0,
                "writers": self._writer.waiting_bytes if self._writer is not None else 0,
                "unflushed": self._bytes - self._flushed_bytes if self._writer is not None else 0,
            },
            stages=times.stages, latency=times.latency, idle=times.idle, stamps_ahead=times.stamps_ahead,
        )  # fmt: skip

    def _take(self, now: float) -> None:
        # The collector's clock stands still while a consumer holds the streamer back: what waits on the wire
        # meanwhile is neither late nor missing.
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
        if self._ahead is not None:
            for message in self._ahead.drain():
                self._turn(message, at)
        if self._frames != self._burst[1]:
            self._last_frame_at = self._clock()

    def _receive(self, parts: list[memoryview], now: float) -> None:
        if self.machine.state is State.ERROR:
            self._drained += 1  # keeps the sockets empty, so that no stale frame waits for the next series
            return
        times = self._times
        if times.on:
            times.lap("receive")
        try:
            message = self._source.decode(parts)
            if times.on:
                times.lap("decode")
            if self._ahead is None and not isinstance(message, tuple):
                self._collector.handle(message, now)
                return
        except StinsError as error:
            self.bad_message(error)
        except FAULTS as error:
            self._fail(error)
        else:
            for each in message if isinstance(message, tuple) else (message,):
                if self._ahead is None:
                    self._turn(each, now)
                    continue
                for ready in self._ahead.push(each, self._collector.series is not None):
                    self._turn(ready, now)

    def _turn(self, message: Message, now: float) -> None:
        """A message's turn, at once or after it has waited while threads transformed its frame."""
        if self.machine.state is State.ERROR:
            self._drained += 1
        else:
            self._guarded(lambda: self._collector.handle(message, now))
        if isinstance(message, Frame):
            self._worker.forget(message)

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
        self._errors[error.kind] += 1
        series = self._collector.series
        if series is not None:
            self.end(series, series.close(sentence), failed=sentence)
        elif self.machine.state is not State.ERROR:
            self.machine.handle(Event.FAIL, sentence)
        self._collector.forget()

    # -- the collector's sink ------------------------------------------------------------------

    def begin(self, series: RunningSeries) -> None:
        """A series begins: its file is created before the state says Running."""
        if series.taken_up is not None:
            self._begin_again(series, series.taken_up)
            return
        header = series.header
        filename = header.filename
        if filename is None and self._config.filename_template:
            name = self._config.template_name(self._detector, series.id)
            filename = os.path.join(self._config.data_root, name)
        if filename:
            series.header = header = msgspec.structs.replace(header, filename=filename)
        path, started = None, time.time()
        if series.writes and filename:
            path = storage.resolve(self._config, filename)
            nbytes = header.frame_bytes * header.frames if header.frame_bytes and header.frames else None
            storage.check(
                path, overwrite=header.overwrite, nbytes=nbytes,
                min_free=int(self._config.min_free_mb * 1e6), writers=self._config.writers,
            )  # fmt: skip
            if len(header.shape or ()) <= 2:  # frames of several images have no segments
                storage.check_segments(header.frames, self._config.frames_per_file)
            source = f"{self._config.source.type} from {', '.join(self._config.source.endpoints)}"
            enter = partial(self._journal.enter, path, series, started)
            try:
                self._writer = SeriesWriter(path, self._detector, series, source, self._writing, begun=enter)
            except (WriterError, StorageError):
                self._journal.close()
                raise
        self._begun(series, path, started)

    def _begin_again(self, series: RunningSeries, taken_up: TakenUp) -> None:
        assert self._goes_on is not None
        path = Path(taken_up.filename)
        self._writer = SeriesWriter(
            path, self._detector, series, "", self._writing, found=self._goes_on.found
        )
        self._journal.enter(path, series, taken_up.started)
        self._begun(series, path, taken_up.started)

    def _begun(self, series: RunningSeries, path: Path | None, started: float) -> None:
        header = series.header
        self._flush_due = self._clock() + self._config.flush_seconds
        self._flushed_bytes = self._bytes
        self._forwarder.begin(header, series.metadata)
        channels = nexus.channel_names(series.header.channels or ())
        self._last_frame.begin(series.metadata, channels)
        self.asked.begin(series.metadata, channels)
        self._latest = None
        self._refused = ""
        self._shown = Series(
            id=series.id,
            filename=str(path) if path else None,
            active=True,
            started=started,
            memory_bytes=memory.announced(self._config, series.sent.header, header),
            checksum=series.checksum,
            restarts=len(series.interruptions),
        )
        planned = "an unknown number of" if header.frames is None else header.frames
        self.machine.handle(Event.BEGIN, f"series {series.id}, {planned} frames, {path or 'live only'}")

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
        self._forwarder.frame(index, frame)
        if timed:
            times.lap("forward")
        self._last_frame.offer(series.id, index, frame)
        self._latest = index
        self._frames += 1
        self._bytes += sum(map(len, frame.blobs))

    def end(self, series: RunningSeries, outcome: Outcome, failed: str = "") -> None:
        """The series has ended: close its file, then say so."""
        writer, self._writer = self._writer, None
        began, frames_before = self._burst
        last_frame_at = began if self._frames != frames_before else self._last_frame_at
        if writer is not None:
            close_began = self._clock()
            try:
                writer.close(
                    outcome,
                    pad=self._config.gap.policy == "pad",
                    synced=self._config.durability == "synced",
                )
            except WriterError as error:
                failed = failed or str(error)
                self._journal.keep(failed)
            self._journal.close()
            self._times.stages["close"].observe(self._clock() - close_began)
            self._flushed_bytes = self._bytes
        self._forwarder.end(series.end or SeriesEnd(reason="fault", message=outcome.reason))
        self._last_frame.settle()
        self._counts = series.account.counts()
        self._lost.update({kind: getattr(self._counts, kind) for kind in LOSSES})
        if self._counts.received:
            self._times.idle.observe(self._clock() - last_frame_at)
        assert self._shown is not None
        self._shown = replace(
            self._shown,
            active=False,
            complete=outcome.complete and not failed,
            reason=failed or outcome.reason,
        )
        if failed:
            self.machine.handle(Event.FAIL, failed)
        else:
            self.machine.handle(Event.FINISH, f"series {series.id}: {outcome.reason}")

    def bad_message(self, error: StinsError) -> None:
        """Count a bad message by its kind, and log the first few."""
        self._errors[error.kind] += 1
        self._last_error = f"{error.kind}: {error}"
        if error.kind in REFUSALS and self._collector.series is None:
            self._refused = str(error)
        count = self._errors[error.kind]
        if count <= LOGGED_PER_KIND:
            more = "; more of this kind are only counted" if count == LOGGED_PER_KIND else ""
            log.warning("%s: bad message, %s%s", self.machine.name, self._last_error, more)

    def _consumers(self) -> list[ConsumerStatus]:
        return [
            ConsumerStatus(
                name=consumer.name, endpoint=consumer.endpoint, sent=consumer.sent,
                dropped=consumer.dropped, skipped=consumer.skipped, connected=consumer.peers,
                waiting_bytes=consumer.waiting_bytes, when_full=consumer.when_full, stalls=consumer.stalls,
            )
            for consumer in self._forwarder.consumers
        ]  # fmt: skip

    def _log_stall(self, consumers: str) -> None:
        """Once a series: a consumer at its limit holds up many times a second."""
        if self._shown is not None and self._stall_logged != self._shown.id:
            self._stall_logged = self._shown.id
            log.warning("%s: series %s waits for consumer %s", self.machine.name, self._shown.id, consumers)


class Link:
    """The data process' end of the socket pair to its parent."""

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._told: bytes = b""
        self._told_at = 0.0
        self._version = 0
        self.handled = 0
        self.fileno = self._socket.fileno()

    def setup(self) -> Setup:
        """Name and configuration; waits for them."""
        return msgspec.json.decode(self._socket.recv(2**20), type=Setup)

    def commands(self) -> list[Command]:
        """What the parent has asked meanwhile; "leave" once it is gone."""
        commands: list[Command] = []
        while True:
            try:
                message = self._socket.recv(2**16, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return commands
            except ConnectionError:
                message = b""
            if not message:
                return [*commands, Command(self.handled, "leave", GONE)]
            commands.append(msgspec.json.decode(message, type=Command))

    def tell(self, pipeline: Pipeline, now: float, *, fresh: bool = False) -> None:
        """Send a snapshot if something has changed, or to show that this process lives."""
        status = pipeline.status(0)
        content = msgspec.json.encode(replace(status, cpu_seconds=0.0))
        if not fresh and content == self._told and now - self._told_at < HEARTBEAT:
            return
        if content != self._told:
            self._version += 1
        told = replace(status, version=self._version)
        snapshot = Snapshot(told, self.handled, pipeline.asked.answer, pipeline.measures())
        try:
            self._socket.send(msgspec.json.encode(snapshot), socket.MSG_DONTWAIT)
        except BlockingIOError:
            return  # the parent is slow: it gets the next one
        except ConnectionError:
            return  # `commands` notices
        self._told, self._told_at = content, now


def run(link: Link, last_frame: LastFrame, asked_frame: LastFrame) -> None:
    """Loop until told to quit."""
    setup = link.setup()
    kind = Pipeline
    if setup.config.source.join == "modules":
        from penstock.receiver.modules.pipeline import ModulePipeline

        kind = ModulePipeline
    pipeline = kind(setup.name, setup.config, last_frame, asked_frame)
    pipeline.recover()
    pipeline.ingest.watch(link.fileno)
    state = pipeline.machine.state
    tell_due = 0.0
    why = "the receiver was shut down"
    try:
        while True:
            pipeline.step(TICK)
            fresh = pipeline.machine.state is not state
            for command in link.commands():
                if command.action == "frame":
                    pipeline.asked.ask(command.number, command.index)
                    continue
                fresh = True
                match command.action:
                    case "stop":
                        pipeline.stop(command.reason)
                    case "reset":
                        pipeline.reset()
                    case "quit" | "leave":
                        log.info("%s ends: %s", setup.name, command.reason)
                        why = command.reason
                        if command.action == "leave" and pipeline.leave():
                            log.warning("%s: the next start goes on with the series", setup.name)
                            os._exit(1)  # no file is closed, no consumer told: the series has not ended
                        return
                link.handled = command.number
            fresh = pipeline.answer_asked() or fresh
            state = pipeline.machine.state
            now = time.monotonic()
            if fresh or now >= tell_due:
                link.tell(pipeline, now, fresh=fresh)
                tell_due = now + TICK
    finally:
        pipeline.close(why)
        link.tell(pipeline, time.monotonic(), fresh=True)


def main() -> None:
    """Entry of the data process."""
    control, shared, asked = map(int, sys.argv[1:4])
    logging.basicConfig(
        level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    # The parent gets the terminal's Ctrl-C, and a supervisor's request, which goes to all processes of a
    # service, and tells this process to quit, so that files are closed.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    run(Link(control), LastFrame(shared), LastFrame(asked))


if __name__ == "__main__":
    main()
