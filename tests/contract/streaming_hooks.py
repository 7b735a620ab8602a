"""What a test class of a detector that streams by itself says: how its box is reached, and what it rounds.

A hook that a test class does not have leaves out the tests that need it, with a sentence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import ClassVar

import pytest

from penstock.stins import blobs
from penstock.stins.messages import Frame
from penstock.streamer.camera.own_stream import StreamingDetector
from penstock.streamer.camera.settings import TriggerMode, Value
from tests.contract.unit_contract import UnitContract
from tests.streamer.own_stream.rig import Rig


class StreamingHooks(UnitContract):
    """What a subclass says, and what the tests do with it."""

    detector: ClassVar[type[StreamingDetector]]
    source: ClassVar[str]
    """Kind of its stream, of `receiver.sources`."""
    exposure: ClassVar[float] = 0.01
    """Of most series, in seconds."""
    slow_setting: ClassVar[tuple[str, float]]
    """A parameter that can be set, and a value other than the box has."""
    readout: ClassVar[float]
    """Least dead time between two frames of this box, in seconds."""
    latency: ClassVar[float] = 0.1
    """Of the series whose frames are told to be apart, in seconds."""
    frame_that_runs: ClassVar[float] = 0.2
    """Exposure of a frame that is stopped while it runs, in seconds."""
    rounded: ClassVar[tuple[float, float] | None] = None
    """An exposure that this box rounds, and what it makes of it, in seconds; `None` if it takes all as they
    are."""

    others_are_streamed: ClassVar[bool] = True
    """False if the box sends only the series that we have armed, not those of other clients."""

    def open(self) -> AbstractContextManager[StreamingDetector]:
        """A unit that has not been connected, and its box, idle, until the `with` ends."""
        raise NotImplementedError

    def build(self) -> StreamingDetector:
        """Another unit of the box that `open` has opened, not connected."""
        raise NotImplementedError

    def set_by_somebody_else(self, unit: StreamingDetector, name: str, value: float) -> None:
        """Another client sets this parameter in the box."""
        raise NotImplementedError

    def edge(self, unit: StreamingDetector, seconds: float) -> None:
        """Give the box's trigger input an edge of so many seconds, after those before it were exposed."""
        raise NotImplementedError

    def await_receiver(self, unit: StreamingDetector) -> None:
        """Wait until the box sees a receiver, where it drops what nobody takes."""

    def check_blobs(self, frame: Frame) -> None:
        """Check that the blobs of a frame match its header."""
        blobs.check(frame)

    def arm_by_somebody_else(self, unit: StreamingDetector) -> None:
        """Another client arms the box, as it is set."""
        raise NotImplementedError

    def power(self, unit: StreamingDetector, on: bool) -> None:
        """Switch the box off, or on again; on again, it may need to be initialised."""
        raise NotImplementedError

    # Hooks that a test class may lack

    OPTIONAL: ClassVar[Mapping[str, str]] = {
        "region": "it always reads out the whole sensor",
        "leave_settings": "its test class does not say what another client may leave behind",
    }

    def region(self) -> tuple[Mapping[str, Value], tuple[int, ...]]:
        """The detector's parameters for a part of its sensor, and the shape of a frame of it."""
        return {}, ()

    def leave_settings(self, unit: StreamingDetector) -> None:
        """Another client changes exposure, period, trigger and number of frames, and leaves them so."""

    # How tests use it

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Each test with `mode` runs in every mode that the detector declares."""
        modes = self.detector.trigger_modes
        if "mode" in metafunc.fixturenames:
            metafunc.parametrize("mode", modes)
        if "waiting_mode" in metafunc.fixturenames:
            metafunc.parametrize("waiting_mode", [mode for mode in modes if mode is not TriggerMode.INTERNAL])

    @pytest.fixture
    def unit(self) -> Iterator[StreamingDetector]:
        """Connected."""
        with self.opened_unit() as unit:
            yield unit

    @pytest.fixture
    def rig(self) -> Iterator[Rig]:
        """Ready for a series."""
        with self.opened_rig() as rig:
            yield rig

    @contextmanager
    def opened_unit(self) -> Iterator[StreamingDetector]:
        with self.open() as unit:
            unit.connect()
            yield unit
            unit.close()

    @contextmanager
    def opened_rig(self) -> Iterator[Rig]:
        with self.open() as unit:
            rig = Rig(unit, self.source)
            try:
                self.await_receiver(unit)
                rig.until_state("idle")
                yield rig
            finally:
                rig.close()

    def take(self, rig: Rig, mode: TriggerMode, triggers: int) -> str:
        """Arm a series and give all triggers; its id."""
        series = rig.arm(self.exposure, trigger_mode=mode, n_triggers=triggers, filename="/data/x.h5").series
        self.trigger(rig, mode, triggers)
        return series

    def trigger(self, rig: Rig, mode: TriggerMode, triggers: int) -> None:
        """Start all frames of an armed series."""
        if mode is TriggerMode.SOFTWARE:
            for _ in range(triggers):
                rig.until(lambda status: status.ready_for_trigger)
                rig.engine.trigger()
        elif mode is TriggerMode.EXTERNAL:
            self.edge(rig.unit, self.exposure)
        elif mode is not TriggerMode.INTERNAL:
            for _ in range(triggers):
                self.edge(rig.unit, self.exposure)

    def no_frames(self, rig: Rig) -> None:
        """The series that has just ended had no frame; without start messages, there is nothing of it."""
        if self.detector.sends_start:
            assert rig.series()[1] == []
        else:
            assert rig.engine.status().acquired == 0
