"""GenICam against the fake camera of libaravis: the contract of every camera, and what only this one does."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import ClassVar

import pytest

from penstock.devices._genicam import priority
from penstock.devices.genicam import GenICam
from penstock.streamer.camera.checks import complete_properties
from penstock.streamer.camera.driver import Refused
from penstock.streamer.camera.settings import Limits, TriggerMode, Value
from penstock.streamer.camera.unit import CameraError
from tests.contract.test_camera_contract import CameraContract
from tests.devices._genicam.exposing_camera import Bench
from tests.devices._genicam.turns import turn
from tests.streamer.rig import Rig, done, settings
from tests.system.beamline import until


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with turn(), Bench() as bench:
        yield bench


class TestGenICam(CameraContract):
    """Against the fake camera, made to expose."""

    camera = GenICam
    library = "libaravis"
    properties: ClassVar = {"Address": "127.0.0.1", "FrameRetention": 5.0}
    sees_exposures = False
    rounded = (12.6e-6, 12e-6)
    shape = (64, 96)
    bench: Bench

    @pytest.fixture(autouse=True)
    def _the_camera(self, bench: Bench) -> None:
        self.bench = bench

    def edge(self, rig: Rig, seconds: float) -> None:
        self.bench.say("edge")

    def lose(self, rig: Rig, index: int) -> None:
        self.bench.say(f"lose {index}")

    def region(self, rows: int, cols: int) -> Mapping[str, Value]:
        return {"AOIWidth": cols, "AOIHeight": rows}

    def power(self, rig: Rig, on: bool) -> None:
        if on:  # before anybody has missed it
            self.bench.__enter__()
        else:
            self.bench.kill()
            self.bench.__exit__(None, None, None)

    def leave_settings(self, rig: Rig) -> None:
        left = {**LEFT, "ExposureTime": 70000.0, "Width": 8, "Height": 4, "TriggerMode": b"Off"}
        done(rig.engine.with_features(lambda camera: leave(camera, left)))

    @pytest.mark.slow
    def test_a_power_cut_in_a_series_is_a_fault_and_the_next_series_is_whole(
        self, rig: Rig, mode: TriggerMode
    ) -> None:
        super().test_a_power_cut_in_a_series_is_a_fault_and_the_next_series_is_whole(rig, mode)


DEFAULTS = {p.name: p.default for p in GenICam.parameters if p.writable}
SHOWN = {"Address": "127.0.0.1", "ShownFeatures": "BlackLevel, ReverseX TestPattern,DeviceUserID"}


def open_camera(properties: dict[str, Value]) -> GenICam:
    return GenICam(complete_properties(GenICam, properties))


@pytest.fixture
def camera(bench: Bench) -> Iterator[GenICam]:
    camera = open_camera(SHOWN)
    yield camera
    camera.close()


@pytest.mark.parametrize(("given", "described"), [(0.0, 3.45e-6), (5.5e-6, 5.5e-6)])
def test_the_pixel_size_is_the_cameras_or_that_of_the_property(
    bench: Bench, given: float, described: float
) -> None:
    camera = open_camera(SHOWN | {"PixelSize": given})
    try:
        found = camera.describe()
        assert (found["x_pixel_size"], found["y_pixel_size"]) == pytest.approx((described, described))
    finally:
        camera.close()


LEFT = {"ExposureMode": b"TriggerWidth", "TriggerDelay": 5000.0, "TriggerDivider": 7,
        "AcquisitionFrameRateEnabled": 1, "TriggerActivation": b"FallingEdge"}  # fmt: skip
"""What a vendor's viewer may have left in the camera."""


def leave(camera: GenICam, left: Mapping[str, float | bytes]) -> None:
    """Set these features as another program does."""
    lib, handle = camera._device.lib, camera._device.camera
    for name, value in left.items():
        kinds = {bytes: lib.camera_set_string, float: lib.camera_set_float, int: lib.camera_set_integer}
        put = lib.camera_set_boolean if name.endswith("Enabled") else kinds[type(value)]
        put(handle, name.encode(), value)


@pytest.mark.parametrize("mode", [TriggerMode.SOFTWARE, TriggerMode.EXTERNAL_MULTI, TriggerMode.INTERNAL])
def test_what_another_program_has_left_in_the_camera_changes_no_series(
    camera: GenICam, mode: TriggerMode
) -> None:
    leave(camera, LEFT)
    camera.prepare(settings(trigger_mode=mode, exposure_time=0.001, camera=DEFAULTS))
    found = {name: camera.get_feature(name).value for name in LEFT}
    assert found["ExposureMode"] == "Timed"
    assert found["TriggerActivation"] == "FallingEdge", "which SetFeature sets, and Arm does not"
    if mode is not TriggerMode.INTERNAL:
        assert (found["TriggerDelay"], found["TriggerDivider"]) == (0.0, 1)
        assert not found["AcquisitionFrameRateEnabled"]


