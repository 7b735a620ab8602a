"""A collector, behind several sockets with its reorder buffer, between a test's messages and a memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.connection.reorder_buffer import ReorderBuffer
from penstock.receiver.files.refusals import StorageError
from penstock.receiver.models import Counts, FrameStatus
from penstock.receiver.series.collector import Collector
from penstock.receiver.series.frame_entry import FrameEntry
from penstock.receiver.series.running_series import Outcome, RunningSeries
from penstock.receiver.transforms.frame_processor import FrameProcessor
from penstock.stins.errors import StinsError
from penstock.stins.messages import Frame, Header, Message, SeriesEnd, Start
from tests.streams import image, pixels

DAY = 86_400.0
STORED, DELIVERED = FrameStatus.STORED, FrameStatus.DELIVERED


class Sink:
    """Remembers what it was told; `refuses` is raised at the next begin."""

    def __init__(self) -> None:
        self.begun: list[RunningSeries] = []
        self.frames: list[tuple[str, int, FrameStatus]] = []
        self.ended: list[tuple[RunningSeries, Outcome]] = []
        self.failed: list[bool] = []
        """Of each series that has ended."""
        self.errors: list[str] = []
        self.sentences: list[str] = []
        self.refusals: list[str] = []
        self.refuses: Exception | None = None
        self.refused: list[tuple[str | None, str]] = []
        self.most_run_bytes = 2**30
        self.fails_at: int | None = None
        """Index of the frame that cannot be stored."""
        self.runs: list[int] = []
        """Number of frames in each run."""
        self.dropped = 0
        self.dropped_at_end: list[int] = []
        """Number of frames dropped up to each end message of a series that was not taken."""

    def begin(self, series: RunningSeries) -> None:
        if self.refuses is not None:
            refuses, self.refuses = self.refuses, None
            raise refuses
        self.begun.append(series)

    def frame(self, series: RunningSeries, index: int, frame: Frame, status: FrameStatus) -> None:
        if index == self.fails_at:
            raise StorageError("disk_full", "the disk is full")
        self.frames.append((series.id, index, status))

    def frame_run(
        self, series: RunningSeries, first: int, frames: Sequence[Frame], status: FrameStatus
    ) -> None:
        if self.fails_at in range(first, first + len(frames)):
            raise StorageError("disk_full", "the disk is full")
        self.runs.append(len(frames))
        self.frames += [(series.id, index, status) for index in range(first, first + len(frames))]

    def late_modules(self, series: RunningSeries, index: int, frame: Frame) -> None:
        raise AssertionError("there are no modules")

    def end(self, series: RunningSeries, outcome: Outcome, failed: str = "") -> None:
        self.ended.append((series, outcome))
        self.failed.append(bool(failed))

    def not_taken(self, header: Header, error: Exception) -> None:
        self.refused.append((header.series, str(error)))

    def not_taken_frame(self) -> None:
        self.dropped += 1

    def not_taken_end(self) -> None:
        self.dropped_at_end.append(self.dropped)

    def refuse(self, error: StinsError) -> None:
        self.bad_message(error)
        self.refusals.append(str(error))

    def bad_message(self, error: StinsError) -> None:
        self.errors.append(error.kind)
        self.sentences.append(str(error))

    @property
    def indices(self) -> list[int]:
        """Indices of the frames, in the order in which they came."""
        return [index for _, index, _ in self.frames]

    @property
    def counts(self) -> Counts:
        """Counts of the series that ended last."""
        return self.ended[-1][0].account.counts()

    @property
    def outcome(self) -> Outcome:
        """Outcome of the series that ended last."""
        return self.ended[-1][1]


class Bench:
    """A collector, its sink, and its clock.

    Args:
        keys: of the configuration entry, with those of `source` in `source`.
    """

    def __init__(self, **keys: Any) -> None:
        source = {"endpoints": ["tcp://127.0.0.1:1"], **keys.pop("source", {})}
        config = msgspec.convert({"data_root": "/", "source": source, **keys}, ReceiverConfig)
        self.sink = Sink()
        entry = FrameEntry(self.sink, FrameProcessor(), config.source.frame_origin)
        self.collector = Collector(config, self.sink, entry)
        sockets = config.source.sockets
        self.buffer = (
            ReorderBuffer(config.gap.seconds, config.hold_mb * 1e6, sockets) if sockets > 1 else None
        )
        self.now = 1000.0
        self.connections = 1

    def say(self, *messages: Message) -> None:
        """Messages arrive, now, in one turn of the loop."""
        for message in messages:
            self.collector.on_message(self.now)
            if self.buffer is None:
                if self.collector.gather(message):
                    continue
                self.collector.settle()
            for ready in [message] if self.buffer is None else self.buffer.put(message, 0, self.now):
                self.collector.handle(ready, self.now)
            self._release()
        self.collector.pause()

    def _release(self) -> None:
        while self.buffer is not None and (ready := self.buffer.release(self.now)) is not None:
            self.collector.handle(ready, self.now)

    def wait(self, seconds: float, steps: int = 20) -> None:
        """Let the clock run for so long."""
        for _ in range(steps):
            self.now += seconds / steps
            self._release()
            self.collector.tick(self.now, self.connections)

    def lose(self) -> None:
        """The connection is lost."""
        self.connections = 0

    def reconnect(self) -> None:
        """It is made again, now that everything that came over it has been handled."""
        for ready in [] if self.buffer is None else self.buffer.end_session():
            self.collector.handle(ready, self.now)
        self.collector.on_reconnect()
        self.connections = 1

    def stop(self, cause: str) -> None:
        """Somebody stops the series."""
        for ready in [] if self.buffer is None else self.buffer.flush():
            self.collector.handle(ready, self.now)
        self.collector.stop(cause)

    @property
    def running(self) -> bool:
        """Whether a series runs."""
        return self.collector.series is not None


def start(number: int | None = 0, series: str | None = "a", **keys: Any) -> Start:
    """A start message."""
    metadata = keys.pop("metadata", {})
    return Start(Header(filename="/x.h5", msg_number=number, series=series, **keys), metadata)


def frame(number: int | None, message: int | None = None, series: str | None = "a", **keys: Any) -> Frame:
    """A sound frame of 4 × 6 pixels."""
    array = pixels(number or 0)
    head = image(number, array, msg_number=message, series=series, **keys)
    return Frame(head, [array.tobytes()])


def corrupt(number: int, series: str | None = "a", message: int | None = None) -> Frame:
    """A frame whose blob was cut."""
    return Frame(image(number, pixels(number), msg_number=message, series=series), [b"cut"])


def end(number: int | None = None, series: str | None = "a", **keys: Any) -> SeriesEnd:
    """An end message."""
    return SeriesEnd(msg_number=number, series=series, **keys)
