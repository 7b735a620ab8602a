"""One conformance suite for every camera: a subclass says how its stand-in is triggered, little else.

Its hooks are in `camera_hooks`; further tests of it are in `camera_series` and `camera_mondays`.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
import time
from queue import SimpleQueue

import numpy as np
import pytest

from penstock.stins import blobs
from penstock.stins.messages import IndexSource
from penstock.streamer.camera.contract import Camera
from penstock.streamer.camera.settings import TriggerMode, Value
from penstock.streamer.camera.unit import CameraError
from tests.contract.camera_hooks import EDGES
from tests.contract.camera_mondays import CameraMondays
from tests.contract.camera_series import CameraSeries
from tests.receiver.sample_series import Bench
from tests.streamer.rig import DEADLINE, Rig, settings

SHORT = 0.15
"""An exposure that a test waits for, in seconds."""
AT_ONCE = 3.0
"""Seconds: the engine gives a camera half of one to abort, the rest is for a busy computer."""
AT_OPEN = "load the SDK when a unit is opened (load_sdk, load_library), not at the top of the file"
ALIKE = (
    "frames share memory: copy in the callback (np.copy) if the SDK takes its frames back; "
    "the stand-in gives each frame other pixels"
)
DUE = "a frame that was due and did not come is told by acquisition.triggered()"
MADE = """
from {module} import {name}
from penstock.devices._detector.detector_class import detector_class
print(detector_class({name}).__name__)
"""


class CameraContract(CameraSeries, CameraMondays):
    """What the engine relies on. A subclass names its camera, and says how the stand-in is triggered."""

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
        said = f"ExposureTime {made:.6g} of {asked:.6g}"
        for _ in range(2):
            self.arm(rig, TriggerMode.SOFTWARE, 1, asked)
            # A camera that is slow to be read on a busy computer is in trouble: it says so first.
            rig.until(lambda status: status.ready_for_trigger and said in status.warning, 3 * DEADLINE)
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
            if waiting_mode is TriggerMode.SOFTWARE and taken < 2:
                rig.until(lambda status: status.ready_for_trigger)
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
        self.needs("fail")
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
        monkeypatch.setattr("penstock.streamer.camera.parameters.READ_EVERY", 0.02)
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
