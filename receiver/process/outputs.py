"""The outputs of the collector: file, consumers, live view, regions of interest, status."""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence

import msgspec

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.config.rectangles import Rectangle
from penstock.receiver.files.contents import nexus
from penstock.receiver.files.contents.nexus import WHOLE
from penstock.receiver.files.recovery.recover import Recovered, Resumable
from penstock.receiver.files.series_files import SeriesFiles
from penstock.receiver.files.writer import SeriesWriter
from penstock.receiver.forward.forwarder import Forwarder
from penstock.receiver.live.last_frame import LastFrame
from penstock.receiver.live.requested_frame import RequestedFrames
from penstock.receiver.models import FrameStatus
from penstock.receiver.process.stage_times import LOSSES, StageTimes
from penstock.receiver.process.states import Event, State, StateMachine
from penstock.receiver.process.status_view import StatusView
from penstock.receiver.regions import memory as region_memory
from penstock.receiver.regions.memory import RegionMemory
from penstock.receiver.regions.series import RegionSeries
from penstock.receiver.regions.threads import RegionThreads
from penstock.receiver.series.running_series import Outcome, RunningSeries
from penstock.receiver.transforms.joined import JoinedFrame
from penstock.receiver.validity.frames import WITH_DATA
from penstock.stins import metadata
from penstock.stins.errors import RemoteError, StinsError
from penstock.stins.messages import Frame, Header, SeriesEnd
from penstock.stins.metadata import MOST_KEYS
from penstock.stins.texts import of_series, plural

log = logging.getLogger(__name__)

LOGGED_PER_KIND = 5
"""Number of bad messages of one kind that are logged; more are only counted."""


def many_keys(name: str, series: str) -> RemoteError:
    """Return the error to be counted for metadata of too many keys, with which a series is taken.

    Args:
        name: name of the series for people.
        series: its id.
    """
    return RemoteError(
        "unusable_metadata",
        f"{name}: the metadata have more than {MOST_KEYS:,} keys; they are kept whole, as one JSON text "
        f"(`{WHOLE}` of the detector's group); send fewer, or lists of numbers{of_series(series)}",
    )


