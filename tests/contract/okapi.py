"""A good camera for the suite's own tests: its SDK fills lent buffers, and can be switched off."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping

import numpy as np

from penstock.stins.messages import IndexSource
from penstock.streamer.camera.contract import Acquisition, Camera, Exposure
from penstock.streamer.camera.settings import Limits, Parameter, Settings, TriggerMode, Value
from penstock.streamer.camera.unit import CameraError, FrameFormat, Overrun

ROWS, COLS = 12, 20
READOUT = 0.0001
"""Seconds."""
LATE = 0.05
"""Seconds after which a frame that is due counts as lost."""


class SdkError(Exception):
    """The link is down."""


class Sdk:
    """Stand-in: it has no thread, and exposes by the clock of whoever asks it."""

    def __init__(self) -> None:
        self.lost: set[int] = set()
        """Frames of the next series that never arrive."""
        self.marked: tuple[int, int] | None = None
        """Row and column of the pixel of the next series that is brighter than all others."""
        self.order = "C"
        """Which pixels follow each other in memory; "F" for those of a column."""
        self.is_on = True
        self.start_up()

    def start_up(self) -> None:
        """The registers of its first day."""
        self.rows, self.cols, self.exposure, self.period, self.burst = ROWS, COLS, 0.5, 1.0, 1
        self.source = "none"
        self.stop()

    def ask(self) -> None:
        if not self.is_on:
            raise SdkError("the camera does not answer")

    def write(self, **registers: object) -> None:
        self.ask()
        vars(self).update(registers)

    def stop(self) -> None:
        self.queue: deque[tuple[int, np.ndarray]] = deque()
        self.ends: deque[float] = deque()
        self.counter = self.underruns = 0

    def trigger(self, now: float, frames: int, source: str) -> None:
        self.ask()
        if source == self.source:
            self.ends.extend(now + self.exposure + number * self.period for number in range(frames))

    def collect(self) -> int | None:
        """The number of the buffer with the frame that has just ended, if there is one."""
        self.ask()
        self.ends.popleft()
        self.counter += 1
        if self.counter - 1 in self.lost:
            return None
        if not self.queue:
            self.underruns += 1
            return None
        slot, memory = self.queue.popleft()
        pixels = np.full((self.rows, self.cols), self.counter % 251, "uint16")
        if self.marked is not None:
            pixels[self.marked] = 4000
        sent = pixels.ravel(order=self.order)
        memory.view("uint16")[: sent.size] = sent
        return slot


class Okapi(Camera):
    """Each method is short, so that a test can plant a fault in it."""

    parameters = (
        Parameter(name="Rows", default=ROWS, limits=Limits(1, ROWS), doc="Rows from the first on."),
        Parameter(name="Cols", default=COLS, limits=Limits(1, COLS), doc="Columns from the first on."),
    )
    trigger_modes = (TriggerMode.INTERNAL, TriggerMode.SOFTWARE)
    index_source = IndexSource.HARDWARE_COUNTER

    def __init__(self, properties: Mapping[str, Value]) -> None:
        self.sdk = Sdk()

    def limits(self) -> Mapping[str, Limits]:
        return {"ExposureTime": Limits(0.0, 100.0)}

    def readout_time(self) -> float:
        return READOUT

    def check(self, settings: Settings) -> FrameFormat:
        shape = self.shape_of(settings)
        return FrameFormat(shape=shape, dtype="uint16", frame_bytes=2 * math.prod(shape))

    def shape_of(self, settings: Settings) -> tuple[int, ...]:
        return int(settings.camera["Rows"]), int(settings.camera["Cols"])

    def period_of(self, settings: Settings) -> float:
        return settings.exposure_time + max(settings.latency_time, READOUT)

    def registers_of(self, settings: Settings) -> dict[str, object]:
        """What is written into the camera for a series."""
        rows, cols = int(settings.camera["Rows"]), int(settings.camera["Cols"])
        return {
            "rows": rows, "cols": cols, "exposure": settings.exposure_time, "source": settings.trigger_mode,
            "period": self.period_of(settings), "burst": settings.n_frames_per_trigger,
        }  # fmt: skip

    def prepare(self, settings: Settings) -> FrameFormat:
        try:
            self.sdk.write(**self.registers_of(settings))
        except SdkError as error:
            raise CameraError(f"{error}; see its power") from error
        return self.check(settings)

    def acquire(self, acquisition: Acquisition) -> Iterator[Exposure]:
        try:
            yield from self.frames(acquisition)
        except SdkError as error:
            raise CameraError(f"{error}; see its power") from error
        finally:
            self.sdk.stop()
            self.sdk.lost = set()

    def frames(self, acquisition: Acquisition) -> Iterator[Exposure]:
        settings = acquisition.settings
        software = settings.trigger_mode is TriggerMode.SOFTWARE
        self.lend(acquisition)
        acquisition.ready()
        if not software:
            self.sdk.trigger(acquisition.now(), settings.frames, settings.trigger_mode)
        for index in range(settings.frames):
            if software and index % settings.n_frames_per_trigger == 0:
                if not acquisition.wait_trigger():
                    return
                self.lend_again(acquisition)
                self.sdk.trigger(acquisition.now(), self.sdk.burst, settings.trigger_mode)
            elif acquisition.stopping:
                return
            due = self.sdk.ends[0] if self.sdk.ends else acquisition.now() + settings.exposure_time + LATE
            if not acquisition.wait_until(due, exposing=True):
                return
            acquisition.triggered(index + 1)
            slot = self.sdk.collect() if self.sdk.ends else None
            self.refuse_underruns()
            if slot is not None:
                yield Exposure(index=index, slot=slot)
            self.lend_again(acquisition)

    def lend(self, acquisition: Acquisition) -> None:
        """Lend the SDK all buffers that are free."""
        while (lent := acquisition.lend()) is not None:
            self.sdk.queue.append(lent)

    def lend_again(self, acquisition: Acquisition) -> None:
        """Lend it those that have become free since."""
        self.lend(acquisition)

    def refuse_underruns(self) -> None:
        if self.sdk.underruns:
            raise Overrun("no buffer was free; take frames more slowly", self.sdk.underruns)
