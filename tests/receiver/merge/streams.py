"""A merge and its collector between messages that a test makes and a sink that remembers, on its clock."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.connection.events import Cut, Event, Stale
from penstock.receiver.connection.reorder_buffer import held_bytes
from penstock.receiver.merge.merge import Merge
from penstock.receiver.models import FrameStatus
from penstock.receiver.series.collector import Collector
from penstock.receiver.series.module_entry import ModuleEntry
from penstock.receiver.series.running_series import RunningSeries
from penstock.receiver.transforms.joined import JoinedFrame
from penstock.receiver.transforms.module_processor import ModuleProcessor
from penstock.stins.errors import StinsError
from penstock.stins.messages import Frame, Header, Message, SeriesEnd, Start
from tests.receiver.sample_series import Sink
from tests.streams import image, pixels

GAP, HEADERS, GONE = 2.0, 10.0, 3.0


class ModuleSink(Sink):
    """Remembers the joined frames too: what it was given for each index and module."""

    def __init__(self) -> None:
        super().__init__()
        self.blobs: dict[tuple[int, int], bytes] = {}
        self.joined: list[JoinedFrame] = []
        self.late: list[int] = []

    def begin(self, series: RunningSeries) -> None:
        super().begin(series)
        self.blobs.clear()

    def frame(self, series: RunningSeries, index: int, frame: Frame, status: FrameStatus) -> None:
        super().frame(series, index, frame, status)
        assert isinstance(frame, JoinedFrame)
        self.joined.append(frame)
        self._keep(index, frame)

    def late_modules(self, series: RunningSeries, index: int, frame: Frame) -> None:
        assert isinstance(frame, JoinedFrame)
        self.late.append(index)
        self._keep(index, frame)

    def _keep(self, index: int, frame: JoinedFrame) -> None:
        for module, blob in enumerate(frame.blobs):
            if len(blob):
                assert (index, module) not in self.blobs, "a module was stored twice"
                self.blobs[index, module] = bytes(blob)

    def modules(self, frames: int) -> np.ndarray[Any, Any]:
        """Statuses of the modules of the series that ended last, or else of the running one."""
        series = self.ended[-1][0] if self.ended else self.begun[-1]
        assert series.modules is not None
        return series.modules.table(frames)


class ModuleBench:
    """Merge, collector, sink and clock of a detector of three modules.

    Args:
        keys: of the configuration entry, with those of `source` in `source`.
    """

    def __init__(self, modules: int = 3, **keys: Any) -> None:
        source = {
            "endpoints": [f"tcp://m{number}:9010" for number in range(modules)], "join": "modules",
            "join_seconds": HEADERS, **keys.pop("source", {}),
        }  # fmt: skip
        entry = {"data_root": "/", "source": source, "gap": {"seconds": GAP}, "peer_gone": GONE, **keys}
        config = msgspec.convert(entry, ReceiverConfig)
        self.sink = ModuleSink()
        self.worker = ModuleProcessor(config.transforms)
        entry = ModuleEntry(self.sink, self.worker, config)
        self.collector = Collector(config, self.sink, entry, max(2 * GAP, HEADERS))
        self.merge = Merge(
            config.source.endpoints, entry.has, gap=config.gap.seconds,
            within=config.source.join_seconds, gone_after=config.peer_gone, hold=config.hold_mb * 1e6,
            origin=config.source.frame_origin,
        )  # fmt: skip
        self.now = 1000.0
        self.connected = [True] * modules
        self.idle = [True] * modules
        self.unread: list[deque[Message]] = [deque() for _ in range(modules)]

    def say(self, module: int, *messages: Message) -> None:
        """Messages of one module arrive, and are read as far as none is ahead."""
        self.unread[module].extend(messages)
        self.read()

    def read(self) -> None:
        """As the sockets are read."""
        ready = [module for module, queue in enumerate(self.unread) if queue]
        while ready := [
            module for module in ready if self.unread[module] and module not in self.merge.held_back
        ]:
            self.collector.on_message(self.now)
            self.pass_on(self.merge.take(ready[0], self.unread[ready[0]].popleft(), self.now))
            ready = [module for module, queue in enumerate(self.unread) if queue]

    def say_all(self, *messages: Message) -> None:
        """The same messages of every module, in turn."""
        for message in messages:
            for module in range(len(self.connected)):
                self.say(module, message)

    def wait(self, seconds: float, steps: int = 20) -> None:
        """Let the clock run for so long."""
        for _ in range(steps):
            self.now += seconds / steps
            self.pass_on(self.merge.tick(self.now, self.idle, self.connected))
            self.collector.tick(self.now, sum(self.connected))
            self.read()

    def pass_on(self, events: Iterable[Event]) -> None:
        """As the pipeline does it."""
        for event in events:
            if isinstance(event, Stale):
                self.collector.drop(event.count)
            elif isinstance(event, StinsError):
                self.sink.bad_message(event)
            elif isinstance(event, Cut):
                self.collector.stop(event.cause)
            else:
                self.collector.handle(event, self.now)

    @property
    def running(self) -> bool:
        """Whether a series runs."""
        return self.collector.series is not None


def running(frames: int | None = 3, **keys: object) -> ModuleBench:
    """A series has begun."""
    bench = ModuleBench(**keys)
    bench.say_all(start(frames=frames, trigger_mode="SOFTWARE"))
    assert bench.running
    return bench


def start(series: str | None = "a", **keys: Any) -> Start:
    """A module's start message."""
    metadata = keys.pop("metadata", {})
    return Start(Header(filename="/x.h5", msg_number=keys.pop("number", 0), series=series, **keys), metadata)


def frame(number: int, module: int = 0, series: str | None = "a", **keys: Any) -> Frame:
    """A sound frame of 4 × 6 pixels of a module: no two of them are alike."""
    array = pixels(number * 10 + module)
    return Frame(image(number, array, series=series, **keys), [array.tobytes()])


def corrupt(number: int, series: str | None = "a", **keys: Any) -> Frame:
    """A frame whose blob was cut."""
    return Frame(image(number, pixels(number), series=series, **keys), [b"cut"])


def end(series: str | None = "a", **keys: Any) -> SeriesEnd:
    """A module's end message."""
    return SeriesEnd(series=series, **keys)


def room_for(messages: int) -> float:
    """Megabytes that so many frames of a module take while they wait, and half a one more."""
    return (messages + 0.5) * held_bytes(frame(0)) / 1e6