class BadMessages:
    """The messages to one receiver that violate the protocol.

    Args:
        name: name of the receiver, for the log.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.counts: Counter[str] = Counter()
        """Counts by kind, including the kinds of errors that ended a series in Error."""
        self.last = ""
        """Kind and sentence of the last bad message."""
        self.refused = ""
        """Why the last start message was refused; cleared when a series begins. This is no Error: otherwise
        anybody who can connect could keep the receiver from taking series."""

    def take(self, error: StinsError) -> None:
        """Count a bad message, and log it if it is one of the first of its kind."""
        self.counts[error.kind] += 1
        self.last = f"{error.kind}: {error}"
        count = self.counts[error.kind]
        if count <= LOGGED_PER_KIND:
            more = "; more of this kind are only counted" if count == LOGGED_PER_KIND else ""
            log.warning("%s: bad message, %s%s", self._name, self.last, more)


MOST_LIVE_BYTES = 2**16
"""Largest frame that is entered together with others without a file: what consumers and live view get of a
larger one should not wait for the next."""
HAS_VALUES = (FrameStatus.STORED, FrameStatus.DELIVERED, FrameStatus.PARTIAL)
"""Statuses of a frame whose regions of interest have values."""


class Outputs:
    """The collector's sink: it hands each series to all outputs.

    Args:
        name: name of the receiver; also of its NXdetector group unless configured.
        config: configuration of the receiver.
        last_frame: shared memory for the newest frame.
        requested_frame: shared memory for a frame requested by its index.
        clock: monotonic seconds; injected in tests.
        rois: shared memory for the values of regions of interest.
    """

    def __init__(
        self,
        name: str,
        config: ReceiverConfig,
        last_frame: LastFrame,
        requested_frame: LastFrame,
        clock: Callable[[], float],
        rois: RegionMemory | None = None,
    ) -> None:
        self.machine = StateMachine(name)
        self.bad = BadMessages(name)
        self.times = StageTimes(clock)
        self.forwarder = Forwarder(config.forward, name)
        self.requested = RequestedFrames(requested_frame, clock)
        self.view = StatusView(config, config.detector or name)
        self.regions = RegionThreads(rois or RegionMemory(region_memory.create()), config.workers)
        self.last_frame = last_frame
        self.writer: SeriesWriter | None = None
        """Writer of the running series; `None` without one, or if nothing is written."""
        self.latest: int | None = None
        """Index of the latest frame of the series."""
        self.frames = self.nbytes = 0
        """Number of sound frames since the start, and of the bytes of their blobs."""
        self.lost: Counter[str] = Counter(dict.fromkeys(LOSSES, 0))
        self._clock = clock
        self._files = SeriesFiles(name, config)
        self._flush_seconds = config.flush_seconds
        self._flush_due = 0.0
        self._flushed_bytes = 0  # `nbytes` at the last flush
        self._burst_began = 0.0
        self._last_frame_at: float | None = None  # of the series; `None` if this process has received none
        self._frames_before = 0  # `frames` when the burst of messages, or the series in it, began

    # -- the collector's sink ------------------------------------------------------------------

    def begin(self, series: RunningSeries) -> None:
        """Begin a series: its file is created before the state is Running."""
        header, before = series.header, series.resumed
        rois, known, times = (
            (self.regions.rois, None, None) if before is None
            else (before.rois, before.roi_values, before.times)
        )  # fmt: skip
        series.rois = RegionSeries(series.id, rois, series.metadata, header.channels or (), known, times)
        self.writer, path, started = self._files.begin(series)
        header = series.header
        if self.writer is not None:
            series.rois.to_write = deque()
        self.regions.begin(series.rois)
        self._flush_due = self._clock() + self._flush_seconds
        self._flushed_bytes = self.nbytes
        if not header.series:  # by the receiver's id a consumer can ask for it
            header = msgspec.structs.replace(header, series=series.id)
        self.forwarder.begin(header, series.metadata, series.sent_part, resumed=before is not None)
        channels = nexus.channel_names(header.channels or ())
        self.last_frame.begin(series.metadata, channels)
        self.requested.begin(series, channels)
        self.latest = None
        self._last_frame_at, self._frames_before = None, self.frames
        self.bad.refused = ""
        self.view.begin(series, path, started)
        what = f"{path or 'live only'}, {plural(header.frames, 'frame')}{of_series(series.id)}"
        self.machine.fire(Event.BEGIN, what)
        if self.writer is not None and before is None and metadata.has_many_keys(series.described):
            self.bad_message(many_keys(series.name, series.id))

    def frame(self, series: RunningSeries, index: int, frame: Frame, status: FrameStatus) -> None:
        """Hand a sound frame to the file, the consumers and the live view."""
        times = self.times
        if timed := times.on:
            times.lap("check")
        if self.writer is not None and status in WITH_DATA:
            self.writer.add(index, frame)
            if timed:
                times.lap("write")
                times.stored(frame.image.timestamp)
        if self.regions.active is not None and status in HAS_VALUES:
            self.regions.offer(index, frame)
        self.forwarder.frame(index, frame)
        if timed:
            times.lap("forward")
        self.last_frame.offer(series.id, index, frame, status)
        if self.latest is None:
            self.view.first_frame(series, frame.image.shape, frame.image.type)
            self.requested.first_frame(frame)
        self.latest = index
        self.frames += 1
        self.nbytes += sum(map(len, frame.blobs))

    @property
    def most_run_bytes(self) -> int:
        """See `Sink.most_run_bytes`."""
        if self.regions.active is not None or not self.forwarder.takes_runs:
            return 0
        return MOST_LIVE_BYTES if self.writer is None else self.writer.most_run_bytes

    def frame_run(
        self, series: RunningSeries, first: int, frames: Sequence[Frame], status: FrameStatus
    ) -> None:
        """Hand consecutive plain frames to file, consumers and live view; see `Sink.frame_run`."""
        if self.writer is not None and status in WITH_DATA:
            began = self._clock()
            self.writer.add_run(first, frames)
            self.times.wrote_run(self._clock() - began, len(frames))
        self.forwarder.frame_run(first, frames)
        last = self.latest = first + len(frames) - 1
        self.last_frame.offer(series.id, last, frames[-1], status)
        self.frames += len(frames)
        self.nbytes += len(frames) * len(frames[0].blobs[0])

    def late_modules(self, series: RunningSeries, index: int, frame: Frame) -> None:
        """Write modules that arrived after their frame; consumers and live view already have the frame."""
        assert isinstance(frame, JoinedFrame)
        if series.writes and self.writer is not None and not frame.image.discard:
            self.writer.complete(index, frame)

    def end(self, series: RunningSeries, outcome: Outcome, failed: str = "") -> None:
        """End the series: close its file, then change the state."""
        writer, self.writer = self.writer, None
        last_frame_at = self._burst_began if self.frames != self._frames_before else self._last_frame_at
        self.regions.drain()
        self._step_regions(series)
        if writer is not None:
            close_began = self._clock()
            failed = self._files.end(writer, outcome, failed)
            self.times.stages["close"].observe(self._clock() - close_began)
            self._flushed_bytes = self.nbytes
        if self.forwarder.consumers:
            end = series.end or SeriesEnd(reason="fault", message=failed or outcome.reason)
            self.forwarder.end(msgspec.structs.replace(end, absent=series.account.absent()))
        self.last_frame.finalize()
        counts = series.account.counts()
        self.regions.end(series.account.highest + 1)
        self.lost.update({kind: getattr(counts, kind) for kind in LOSSES})
        if last_frame_at is not None:
            self.times.idle.observe(self._clock() - last_frame_at)
        complete = outcome.complete and not failed
        self.view.end(series.account, complete=complete, reason=failed or outcome.reason)
        if failed:
            self.machine.fire(Event.FAIL, failed)
        else:
            where = "live only" if writer is None else writer.path
            self.machine.fire(Event.FINISH, f"{where}: {outcome.reason}{of_series(series.id)}")

    def not_taken(self, header: Header, error: Exception) -> None:
        """Show a series that could not begin. If its start message is at fault, and not the receiver, this is
        no Error: the status says why it was refused."""
        self.view.not_taken(header, str(error))
        self.requested.forget()
        self.latest = None
        if isinstance(error, StinsError):
            self.bad.refused = str(error)

    def not_taken_frame(self) -> None:
        """Count a dropped frame of the series that could not begin last."""
        self.lost["dropped"] += 1
        self.view.not_taken_frame()

    def not_taken_end(self) -> None:
        """Enter the number of dropped frames of that series into the history."""
        self.view.not_taken_end()

    def refuse(self, error: StinsError) -> None:
        """Count a bad message, because of which others are dropped until the next series begins."""
        self.bad.take(error)
        self.bad.refused = str(error)

    def bad_message(self, error: StinsError) -> None:
        """Count a bad message by its kind, and log the first few."""
        self.bad.take(error)

    # -- the loop ------------------------------------------------------------------------------

    def begin_burst(self, now: float) -> None:
        """Note the beginning of a burst of messages, after a wait."""
        self.times.begin(now, self.frames)
        self._burst_began, self._frames_before = now, self.frames

    def end_burst(self) -> None:
        """Note the end of a burst of messages."""
        if self.frames != self._frames_before:
            self._last_frame_at = self._clock()

    def step(self, series: RunningSeries | None, now: float) -> None:
        """Do what is due in each turn."""
        if series is not None:
            self._step_regions(series)
        self.last_frame.step(now)
        self.forwarder.step()

    def hand_over(self) -> None:
        """Hand the threads of several files what is complete: before the loop waits for messages, and every
        few milliseconds of a long turn."""
        if self.writer is not None:
            self.writer.hand_over()

    def flush_if_due(self, now: float) -> None:
        """Flush the file of the running series every `flush_seconds`.

        Raises:
            WriterError: it cannot be written.
        """
        if self.writer is not None and now >= self._flush_due:
            self._flush(self.writer, now)

    def _flush(self, writer: SeriesWriter, now: float) -> None:
        began = self._clock()
        self._flush_due = now + self._flush_seconds
        self._flushed_bytes = self.nbytes
        self.regions.drain()  # so that frames that survive a kill have their values
        try:
            writer.flush()
        finally:
            self.times.stages["flush"].observe(self._clock() - began)

    def _step_regions(self, series: RunningSeries) -> None:
        for error in self.regions.step(series.account.gap_start):
            self.bad_message(error)

    @property
    def unflushed_bytes(self) -> int:
        """Bytes of frames received since the last flush, which a kill would lose."""
        return self.nbytes - self._flushed_bytes if self.writer is not None else 0

    def fail(self, why: str) -> None:
        """Go to Error without a series."""
        if self.machine.state is not State.ERROR:
            self.machine.fire(Event.FAIL, why)

    def use_rois(self, rois: Mapping[str, Rectangle]) -> None:
        """Use these regions of interest in every series that begins from now on."""
        self.regions.rois = rois
        self.view.config = msgspec.structs.replace(self.view.config, rois=dict(rois))

    # -- recovery ------------------------------------------------------------------------------

    def recover(self) -> Resumable | None:
        """Recover files that an earlier process left open; return the series to be resumed, if any."""
        recovered: Recovered = self._files.recover()
        self.view.recovered(recovered)
        return recovered.resumable

    def recovered(self, failed: str) -> None:
        """Finish the recovery: the series was resumed, or could not be, for this reason."""
        self.view.recovered(self._files.finalize(failed))

    def why_not_resumable(self) -> str:
        """Return why the next start could not resume the running series; "" if it could."""
        return "nothing is written" if self.writer is None else self._files.why_not_resumable()

    def leave(self, *, asked: bool) -> None:
        """Flush the running series for the next start to resume: then this process ends as if it were killed.

        Args:
            asked: the receiver was asked to end, and not killed.

        Raises:
            WriterError: it cannot be written.
        """
        assert self.writer is not None
        self._flush(self.writer, self._clock())
        if asked:
            self._files.leave()
        self.forwarder.leave()

    def close(self) -> None:
        """Release everything."""
        self.view.not_taken_end()
        self.forwarder.close()
        self.regions.close()