def test_packets_are_what_the_camera_has_made_of_them(
    camera: GenICam, monkeypatch: pytest.MonkeyPatch
) -> None:
    lib = camera._device.lib
    asked = settings(exposure_time=0.001, camera=DEFAULTS | {"PacketSize": 1402, "PacketDelay": 5.4e-7})
    camera.prepare(asked)
    assert camera.as_prepared(asked) == asked
    with monkeypatch.context() as patched:
        patched.setattr(lib, "camera_gv_get_packet_size", lambda _: 1400)
        patched.setattr(lib, "camera_gv_get_packet_delay", lambda _: 500)
        own = camera.as_prepared(asked).camera
        assert (own["PacketSize"], own["PacketDelay"]) == (1400, 5e-7)
    with pytest.raises(CameraError, match="PacketDelay 0.005 s cannot be set"):
        camera.prepare(settings(exposure_time=0.001, camera=DEFAULTS | {"PacketDelay": 5e-3}))
    camera.prepare(asked)
    assert camera._device.packet_size() == 1402


def test_the_thread_that_receives_packets_goes_before_others_where_that_is_allowed(
    camera: GenICam, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    stream = camera._device.stream()
    (thread,) = priority.receiving()
    stream.close()
    assert not priority.receiving()
    assert thread != threading.get_native_id()

    caplog.set_level(logging.INFO)
    stream = camera._device.stream()
    (thread,) = priority.receiving()
    if may_be_real_time():
        assert os.sched_getscheduler(thread) == os.SCHED_RR
        assert os.sched_getparam(thread).sched_priority == 10
        assert os.sched_getscheduler(0) == os.SCHED_OTHER, "of no other thread"
        assert not caplog.text
    else:
        assert "packets are received without real-time priority" in caplog.text
    stream.close()

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    stream = camera._device.stream()
    stream.close()
    assert "without real-time priority (Operation not permitted), with nice" in caplog.text
    assert "raise LimitRTPRIO" in caplog.text


def may_be_real_time() -> bool:
    """Return whether this user may give a thread real-time priority, tried in a process of its own."""
    program = "import os; os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(10))"
    return not subprocess.run([sys.executable, "-c", program], capture_output=True, check=False).returncode


def switch_off(bench: Bench) -> None:
    bench.kill()
    bench.__exit__(None, None, None)


def test_what_set_feature_had_set_and_a_power_cut_has_taken_is_named_until_it_is_set_again(
    bench: Bench, camera: GenICam
) -> None:
    camera.set_feature("BlackLevel", 12.5)
    camera.set_feature("TriggerActivation", "FallingEdge")
    camera.set_feature("ReverseX", False)  # as it is after a power cut
    camera.prepare(settings(exposure_time=0.001, camera=DEFAULTS))
    switch_off(bench)
    bench.__enter__()
    said = (
        "127.0.0.1 was switched off and has lost settings: BlackLevel was 12.5, is 0.0, TriggerActivation "
        "was FallingEdge, is RisingEdge; set again what you need"
    )
    with pytest.raises(CameraError, match=re.escape(said)):
        camera.prepare(settings(exposure_time=0.001, camera=DEFAULTS))
    assert camera.trouble().startswith(f"Camera {said}")
    camera.set_feature("BlackLevel", 12.5)
    assert "has lost settings: TriggerActivation was" in camera.trouble()
    camera.set_feature("TriggerActivation", "RisingEdge")
    assert camera.trouble() == ""
    camera.prepare(settings(exposure_time=0.001, camera=DEFAULTS))


def test_a_camera_that_is_back_is_opened_again_without_an_arm(bench: Bench, camera: GenICam) -> None:
    switch_off(bench)
    until(camera.trouble, "missed")
    with pytest.raises(CameraError, match="does not answer"):
        camera.get_feature("BlackLevel")
    bench.__enter__()
    until(lambda: not camera.trouble(), "back", 30.0)
    assert camera.get_feature("BlackLevel").value == 0.0


class TestFeatures:
    """What the camera's own description offers."""

    def test_they_are_listed_in_their_categories_with_limits_and_choices(self, camera: GenICam) -> None:
        listed = {feature.name: feature for feature in camera.list_features()}
        black = listed["BlackLevel"]
        assert (black.kind, black.group, black.unit, black.writable) == ("float", "AnalogControl", "DN", True)
        assert (black.limits, black.doc) == (Limits(0.0, 100.0), "Value of a dark pixel.")
        assert listed["TestPattern"].choices == ("Off", "Ramp", "Bars")
        assert listed["ReverseX"].kind == "boolean"
        assert (listed["AcquisitionStart"].kind, listed["AcquisitionStart"].value) == ("command", None)
        assert (listed["DeviceVendorName"].value, listed["DeviceVendorName"].writable) == ("Aravis", False)
        assert listed["Width"].limits == Limits(1, 96)

    @pytest.mark.parametrize(
        ("name", "value", "made"),
        [
            ("BlackLevel", "12.5", 12.5), ("BlackLevel", 3, 3.0), ("ReverseX", "true", True),
            ("ReverseX", "0", False), ("GevIEEE1588", "on", True), ("TestPattern", "Bars", "Bars"),
            ("DeviceUserID", "hutch 2", "hutch 2"),
        ],
    )  # fmt: skip
    def test_one_is_set_as_text_or_in_its_type(
        self, camera: GenICam, name: str, value: Value, made: Value
    ) -> None:
        assert camera.set_feature(name, value).value == made
        assert camera.get_feature(name).value == made

    @pytest.mark.parametrize(
        ("name", "value", "words"),
        [
            ("Width", "8", "Width is set by the attribute AOIWidth; write that"),
            ("PixelFormat", "Mono16", "set by the attribute PixelFormat"),
            ("ExposureTime", "5", "set by the attribute ExposureTime"),
            ("Gain", "1", "set by the attribute Gain"),
            ("TriggerMode", "On", "set by the attribute TriggerMode"),
            ("TriggerSource", "Line0", "set by the attribute TriggerSource"),
            ("AcquisitionFrameRate", "5", "set by the attribute FrameTime"),
            ("GevSCPSPacketSize", "1500", "set by the attribute PacketSize"),
            ("GevSCPD", "5", "set by the attribute PacketDelay"),
            ("ExposureMode", "TriggerWidth", "ExposureMode is set by Arm, for each series"),
            ("TriggerDelay", "5", "TriggerDelay is set by Arm, for each series"),
            ("AcquisitionFrameRateEnabled", "1", "set by the attribute FrameTime"),
            ("AcquisitionStart", "", "AcquisitionStart is set by Arm, for each series"),
            ("PayloadSize", "5", "PayloadSize is set by Arm"),
            ("DeviceModelName", "x", "DeviceModelName can only be read"),
            ("BlackLevel", "101", "BlackLevel.*101.* greater than allowed maximum"),
            ("BlackLevel", "dark", "BlackLevel is of type float, and 'dark' is not"),
            ("BlackLevel", "nan", "BlackLevel is of type float, and 'nan' is not"),
            ("BlackLevel", "inf", "BlackLevel is of type float, and 'inf' is not"),
            ("ReverseX", "perhaps", "ReverseX is of type boolean"),
            ("TestPattern", "Stripes", 'TestPattern has no choice "Stripes"; choose Off, Ramp, Bars'),
            ("BlakLevel", "1", "no feature BlakLevel; perhaps BlackLevel"),
        ],
    )
    def test_what_cannot_be_set_is_refused_with_what_sets_it(
        self, camera: GenICam, name: str, value: Value, words: str
    ) -> None:
        with pytest.raises(CameraError, match=words):
            camera.set_feature(name, value)

    def test_those_that_are_shown_are_parameters_of_this_unit_alone(self, camera: GenICam) -> None:
        shown = {parameter.name: parameter for parameter in camera.shown()}
        assert list(shown) == ["BlackLevel", "ReverseX", "TestPattern", "DeviceUserID"]
        assert shown["BlackLevel"].limits == Limits(0.0, 100.0) and shown["BlackLevel"].writable
        assert shown["TestPattern"].choices == ("Off", "Ramp", "Bars")
        assert not set(shown) & {parameter.name for parameter in GenICam.parameters}

    def test_their_values_are_read_with_the_readings_and_go_into_the_header(self, camera: GenICam) -> None:
        camera.set_feature("BlackLevel", 7.5)
        with Rig(camera, buffers=64 * 2**20) as rig:
            rig.connect()
            assert rig.engine.status().readings["BlackLevel"] == 7.5
            rig.arm(n_triggers=1, exposure_time=0.001)
            start, _, _ = rig.receive_series()
            assert start.metadata["features"]["BlackLevel"] == 7.5
            rig.until_state("idle")
            described = done(
                rig.engine.with_features(lambda unit: unit.set_feature("BlackLevel", 8.5), changes=True)
            )
            assert described.value == rig.engine.status().readings["BlackLevel"] == 8.5

    def test_none_is_set_in_a_series(self, camera: GenICam) -> None:
        with Rig(camera, buffers=64 * 2**20) as rig:
            done(rig.engine.prepare(settings(exposure_time=0.001)))
            with pytest.raises(Refused, match="no access to features while prepared"):
                done(rig.engine.with_features(lambda unit: unit.list_features()))

    @pytest.mark.parametrize(
        ("names", "words"),
        [
            ("Nonsense", "Nonsense cannot be found .*no feature Nonsense"),
            ("BlakLevel", "BlakLevel cannot be found .*perhaps BlackLevel is meant"),
            ("Gain", "Gain is the name of another attribute"),
            ("TriggerSoftware", "TriggerSoftware has no value that can be read"),
        ],
    )
    def test_what_cannot_be_shown_is_left_out_with_a_sentence(
        self, bench: Bench, names: str, words: str
    ) -> None:
        with Rig(open_camera(SHOWN | {"ShownFeatures": f"{names}, BlackLevel"})) as rig:
            assert [parameter.name for parameter in rig.camera.shown()] == ["BlackLevel"]
            assert re.search(
                f"Of the property ShownFeatures, {words}.*: left out", rig.engine.status().warning
            )
