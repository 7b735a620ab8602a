"""One conformance suite for every camera: a subclass says how its stand-in is triggered, nothing else."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from queue import SimpleQueue
from typing import ClassVar

import msgspec
import numpy as np
import pytest

from penstock.devices.simulator import Simulator
from penstock.stins import blobs
from penstock.stins.messages import IndexSource
from penstock.streamer.camera import Camera
from penstock.streamer.checks import complete_properties
from penstock.streamer.settings import Settings, TriggerMode, Value
from penstock.streamer.triggers import TriggerSource
from penstock.streamer.unit import CameraError
from tests.contract.unit_contract import UnitContract
from tests.receiver.sample_series import Bench
from tests.streamer.rig import DEADLINE, FakeCamera, Rig, done, settings

EDGES = (TriggerMode.EXTERNAL_MULTI, TriggerMode.EXTERNAL_MULTI_GATE)
"""Modes in which each frame has an edge of its own."""
SHORT, LONG = 0.15, 30.0
"""Exposures that a test waits for, and that it does not, in seconds."""
AT_ONCE = 3.0
"""Seconds: the engine gives a camera half of one to abort, the rest is for a busy computer."""
AT_OPEN = "load the SDK when a unit is opened (load_sdk, load_library), not at the top of the file"
ALIKE = (
    "frames share memory: copy in the callback (np.copy) if the SDK takes its frames back; "
    "the stand-in gives each frame other pixels"
)
DUE = "a frame that was due and did not come is told by acquisition.triggered()"
WITHOUT_LIBRARY = """
import ctypes
class CDLL(ctypes.CDLL):
    def __init__(self, name, *more, **keys):
        if "{library}" in str(name):
            raise OSError(f"{{name}}: cannot open shared object file: No such file or directory")
        super().__init__(name, *more, **keys)
