"""A camera at the boundary, a clock that stands still, a receiver of one socket, and an engine between."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from threading import Condition
from types import TracebackType
from typing import Any, TypeVar

import msgspec
import numpy as np
import zmq

from penstock.stins import codec
from penstock.stins.messages import Frame, IndexSource, Message, SeriesEnd, Start
from penstock.streamer.camera.clock import Clock
from penstock.streamer.camera.contract import Acquisition, Camera, Exposure
from penstock.streamer.camera.driver import Prepared, StreamerStatus
from penstock.streamer.camera.engine import Engine
from penstock.streamer.camera.push_socket import SMALL_HWM, PushSocket
from penstock.streamer.camera.settings import Limits, Parameter, Settings, TriggerMode, Value
from penstock.streamer.camera.unit import CameraError, FrameFormat

T = TypeVar("T")
DEADLINE = 10.0
"""Seconds after which a test gives up; nothing waits so long when all is well."""

BASE = Settings(
    exposure_time=0.0, latency_time=0.0, n_triggers=4, n_frames_per_trigger=1,
    trigger_mode=TriggerMode.INTERNAL, filename="", overwrite=False, save_raw=True,
    rotation=0, fliplr=False, flipud=False, metadata="{}", beam_center=(0.0, 0.0), distance=0.0, camera={},
)  # fmt: skip


def settings(**changes: Any) -> Settings:
    """INTERNAL, four frames, live only, but for `changes`."""
    return msgspec.structs.replace(BASE, **changes)


class FakeClock(Clock):
    """Stands still until told to advance."""

    def __init__(self) -> None:
        self._now = 1000.0
        self._sleepers: list[Condition] = []

    def monotonic(self) -> float:
        return self._now

    def wait(self, condition: Condition, moment: float | None = None) -> None:
        self._sleepers.append(condition)
        if moment is None or moment > self._now:
            condition.wait(DEADLINE)
        self._sleepers.remove(condition)

    def advance(self, seconds: float) -> None:
        self._now += seconds
        for condition in list(self._sleepers):
            with condition:
                condition.notify_all()


class FakeCamera(Camera):
    """Fills frame n with the value n; `script` replaces what it does in `acquire`."""

    parameters = (
        Parameter(name="Gain", default=1.0, limits=Limits(0.0, 10.0), doc="For tests."),
        Parameter(name="Mode", default="fast", choices=("fast", "slow"), doc="For tests."),
        Parameter(name="Temperature", default=0.0, writable=False, doc="For tests."),
    )
    trigger_modes = (TriggerMode.INTERNAL, TriggerMode.SOFTWARE, TriggerMode.EXTERNAL_MULTI)
    index_source = IndexSource.HARDWARE_COUNTER

    def __init__(self, properties: Mapping[str, Value]) -> None:
        self.shape: tuple[int, ...] = (3, 4)
        self.dtype = "uint16"
        self.script: Callable[[Acquisition], Iterator[Exposure]] = self.all_frames
        self.on_prepare: Callable[[], None] = lambda: None
        self.temperature: float | None = 21.5
        self.given = self.edges = 0
        self.sees_exposures = True
        self.lost: set[int] = set()
        """Frames that are triggered and do not come."""
        self.error = ""
        self.wake: Callable[[], None] = lambda: None
        self.closed = False
        self.description: dict[str, object] = {}

    def describe(self) -> Mapping[str, object]:
        return self.description

    def limits(self) -> Mapping[str, Limits]:
        return {"ExposureTime": Limits(0.0, 100.0), "Gain": Limits(0.0, 5.0)}

    def readout_time(self) -> float:
        return 0.001

    def prepare(self, settings: Settings) -> FrameFormat:
        self.on_prepare()
        nbytes = int(np.prod(self.shape)) * np.dtype(self.dtype).itemsize
        return FrameFormat(shape=self.shape, dtype=self.dtype, frame_bytes=nbytes)

    def read(self, name: str) -> Value:
        if self.temperature is None:
            raise OSError("the sensor does not answer")
        return self.temperature

    def acquire(self, acquisition: Acquisition) -> Iterator[Exposure]:
        return self.script(acquisition)

    def close(self) -> None:
        self.closed = True

    def edge(self) -> None:
        """An edge at the trigger input, from any thread."""
        self.given += 1
        # Without a counter and without a signal nothing tells of the edge of a frame that does not come.
        if self.index_source is not IndexSource.ARRIVAL or self.given - 1 not in self.lost:
            self.edges += 1
        self.wake()

    def fail(self) -> None:
        """An error that the SDK calls back, from any thread."""
        self.error = "the link was lost"
        self.wake()

    def all_frames(self, acquisition: Acquisition) -> Iterator[Exposure]:
        """Every planned frame, after its trigger where there is one, and after the latency."""
        settings = acquisition.settings
        self.given, self.edges, self.error, self.wake = 0, 0, "", acquisition.wake
        acquisition.ready()
        free = -math.inf
        for index in range(settings.frames):
            if not acquisition.wait_until(free):
                return
            trigger, frame = divmod(index, settings.n_frames_per_trigger)
            software = settings.trigger_mode is TriggerMode.SOFTWARE and frame == 0
            if software and not acquisition.wait_trigger():
                return
            if settings.trigger_mode is TriggerMode.EXTERNAL_MULTI and not acquisition.wait(
                lambda trigger=trigger: self.edges > trigger or bool(self.error)
            ):
                return
            if self.sees_exposures or settings.trigger_mode is not TriggerMode.EXTERNAL_MULTI:
                acquisition.triggered(index + 1)
            end = acquisition.now() + settings.exposure_time
            if acquisition.wait(lambda: bool(self.error), end, exposing=True):
                raise CameraError(self.error)
            if acquisition.aborting:
                return
            if settings.latency_time:
                free = end + settings.latency_time
            if index not in self.lost or self.given > self.edges:
                yield self.frame(acquisition, index)

    def frame(self, acquisition: Acquisition, index: int) -> Exposure:
        """Frame `index`, filled with its number."""
        acquisition.buffer().view(self.dtype)[:] = index % 251
        return Exposure(index=index)

    def until_stopped(self, acquisition: Acquisition) -> Iterator[Exposure]:
        """Ready, then nothing until Stop."""
        acquisition.ready()
        acquisition.wait_until(float("inf"))
        yield from ()


class Rig:
    """An engine with a fake camera; `connect` adds the receiver."""

    def __init__(
        self,
        camera: Camera | None = None,
        *,
        clock: Clock | None = None,
        buffers: int = 4 * 24,
        hwm: int | None = None,
        died: Callable[[], None] = lambda: None,
    ) -> None:
        self.camera: Any = camera or FakeCamera({})
        self.push = PushSocket("tcp://127.0.0.1:0", hwm=hwm or SMALL_HWM, linger=0.0)
        self.changed = Condition()
        self.engine = Engine(
            self.camera, self.push, buffer_bytes=buffers, clock=clock, changed=self._changed, hwm=hwm,
            died=died,
        )  # fmt: skip
        self.context = zmq.Context()
        self.pull: zmq.Socket[bytes] | None = None

    def __enter__(self) -> Rig:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.engine.close(patience=0.5)
        self.context.destroy(0)

    def connect(self, rcvhwm: int = 1000) -> None:
        """A receiver, connected."""
        self.pull = self.context.socket(zmq.PULL)
        self.pull.setsockopt(zmq.RCVHWM, rcvhwm)
        self.pull.connect(self.push.endpoint)
        assert self.push.wait_peers(1, DEADLINE)

    def disconnect(self) -> None:
        """The receiver dies."""
        assert self.pull is not None
        self.pull.close(0)
        self.pull = None
        assert wait_for(self.push, lambda push: not push.peers)

    def arm(self, **changes: Any) -> Prepared:
        """Prepare, announce, start."""
        prepared = done(self.engine.prepare(settings(**changes)))
        done(self.engine.announce())
        done(self.engine.start())
        return prepared

    def until(self, wanted: Callable[[StreamerStatus], bool], deadline: float = DEADLINE) -> StreamerStatus:
        """The first status that is as wanted."""
        with self.changed:
            assert self.changed.wait_for(lambda: wanted(self.engine.status()), deadline), self.engine.status()
        return self.engine.status()

    def until_state(self, state: str) -> StreamerStatus:
        """The status once the engine is in `state`."""
        return self.until(lambda status: status.state == state)

    def receive(self) -> Message:
        """The next message."""
        assert self.pull is not None
        assert self.pull.poll(int(DEADLINE * 1000)), "no message in time"
        return codec.decode(self.pull.recv_multipart())

    def receive_series(self) -> tuple[Start, list[Frame], SeriesEnd]:
        """All messages of one series."""
        start, frames = self.receive(), []
        assert isinstance(start, Start)
        while isinstance(message := self.receive(), Frame):
            frames.append(message)
        assert isinstance(message, SeriesEnd)
        return start, frames, message

    def _changed(self) -> None:
        with self.changed:
            self.changed.notify_all()


def done(future: Future[T]) -> T:
    """The result, in time."""
    return future.result(DEADLINE)


def wait_for(push: PushSocket, wanted: Callable[[PushSocket], bool]) -> bool:
    """Wait for a change of the peers."""
    with push.peers_changed:
        return push.peers_changed.wait_for(lambda: wanted(push), DEADLINE)