ctypes.CDLL = CDLL
"""
MADE = """
from {module} import {name}
from penstock.devices._base.detector_class import detector_class
print(detector_class({name}).__name__)
"""


class CameraContract(UnitContract):
    """What the engine relies on. A subclass names its camera, and says how the stand-in is triggered."""

    camera: ClassVar[type[Camera]]
    properties: ClassVar[Mapping[str, Value]] = {}
    """Of the unit, where the defaults do not do."""
    sdk: ClassVar[str | None]
    """Python module that the camera loads when it is opened; `None` if it has none. This or `library` has to
    be said."""
    library: ClassVar[str | None]
    """Shared library that the camera loads when it is opened: a part of its name."""
    sees_exposures: ClassVar[bool] = True
    """The SDK says when an exposure begins, and the camera passes it on by `Acquisition.triggered`."""
    exposure: ClassVar[float] = 0.001
    """Of most series, in seconds."""
    rounded: ClassVar[tuple[float, float] | None] = None
    """An exposure in seconds, and what the stand-in makes of it, which is at least 2 % off; `None` if it
    takes all as they are. Its modes include SOFTWARE then."""

    def edge(self, rig: Rig, seconds: float) -> None:
        """Give the stand-in's trigger input an edge that is high for `seconds`.

        Edges that come during an exposure wait for its end: the suite measures no time.
        """
        raise NotImplementedError(f"{type(self).__name__} needs edge(): it has external trigger modes")

    def lose(self, rig: Rig, index: int) -> None:
        """Let the stand-in lose this frame of the next series: triggered and counted, it does not come."""
        raise NotImplementedError(f"{type(self).__name__} needs lose(): every camera loses a frame some day")

    def fail(self, rig: Rig) -> None:
        """Let the stand-in call an error back; for cameras whose SDK does that."""

    def open(self) -> Camera:
        """A unit, opened as the streamer does it."""
        return self.camera(complete_properties(self.camera, self.properties))

    def without_sdk(self) -> str:
        """Statements after which its `sdk` and its `library` are missing; "" if it needs none.

        Whoever forgets to name them would lose two tests without a word.
        """
        sdk, library = (getattr(self, name, "") for name in ("sdk", "library"))
        if sdk == library == "":
            raise NotImplementedError(
                f'{type(self).__name__} needs sdk = "…": the module that the camera loads when opened, or '
                'library = "…": its shared library; None if it has none'
            )
        missing = f'import sys; sys.modules["{sdk}"] = None\n' if sdk else ""
        return missing + (WITHOUT_LIBRARY.format(library=library) if library else "")

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Each test with `mode` runs in every mode that the camera declares."""
        modes = self.camera.trigger_modes
        if "mode" in metafunc.fixturenames:
            metafunc.parametrize("mode", modes)
        if "exposing" in metafunc.fixturenames:
            metafunc.parametrize("exposing", [False, True], ids=["waiting", "exposing"])
        if "waiting_mode" in metafunc.fixturenames:
            metafunc.parametrize("waiting_mode", [mode for mode in modes if mode is not TriggerMode.INTERNAL])

    @pytest.fixture
    def unit(self) -> Iterator[Camera]:
        unit = self.open()
        yield unit
        unit.close()

    @pytest.fixture
    def rig(self) -> Iterator[Rig]:
        with Rig(self.open(), buffers=64 * 2**20) as rig:
            rig.connect()
            yield rig

    def arm(self, rig: Rig, mode: TriggerMode, frames: int, exposure: float | None = None) -> None:
        """Arm a series of one frame a trigger."""
        exposure = self.exposure if exposure is None else exposure
        rig.arm(trigger_mode=mode, exposure_time=exposure, n_triggers=frames)

    def trigger(self, rig: Rig, mode: TriggerMode, frames: int = 1, exposure: float | None = None) -> None:
        """Start frames of a series that is armed."""
        exposure = self.exposure if exposure is None else exposure
        if mode is TriggerMode.SOFTWARE:
            for _ in range(frames):
                rig.until(lambda status: status.ready_for_trigger)
                rig.engine.trigger()
        elif mode is TriggerMode.EXTERNAL:
            self.edge(rig, exposure)
        elif mode is not TriggerMode.INTERNAL:
            for _ in range(frames):
                self.edge(rig, exposure)

    def long(self, rig: Rig) -> float:
        """An exposure that is not over before the test, in seconds."""
        longest = rig.engine.describe().limits["ExposureTime"].maximum
        return LONG if longest is None else min(LONG, longest)

    # What it declares

    def test_what_can_only_be_read_can_be_read(self, unit: Camera) -> None:
        for parameter in unit.parameters:
            if not parameter.writable:
                assert type(unit.read(parameter.name)) is type(parameter.default)
        with pytest.raises(CameraError):
            Camera.read(unit, "Nonsense")

    def test_a_check_says_what_prepare_will(self, unit: Camera, mode: TriggerMode) -> None:
        """Or nothing at all; asked again afterwards, it says the same."""
        values = {p.name: p.default for p in unit.parameters if p.writable}
        wanted = settings(trigger_mode=mode, exposure_time=self.exposure, camera=values)
        before = dict(unit.limits()), unit.readout_time(), dict(unit.describe())
        checked = unit.check(wanted)
        assert (dict(unit.limits()), unit.readout_time(), dict(unit.describe())) == before
        assert checked in (None, unit.prepare(wanted))
        assert unit.check(wanted) == checked

    def test_what_it_has_taken_asks_for_no_change(self, unit: Camera, mode: TriggerMode) -> None:
        values = {p.name: p.default for p in unit.parameters if p.writable}
        exposure = self.exposure if self.rounded is None else self.rounded[0]
        unit.prepare(settings(trigger_mode=mode, exposure_time=exposure, camera=values))
        taken = unit.as_prepared(settings(trigger_mode=mode, exposure_time=exposure, camera=values))
        unit.prepare(taken)
        assert unit.as_prepared(taken) == taken

    def test_an_exposure_that_is_rounded_is_filed_as_it_is_and_said_and_the_set_point_stays(
        self, rig: Rig
    ) -> None:
        if self.rounded is None:
            pytest.skip("no rounded: it takes every exposure as it is")
        asked, made = self.rounded
        for _ in range(2):
            self.arm(rig, TriggerMode.SOFTWARE, 1, asked)
            rig.until(lambda status: status.ready_for_trigger)
            said = f"ExposureTime {made:.6g} of {asked:.6g}"
            assert said in rig.engine.status().warning
            self.trigger(rig, TriggerMode.SOFTWARE, 1, asked)
            start, frames, _ = rig.receive_series()
            assert len(frames) == 1
            assert start.metadata["exptime"] == pytest.approx(made, rel=1e-9)
            rig.until_state("idle")

    def test_without_its_sdk_it_is_a_sentence_that_names_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        if missing := self.without_sdk():
            sdk, library = (getattr(self, name, None) for name in ("sdk", "library"))
            monkeypatch.setattr(ctypes, "CDLL", ctypes.CDLL)  # to be restored, as the module is
            if sdk:
                monkeypatch.setitem(sys.modules, sdk, None)
            exec(missing, {})
            said = "it was opened without it"
            try:
                self.open().close()
            except Exception as error:
                said = repr(error)
            named = f"{sdk} cannot be imported" if sdk else f"{library}[^ ]* cannot be loaded"
            assert re.search(f"^CameraError.*{named} on .*; ", said), f"{said}; {AT_OPEN}"

    def test_its_tango_class_is_made_without_its_sdk(self) -> None:
        """On the Tango host of a streamer that runs elsewhere."""
        if missing := self.without_sdk():
            program = missing + MADE.format(module=self.camera.__module__, name=self.camera.__name__)
            made = subprocess.run(
                [sys.executable, "-c", program], capture_output=True, text=True, timeout=DEADLINE, check=False
            )
            assert (made.stdout.strip(), made.stderr) == (self.camera.__name__, ""), AT_OPEN

    # Series

    def test_a_series_gives_every_frame_as_announced(self, rig: Rig, mode: TriggerMode) -> None:
        self.arm(rig, mode, 3)
        self.trigger(rig, mode, 3)
        start, frames, end = rig.receive_series()
        assert [frame.image.frame for frame in frames] == [0, 1, 2]
        for frame in frames:
            blobs.check(frame)
            assert (frame.image.shape, frame.image.type) == (start.header.shape, start.header.type)
            assert sum(map(len, frame.blobs)) <= (start.header.frame_bytes or 0)
        assert (end.reason, end.sent, end.lost) == ("complete", 3, None)

    def test_series_after_series(self, rig: Rig, mode: TriggerMode) -> None:
        for frames in (1, 5, 2):
            self.arm(rig, mode, frames)
            self.trigger(rig, mode, frames)
            assert [frame.image.frame for frame in rig.receive_series()[1]] == list(range(frames))
            rig.until_state("idle")

    def test_it_keeps_its_frames_apart(self, rig: Rig, mode: TriggerMode) -> None:
        """A buffer that is filled later does not change a frame that was given earlier."""
        self.arm(rig, mode, 4)
        self.trigger(rig, mode, 4)
        frames = rig.receive_series()[1]
        pixels = [np.frombuffer(b"".join(frame.blobs), frame.image.type) for frame in frames]
        assert all(not np.array_equal(pixels[0], other) for other in pixels[1:]), ALIKE

    def test_nothing_is_exposed_before_its_trigger(self, rig: Rig, waiting_mode: TriggerMode) -> None:
        self.arm(rig, waiting_mode, 3)
        for taken in range(1 if waiting_mode is TriggerMode.EXTERNAL else 3):
            assert rig.engine.status().acquired == taken
            self.trigger(rig, waiting_mode)
            rig.until(lambda status, taken=taken: status.acquired > taken)
        assert len(rig.receive_series()[1]) == 3

    @pytest.mark.parametrize("lost", [1, 2])
    def test_a_frame_that_does_not_come_is_missing_and_the_series_ends(
        self, rig: Rig, mode: TriggerMode, lost: int
    ) -> None:
        counts = rig.engine.describe().index_source is not IndexSource.ARRIVAL
        if mode in EDGES and not self.sees_exposures and (lost == 2 or not counts):
            pytest.skip("nothing tells of this edge: the series waits for Stop")
        self.lose(rig, lost)
        self.arm(rig, mode, 3)
        self.trigger(rig, mode, 3)
        _, frames, end = rig.receive_series()
        account = (end.reason, end.triggered, end.sent, end.lost)
        assert account == ("complete", 3, 2, {"camera": 1}), end.message or DUE
        if counts:
            assert [frame.image.frame for frame in frames] == [index for index in range(3) if index != lost]

    def test_without_counter_and_exposure_signal_a_lost_edge_makes_the_index_uncertain(
        self, rig: Rig, mode: TriggerMode
    ) -> None:
        """Later frames have moved up, the series waits for one more until Stop, and the file says so."""
        counts = rig.engine.describe().index_source is not IndexSource.ARRIVAL
        if mode not in EDGES or self.sees_exposures or counts:
            pytest.skip("it knows of each edge, by a counter or by its exposure")
        self.lose(rig, 1)
        self.arm(rig, mode, 3)
        self.trigger(rig, mode, 3)
        rig.until(lambda status: status.acquired == 2)
        rig.engine.stop()
        start, frames, end = rig.receive_series()
        assert [frame.image.frame for frame in frames] == [0, 1]
        assert (end.reason, end.sent) == ("stop", 2)
        receiver = Bench()
        receiver.say(start, *frames, end)
        assert receiver.sink.ended[-1][0].index_source == "arrival, uncertain"

    # Stop, Abort, readings

    @pytest.mark.parametrize("how", ["stop", "abort"])
    def test_it_ends_at_once_while_it_waits_for_triggers(
        self, rig: Rig, waiting_mode: TriggerMode, how: str
    ) -> None:
        self.arm(rig, waiting_mode, 3, self.long(rig))
        begun = time.monotonic()
        getattr(rig.engine, how)()
        assert rig.until_state("idle").acquired == 0
        assert time.monotonic() - begun < AT_ONCE
        assert rig.receive_series()[2].reason == how

    def test_stop_finishes_the_frame_under_exposure_and_begins_no_other(
        self, rig: Rig, mode: TriggerMode
    ) -> None:
        self.arm(rig, mode, 5, SHORT)
        self.trigger(rig, mode, 5 if mode in EDGES else 1, SHORT)
        if mode is TriggerMode.INTERNAL:
            rig.until(lambda status: status.acquired == 1)
        elif mode is not TriggerMode.SOFTWARE and self.sees_exposures:
            rig.until(lambda status: status.triggered >= 1)
        rig.engine.stop()
        _, frames, end = rig.receive_series()
        assert (end.reason, end.sent, end.lost) == ("stop", len(frames), None)
        if mode in (TriggerMode.INTERNAL, *EDGES):
            assert len(frames) <= 2  # the next may have begun while the camera was told
        if mode is TriggerMode.SOFTWARE:
            assert len(frames) == 1
        elif mode is TriggerMode.INTERNAL or self.sees_exposures:
            assert len(frames) >= 1
        rig.until_state("idle")

    def test_abort_gives_up_a_long_exposure_and_the_next_series_is_whole(
        self, rig: Rig, mode: TriggerMode
    ) -> None:
        exposure = self.long(rig)
        self.arm(rig, mode, 3, exposure)
        self.trigger(rig, mode, exposure=exposure)
        if mode in (TriggerMode.EXTERNAL, *EDGES) and self.sees_exposures:
            rig.until(lambda status: status.triggered == 1)
        begun = time.monotonic()
        rig.engine.abort()
        ended = rig.until(lambda status: status.state in ("idle", "fault"))
        assert (ended.state, ended.acquired) == ("idle", 0), ended.message
        assert time.monotonic() - begun < AT_ONCE
        assert rig.receive_series()[2].reason == "abort"
        self.arm(rig, mode, 2)
        self.trigger(rig, mode, 2)
        assert [frame.image.frame for frame in rig.receive_series()[1]] == [0, 1]

    def test_an_error_that_the_sdk_calls_back_ends_the_series_as_a_fault(
        self, rig: Rig, mode: TriggerMode, exposing: bool
    ) -> None:
        if type(self).fail is CameraContract.fail:
            pytest.skip("no fail(): its SDK calls no error back")
        self.arm(rig, mode, 3, self.long(rig))
        if exposing:
            self.trigger(rig, mode, exposure=self.long(rig))
            if mode is not TriggerMode.INTERNAL and self.sees_exposures:
                rig.until(lambda status: status.triggered == 1)
        self.fail(rig)
        if mode is TriggerMode.SOFTWARE and not exposing:
            self.trigger(rig, mode)  # what waits for a software trigger learns of it with the next one
        assert rig.until_state("fault").acquired == 0
        assert rig.receive_series()[2].reason == "fault"
        rig.engine.reset()
        self.arm(rig, mode, 2)
        self.trigger(rig, mode, 2)
        assert [frame.image.frame for frame in rig.receive_series()[1]] == [0, 1]

    def test_it_is_asked_for_its_readings_while_it_waits_and_while_it_exposes(
        self, rig: Rig, mode: TriggerMode, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if all(parameter.writable for parameter in self.camera.parameters):
            pytest.skip("it has no readings")
        monkeypatch.setattr("penstock.streamer.parameters.READ_EVERY", 0.02)
        reads: SimpleQueue[str] = SimpleQueue()
        read = rig.camera.read

        def counted(name: str) -> Value:
            reads.put(name)
            value: Value = read(name)
            return value

        exposure = self.long(rig)
        self.arm(rig, mode, 3, exposure)
        rig.camera.read = counted
        for _ in range(5):
            reads.get(timeout=DEADLINE)
        self.trigger(rig, mode, exposure=exposure)
        while not reads.empty():
            reads.get()
        for _ in range(5):
            reads.get(timeout=DEADLINE)
        assert rig.engine.status().state == "acquiring"
        rig.engine.abort()
        rig.until_state("idle")


class TestFakeCamera(CameraContract):
    camera = FakeCamera
    sdk = None
    exposure = 0.0

    def edge(self, rig: Rig, seconds: float) -> None:
        rig.camera.edge()

    def lose(self, rig: Rig, index: int) -> None:
        rig.camera.lost = {index}

    def fail(self, rig: Rig) -> None:
        rig.camera.fail()


class RoundingCamera(FakeCamera):
    """It counts exposures in steps of 0.1 s."""

    def as_prepared(self, settings: Settings) -> Settings:
        steps = max(1, int(settings.exposure_time / 0.1 + 1e-9))
        return msgspec.structs.replace(settings, exposure_time=steps * 0.1)


class TestCameraThatRounds(TestFakeCamera):
    camera = RoundingCamera
    rounded = (0.25, 0.2)


class TestCameraThatDoesNotSeeExposures(TestFakeCamera):
    sees_exposures = False

    def open(self) -> Camera:
        camera = FakeCamera({})
        camera.sees_exposures = False
        return camera


class TestCameraWithoutCounterOrExposureSignal(TestFakeCamera):
    sees_exposures = False

    def open(self) -> Camera:
        camera = FakeCamera({})
        camera.sees_exposures = False
        camera.index_source = IndexSource.ARRIVAL
        return camera


class TestSimulator(CameraContract):
    camera = Simulator
    sdk = None
    properties: ClassVar[Mapping[str, Value]] = {"SensorWidth": 64, "SensorHeight": 32}
    edges: ClassVar[Counter[str]] = Counter()
    """Sent in each series."""

    def edge(self, rig: Rig, seconds: float) -> None:
        series = rig.engine.status().series
        host, _, port = str(rig.camera.read("TriggerAddress")).rpartition(":")
        with closing(TriggerSource((host, int(port)))) as source:
            source.miss(self.edges[series])
            source.pulse(seconds, moment=2 * LONG * self.edges[series])
        self.edges[series] += 1

    def lose(self, rig: Rig, index: int) -> None:
        done(rig.engine.set({"Faults": f"drop={index}"}))


class TestSimulatorOfSeveralModules(TestSimulator):
    properties: ClassVar[Mapping[str, Value]] = {
        "SensorWidth": 64, "SensorHeight": 32, "Modules": 3, "PixelType": "uint8",
    }  # fmt: skip
