"""What the device Pilatus makes of camserver and the light streamer: settings, series, readings, faults."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.codecs import cbf
from penstock.devices._camserver import client as client_module
from penstock.devices._camserver import modes, readings
from penstock.devices._camserver import series as series_module
from penstock.devices.pilatus import Pilatus
from penstock.stins.messages import IndexSource
from penstock.streamer.camserver.faults import Faults
from penstock.streamer.camserver.server import SimulatedCamserver
from penstock.streamer.checks import complete_properties
from penstock.streamer.errors import Refused
from penstock.streamer.own_stream.contract import BoxLost, BoxState
from penstock.streamer.patterns import frame_number
from penstock.streamer.settings import Settings, TriggerMode
from penstock.streamer.triggers import TriggerSource
from penstock.streamer.unit import CameraError
from tests.streamer import rig
from tests.streamer.camserver.light_process import LightReady, start_light
from tests.streamer.own_stream.rig import Rig, done
from tests.system.beamline import until

SENSOR = (16, 24)
LONG = 3600.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ram")


@pytest.fixture(scope="module")
def light(folder: Path) -> Iterator[LightReady]:
    """A light streamer that stays for all tests."""
    with start_light(folder) as child:
        yield child.answer


@pytest.fixture
def simulated(
    folder: Path, light: LightReady, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SimulatedCamserver]:
    """A camserver, which is asked often, so that nobody waits; the light streamer has no series."""
    monkeypatch.setattr(readings, "STATE_EVERY", 0.1)
    light.reset()
    light.until(lambda status: status.peers == 0 and status.state == "idle")
    with SimulatedCamserver(folder, sensor=SENSOR) as simulated:
        yield simulated


def unit(simulated: SimulatedCamserver, light: LightReady, **properties: object) -> Pilatus:
    given = {
        "Host": "127.0.0.1", "Port": simulated.port, "LightStreamer": light.address,
        "StreamPort": light.stream_port, **properties,
    }  # fmt: skip
    return Pilatus(complete_properties(Pilatus, given))


@pytest.fixture
def pilatus(simulated: SimulatedCamserver, light: LightReady) -> Iterator[Pilatus]:
    """Connected."""
    pilatus = unit(simulated, light)
    pilatus.connect()
    simulated.box.heard.clear()
    yield pilatus
    pilatus.close()


@pytest.fixture
def box(simulated: SimulatedCamserver, light: LightReady) -> Iterator[Rig]:
    """With its engine, and a receiver."""
    box = Rig(unit(simulated, light))
    light.until(lambda status: status.peers == 1)
    box.until_state("idle")
    yield box
    box.close()


def series(pilatus: Pilatus, **changes: Any) -> Settings:
    camera = dict(pilatus.values()) | changes.pop("camera", {})
    return rig.settings(**{"exposure_time": 0.5, **changes}, camera=camera)


def heard(simulated: SimulatedCamserver, word: str) -> list[str]:
    return [line for line in simulated.box.heard if line.startswith(word)]


# The unit


@pytest.mark.parametrize(
    ("properties", "sentence"),
    [
        ({}, "the property Host is empty"),
        (
            {"Host": "http://10.0.0.1"},
            "property Host is 'http://10.0.0.1'; set it to only the name or address",
        ),
        ({"Host": "dcu", "SensorShape": "2M"}, "property SensorShape is '2M'; set it to rows x columns"),
        *(
            (
                {"Host": "dcu", "LightStreamer": wrong},
                f"property LightStreamer is '{wrong}'; set it to HOST:PORT",
            )
            for wrong in ("dcu", "tcp://dcu:9998", "dcu:99999", "dcu:0", "::1:9998", ":9998")
        ),
    ],
)
def test_a_property_that_is_wrong_is_said_before_anything_is_reached(
    properties: dict[str, object], sentence: str
) -> None:
    with pytest.raises(CameraError, match=sentence):
        Pilatus(complete_properties(Pilatus, properties))


def test_frames_come_from_the_light_streamer_on_the_control_unit() -> None:
    pilatus = Pilatus(complete_properties(Pilatus, {"Host": "dcu"}))
    assert (pilatus.stream_endpoint(), pilatus.stream_source()) == ("tcp://dcu:9999", "stins")
    assert pilatus._light.address == "dcu:9998"
    pilatus.close()


def test_it_shows_what_camserver_has_and_writes_nothing(
    simulated: SimulatedCamserver, light: LightReady
) -> None:
    pilatus = unit(simulated, light)
    pilatus.connect()
    values = pilatus.values()
    assert (values["Energy"], values["Threshold"], values["GapFill"]) == (12400.0, 6200.0, True)
    assert pilatus.describe()["description"] == "DECTRIS PILATUS3 300K"
    assert pilatus.read("CamserverVersion") == "tvx-7.9.0-0"
    assert pilatus.check(series(pilatus)).shape == SENSOR  # type: ignore[union-attr]
    assert not [line for line in simulated.box.heard if " " in line]
    pilatus.close()


def test_who_comes_while_another_client_has_control_is_told_so(
    pilatus: Pilatus, simulated: SimulatedCamserver, light: LightReady
) -> None:
    second = unit(simulated, light)
    with pytest.raises(CameraError, match=r"another client has control of camserver at .*then call Reset"):
        second.connect()
    second.close()


def test_a_folder_that_the_light_streamer_does_not_watch_is_refused(
    simulated: SimulatedCamserver, light: LightReady
) -> None:
    pilatus = unit(simulated, light, ImageFolder="/ramdisk/other")
    with pytest.raises(CameraError, match=r"watches .*, and the property ImageFolder is /ramdisk/other; set"):
        pilatus.connect()
    pilatus.close()


def test_images_go_to_the_folder_that_the_light_streamer_watches_now(
    simulated: SimulatedCamserver, light: LightReady, tmp_path: Path
) -> None:
    with start_light(tmp_path / "first") as before:
        pilatus = unit(simulated, light, LightStreamer=before.answer.address)
        pilatus.connect()
    with start_light(
        tmp_path / "second", before.answer.stream_port, int(before.answer.control.rpartition(":")[2])
    ):
        pilatus.prepare(series(pilatus))
        assert simulated.box.settings.folder == tmp_path / "second"
        pilatus.close()


def test_a_light_streamer_that_is_not_there_is_a_lost_box(simulated: SimulatedCamserver) -> None:
    given = {"Host": "127.0.0.1", "Port": simulated.port, "LightStreamer": "127.0.0.1:9"}
    pilatus = Pilatus(complete_properties(Pilatus, given))
    pilatus._light._client._requests._timeout = 0.2
    with pytest.raises(BoxLost, match=r"light streamer at .*start the light streamer on the control unit"):
        pilatus.connect()
    pilatus.close()


def test_a_shape_that_is_given_is_not_asked_for(simulated: SimulatedCamserver, light: LightReady) -> None:
    pilatus = unit(simulated, light, SensorShape="195x487")
    pilatus.connect()
    assert pilatus.check(series(pilatus)).shape == (195, 487)  # type: ignore[union-attr]
    assert not heard(simulated, "Telemetry")
    pilatus.close()


# Energy and threshold


def test_an_energy_takes_the_threshold_along(pilatus: Pilatus, simulated: SimulatedCamserver) -> None:
    pilatus.apply({"Energy": 10000.0})
    assert (pilatus.values()["Energy"], pilatus.values()["Threshold"]) == (10000.0, 5000.0)
    assert heard(simulated, "SetEnergy ") == ["SetEnergy 10000"]


def test_a_threshold_is_set_with_the_energy_that_there_is(
    pilatus: Pilatus, simulated: SimulatedCamserver
) -> None:
    pilatus.apply({"Threshold": 4000.0})
    assert heard(simulated, "SetThreshold ") == ["SetThreshold energy 12400 4000"]
    pilatus.apply({"Threshold": 5500.0, "Energy": 11000.0})
    assert heard(simulated, "SetThreshold ")[1:] == ["SetThreshold energy 11000 5500"]
    assert pilatus.values()["Energy"] == 11000.0


def test_what_somebody_has_set_at_camservers_window_is_put_right_at_arm(
    pilatus: Pilatus, simulated: SimulatedCamserver
) -> None:
    wanted = series(pilatus)
    simulated.type_at_window("SetEnergy 8000")
    pilatus.prepare(wanted)
    assert simulated.box.settings.energy == 12400.0
    simulated.box.heard.clear()
    pilatus.prepare(wanted)
    assert not heard(simulated, "SetThreshold ")


def test_without_a_threshold_nothing_is_armed(folder: Path, light: LightReady) -> None:
    with SimulatedCamserver(folder, sensor=SENSOR, trimmed=False) as simulated:
        pilatus = unit(simulated, light)
        pilatus.connect()
        assert not {"Energy", "Threshold"} & set(pilatus.values())
        with pytest.raises(CameraError, match="has no threshold; set Energy or Threshold, then call Arm"):
            pilatus.prepare(series(pilatus))
        pilatus.close()


# Series

PLANS = {
    TriggerMode.INTERNAL: ("Exposure", 6, IndexSource.HARDWARE_COUNTER),
    TriggerMode.SOFTWARE: ("Exposure", 3, IndexSource.HARDWARE_COUNTER),
    TriggerMode.EXTERNAL: ("ExtTrigger", 6, IndexSource.HARDWARE_COUNTER),
}


@pytest.mark.parametrize("mode", PLANS)
def test_trigger_modes_are_camservers(
    pilatus: Pilatus, simulated: SimulatedCamserver, mode: TriggerMode
) -> None:
    pilatus.prepare(series(pilatus, trigger_mode=mode, n_triggers=2, n_frames_per_trigger=3))
    command, images, source = PLANS[mode]
    assert pilatus._plan is not None and pilatus._plan.command == command
    assert simulated.box.settings["NImages"] == images
    assert pilatus.index_source is source


@pytest.mark.parametrize(
    ("mode", "command"),
    [(TriggerMode.EXTERNAL_MULTI, "ExtMTrigger"), (TriggerMode.EXTERNAL_MULTI_GATE, "ExtEnable")],
)
def test_an_edge_is_an_image(
    pilatus: Pilatus, simulated: SimulatedCamserver, mode: TriggerMode, command: str
) -> None:
    pilatus.prepare(series(pilatus, trigger_mode=mode, n_triggers=4))
    assert pilatus._plan is not None and pilatus._plan.command == command
    assert simulated.box.settings["NImages"] == 4
    assert pilatus.index_source is IndexSource.ARRIVAL
    simulated.box.heard.clear()
    with pytest.raises(CameraError, match="exposes one frame; set nFramesPerTrigger to 1"):
        pilatus.check(series(pilatus, trigger_mode=mode, n_triggers=2, n_frames_per_trigger=2))
    assert not simulated.box.heard, "camserver was not asked"


def test_more_images_than_camserver_takes_are_refused_without_asking_it(
    pilatus: Pilatus, simulated: SimulatedCamserver
) -> None:
    with pytest.raises(CameraError, match="at most 65535 images in a series, 65536 are asked for"):
        pilatus.check(series(pilatus, n_triggers=65536))
    pilatus.check(series(pilatus, trigger_mode=TriggerMode.SOFTWARE, n_triggers=1_000_000))
    assert not simulated.box.heard


@pytest.mark.parametrize(
    ("exposure", "latency", "period"), [(0.5, 0.0, 0.50095), (0.5, 0.1, 0.6), (1e-6, 0.0, 0.002)]
)
def test_the_period_has_room_for_the_read_out(
    pilatus: Pilatus, simulated: SimulatedCamserver, exposure: float, latency: float, period: float
) -> None:
    pilatus.prepare(series(pilatus, exposure_time=exposure, latency_time=latency))
    assert simulated.box.settings["ExpTime"] == pytest.approx(exposure)
    assert simulated.box.settings["ExpPeriod"] == pytest.approx(period)
    taken = pilatus.as_prepared(series(pilatus, exposure_time=exposure, latency_time=latency))
    assert taken.exposure_time + max(taken.latency_time, pilatus.readout_time()) == pytest.approx(period)


@pytest.mark.parametrize("exposure", [0.10000006, 0.12345675, 1.00000005, 0.0123456499])
def test_the_period_has_room_for_the_read_out_of_the_rounded_exposure(exposure: float) -> None:
    made = modes.plan(rig.settings(exposure_time=exposure, latency_time=0.0))
    tenths = [round(1e7 * value) for value in (made.exposure, made.period, modes.READOUT)]
    assert tenths[1] - tenths[0] >= tenths[2]
    assert (made.exposure, made.period) == (tenths[0] / 1e7, tenths[1] / 1e7)


def test_times_that_camserver_rounds_are_shown_as_it_has_them(pilatus: Pilatus) -> None:
    wanted = series(pilatus, exposure_time=0.10000004, latency_time=0.05000004)
    pilatus.prepare(wanted)
    taken = pilatus.as_prepared(wanted)
    assert taken.exposure_time == 0.1
    pilatus.prepare(taken)
    assert pilatus.as_prepared(taken) == taken


def test_what_a_new_threshold_resets_is_written_for_each_series(
    pilatus: Pilatus, simulated: SimulatedCamserver
) -> None:
    pilatus.prepare(series(pilatus, n_triggers=5))
    pilatus.apply({"Energy": 10000.0})
    assert simulated.box.settings["NImages"] == 1
    pilatus.prepare(series(pilatus, n_triggers=5))
    assert (simulated.box.settings["NImages"], simulated.box.settings["GapFill"]) == (5, -1)


def test_settings_of_a_series_are_written_where_they_matter(
    pilatus: Pilatus, simulated: SimulatedCamserver
) -> None:
    camera = {
        "GapFill": False,
        "Delay": 0.5,
        "GatesPerFrame": 3,
        "DebounceTime": 1e-6,
        "RetriggerMode": "off",
    }
    now = simulated.box.settings
    pilatus.prepare(series(pilatus, camera=camera))
    assert (now["GapFill"], now["Delay"], now["NExpFrame"], now["SetRetriggerMode"]) == (0, 0.0, 1, 0)
    pilatus.prepare(series(pilatus, camera=camera, trigger_mode=TriggerMode.EXTERNAL))
    assert now["Delay"] == 0.5
    pilatus.prepare(series(pilatus, camera=camera, trigger_mode=TriggerMode.EXTERNAL_MULTI_GATE))
    assert (now["NExpFrame"], now["DebTime"]) == (3, 1e-6)
    simulated.box.heard.clear()
    pilatus.prepare(series(pilatus, camera={"RetriggerMode": "unchanged"}))
    assert not heard(simulated, "SetRetriggerMode")


def test_a_detector_of_one_module_has_no_gaps_to_fill(
    simulated: SimulatedCamserver, light: LightReady
) -> None:
    pilatus = unit(simulated, light, SensorShape="195x487")
    pilatus.connect()
    pilatus.prepare(series(pilatus))
    assert not heard(simulated, "GapFill")
    pilatus.close()


def test_names_of_a_series_of_software_triggers_go_on(box: Rig, simulated: SimulatedCamserver) -> None:
    arm = box.arm(0.01, trigger_mode=TriggerMode.SOFTWARE, n_triggers=3, n_frames_per_trigger=2).series
    for _ in range(3):
        box.until(lambda status: status.ready_for_trigger)
        box.engine.trigger()
    _, frames, _ = box.series()
    assert heard(simulated, "Exposure") == [f"Exposure penstock-{arm[:12]}_{n:06d}.cbf" for n in (0, 2, 4)]
    for number, frame in enumerate(frames):
        pixels = cbf.decode(frame.blobs[0], SENSOR[0] * SENSOR[1]).reshape(SENSOR)
        assert frame.image.frame == frame_number(pixels) == number
        assert frame.image.trigger == number // 2


def test_a_series_of_one_image_has_its_number_too(box: Rig, simulated: SimulatedCamserver) -> None:
    box.arm(0.01, n_triggers=1)
    _, (frame,), _ = box.series()
    assert frame.image.frame == 0


def test_nothing_is_asked_during_a_series(box: Rig, simulated: SimulatedCamserver) -> None:
    box.arm(0.3, n_triggers=4)
    box.until(lambda status: status.acquired == 1)
    simulated.box.heard.clear()
    box.until(lambda status: status.acquired == 3)
    assert not simulated.box.heard
    assert box.unit.read("DetectorState") == "exposing"
    box.until_state("idle")


# Space


def test_a_series_that_does_not_fit_is_refused_with_the_number_that_does(
    folder: Path, light: LightReady
) -> None:
    with SimulatedCamserver(folder, sensor=SENSOR, capacity=100_000) as simulated:
        pilatus = unit(simulated, light)
        pilatus.connect()
        with pytest.raises(
            CameraError,
            match=r"100 images of 0\.00858 MB \(property BytesPerPixel\) do not fit on the RAM disk of "
            r"camserver .*, which has 0\.0993 MB free: at most 11 do",
        ):
            pilatus.prepare(series(pilatus, n_triggers=100))
        pilatus.prepare(series(pilatus, n_triggers=11))
        # With SOFTWARE each trigger is an exposure of its own, whose files are gone before the next one.
        pilatus.prepare(series(pilatus, trigger_mode=TriggerMode.SOFTWARE, n_triggers=100))
        assert pilatus.most_frames() == 11
        pilatus.close()


def test_frames_until_stop_are_as_many_as_fit_when_it_is_armed(folder: Path, light: LightReady) -> None:
    with SimulatedCamserver(folder, sensor=SENSOR, capacity=100_000) as simulated:
        box = Rig(unit(simulated, light))
        box.until_state("idle")
        others = folder / "of-others"
        others.write_bytes(bytes(50_000))
        try:
            box.prepare(n_triggers=0)
            assert heard(simulated, "NImages") == ["NImages 5"]
        finally:
            others.unlink()
            box.close()


def test_once_there_were_images_the_largest_of_them_counts(box: Rig, simulated: SimulatedCamserver) -> None:
    assert isinstance(box.unit, Pilatus)
    before = box.unit._space.frame_bytes(SENSOR)
    box.arm(0.01, n_triggers=2)
    box.until_state("idle")
    after = box.unit._space.frame_bytes(SENSOR)
    _, frames, _ = box.series()
    assert after != before
    assert after >= int(1.1 * max(len(frame.blobs[0]) for frame in frames))


# Ends and faults


def test_a_refusal_of_camserver_is_passed_on_unchanged_and_nothing_is_left_behind(
    box: Rig, simulated: SimulatedCamserver
) -> None:
    simulated.faults = Faults(refuse={"ExtTrigger": "no high voltage on bank 2"})
    box.prepare(0.01, trigger_mode=TriggerMode.EXTERNAL)
    with pytest.raises(Refused, match="15 ERR no high voltage on bank 2"):
        done(box.engine.start())
    _, frames, end = box.series()
    assert frames == [] and end.reason == "abort" and "no high voltage on bank 2" in str(end.message)
    assert "no high voltage" in box.until_state("idle").message  # ready for the next
    simulated.faults = Faults()
    box.arm(0.01, n_triggers=2)
    assert len(box.series()[1]) == 2


@pytest.mark.parametrize("mode", [TriggerMode.INTERNAL, TriggerMode.SOFTWARE])
def test_a_disk_that_becomes_full_ends_the_series_with_camservers_words_and_the_counts(
    box: Rig, simulated: SimulatedCamserver, mode: TriggerMode
) -> None:
    box.arm(0.05, trigger_mode=mode, n_triggers=1, n_frames_per_trigger=100)
    if mode is TriggerMode.SOFTWARE:
        box.engine.trigger()
    box.until(lambda status: (status.acquired or 0) >= 2)
    simulated.faults = Faults(disk_full=True)
    message = box.until_state("fault").message
    assert "Cannot write penstock-" in message and "No space left on device" in message
    assert "of 100 frames taken" in message
    _, frames, end = box.series()
    assert end.reason == "fault" and "No space left on device" in str(end.message)
    assert len(frames) >= 2 and end.sent == len(frames)
    simulated.faults = Faults()
    done(box.engine.reset())
    box.until_state("idle")
    box.arm(0.01, n_triggers=2)
    assert len(box.series()[1]) == 2


def test_an_exposure_that_is_refused_in_a_series_ends_it_with_the_words(
    box: Rig, simulated: SimulatedCamserver
) -> None:
    simulated.faults = Faults(refuse={"Exposure": "no high voltage"})
    box.arm(0.01, n_triggers=3)
    assert "15 ERR no high voltage" in box.until_state("fault").message
    _, frames, end = box.series()
    assert (frames, end.reason) == ([], "fault")
    assert "no high voltage" in str(end.message)
    done(box.engine.reset())
    box.until_state("idle")


def test_an_error_in_a_series_is_a_fault_in_camservers_words(box: Rig, simulated: SimulatedCamserver) -> None:
    box.arm(0.05, trigger_mode=TriggerMode.EXTERNAL, n_triggers=100)
    simulated.faults = Faults(error="bank 2 does not answer")
    triggers = TriggerSource(_address(simulated.trigger_address))
    triggers.pulse()
    triggers.close()
    message = box.until_state("fault").message
    assert "has ended the series: 7 ERR bank 2 does not answer (0 of 100 frames taken, 0 sent)" in message
    assert "7 ERR bank 2 does not answer" in str(box.series()[2].message)


def test_two_answers_to_a_kill_are_one_end(box: Rig, simulated: SimulatedCamserver) -> None:
    simulated.faults = Faults(both_ends=True)
    box.arm(LONG, n_triggers=3)
    done(box.engine.abort())
    assert "aborted" in box.until_state("idle").message
    assert box.series()[2].reason == "abort"
    box.arm(0.05, n_triggers=2)
    assert len(box.series()[1]) == 2
    assert "2 of 2 frames triggered" in box.until_state("idle").message


@pytest.mark.parametrize("how", ["abort", "stop", "typed K"])
def test_a_killed_series_has_ended_once_camserver_takes_the_next_one(
    box: Rig, simulated: SimulatedCamserver, how: str
) -> None:
    simulated.faults = Faults(both_ends=True, slow_kill=0.5)
    box.arm(0.05, trigger_mode=TriggerMode.EXTERNAL_MULTI, n_triggers=3)
    if how == "typed K":
        simulated.type_at_window("K")
    else:
        done(getattr(box.engine, how)())
    box.until_state("idle")
    assert not simulated.box.exposing
    assert box.series()[1] == []
    box.arm(0.01, n_triggers=2)
    assert [frame.image.frame for frame in box.series()[1]] == [0, 1]
    assert "2 of 2 frames triggered" in box.until_state("idle").message


def test_what_camserver_said_in_a_series_is_forgotten_after_it(
    box: Rig, simulated: SimulatedCamserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readings, "STATE_EVERY", LONG)
    assert isinstance(box.unit, Pilatus)
    box.arm(0.3, n_triggers=1)
    until(lambda: simulated.box.exposing, "exposing")
    box.unit._readings.learn()  # as when the watcher asks while the series is being armed
    box.until_state("idle")
    assert box.unit.progress().state is BoxState.IDLE


def test_stop_ends_a_series_whose_exposures_are_long_with_what_there_is(box: Rig) -> None:
    box.arm(0.01, trigger_mode=TriggerMode.SOFTWARE, n_triggers=5)
    box.engine.trigger()
    box.until(lambda status: status.acquired == 1)
    done(box.engine.stop())
    box.until_state("idle")
    _, frames, end = box.series()
    assert (len(frames), end.reason, end.triggered, end.sent) == (1, "stop", 1, 1)


def test_a_file_that_does_not_come_is_a_lost_frame_at_its_place(
    box: Rig, simulated: SimulatedCamserver
) -> None:
    simulated.faults = Faults(lost_files=(1,))
    box.arm(0.01, n_triggers=3)
    _, frames, end = box.series()
    assert [frame.image.frame for frame in frames] == [0, 2]
    assert (end.triggered, end.sent, end.lost) == (3, 2, {"camera": 1})
    box.until_state("idle")
    assert box.unit.dropped() == 1


def test_who_ends_it_at_camservers_window_has_ended_it_early(box: Rig, simulated: SimulatedCamserver) -> None:
    box.arm(0.05, n_triggers=1000)
    box.until(lambda status: (status.acquired or 0) >= 2)
    simulated.type_at_window("K")
    assert box.until_state("idle").ended_early
    _, _, end = box.series()
    assert end.reason == "stop" and "somebody has ended it at camserver" in str(end.message)


def test_who_ends_a_triggered_image_at_camservers_window_has_ended_the_series(
    box: Rig, simulated: SimulatedCamserver
) -> None:
    box.arm(LONG, trigger_mode=TriggerMode.SOFTWARE, n_triggers=3)
    box.engine.trigger()
    until(lambda: simulated.box.exposing, "exposing")
    simulated.type_at_window("K")
    box.until_state("idle")
    _, frames, end = box.series()
    assert (frames, end.reason) == ([], "stop")
    assert "somebody has ended it at camserver" in str(end.message)
    box.arm(0.01, n_triggers=2)
    assert len(box.series()[1]) == 2


def test_a_process_that_ends_in_a_series_ends_it_at_camserver_and_light_streamer(
    box: Rig, simulated: SimulatedCamserver, light: LightReady
) -> None:
    box.arm(LONG, trigger_mode=TriggerMode.INTERNAL)
    light.until(lambda status: status.state == "acquiring")
    box.engine.close()
    light.until(lambda status: status.state == "idle")
    assert not simulated.box.exposing


@pytest.mark.parametrize("mode", [TriggerMode.INTERNAL, TriggerMode.SOFTWARE])
def test_an_exposure_whose_end_nobody_says_is_a_fault(
    box: Rig, simulated: SimulatedCamserver, mode: TriggerMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(series_module, "LATE_BY", 0.3)
    monkeypatch.setattr(client_module, "KILLED_WITHIN", 0.2)
    simulated.faults = Faults(silent_ends=True)
    box.arm(0.01, trigger_mode=mode, n_triggers=1)
    if mode is TriggerMode.SOFTWARE:
        box.engine.trigger()
    assert "is idle, and has not said that an exposure of 0.01095 s has" in box.until_state("fault").message
    simulated.faults = Faults()
    done(box.engine.reset())
    box.until_state("idle")
    box.arm(0.01, n_triggers=2)
    box.until_state("idle")


def test_who_arms_it_at_camservers_window_is_noticed_and_killed_by_reset_only(
    box: Rig, simulated: SimulatedCamserver
) -> None:
    simulated.type_at_window("ExpTime 3600")
    simulated.type_at_window("Exposure theirs.cbf")
    box.until_state("fault")
    done(box.engine.abort())
    assert simulated.box.exposing
    done(box.engine.reset())
    assert not simulated.box.exposing


def test_a_light_streamer_that_was_restarted_has_lost_the_series(
    box: Rig, simulated: SimulatedCamserver, light: LightReady
) -> None:
    box.arm(0.05, n_triggers=1000)
    light.reset()
    assert "has ended this series by itself" in box.until_state("fault").message
    done(box.engine.reset())
    box.until_state("idle")
    assert not simulated.box.exposing


def test_a_control_unit_that_fails_ends_the_file_and_is_a_fault(
    box: Rig, simulated: SimulatedCamserver
) -> None:
    box.arm(0.05, trigger_mode=TriggerMode.EXTERNAL, n_triggers=3)
    simulated.power(False)
    assert "broke off" in box.until_state("fault").message
    assert box.series()[2].reason == "fault"


def test_without_a_receiver_nothing_is_armed(
    pilatus: Pilatus, simulated: SimulatedCamserver, light: LightReady
) -> None:
    pilatus.prepare(series(pilatus))
    from penstock.stins.user_part import UserPart

    with pytest.raises(CameraError, match=r"the light streamer at .* refuses: .*no receiver"):
        pilatus.arm(UserPart(arm="0123456789abcdef", filename=""))
    assert pilatus.progress().state is BoxState.IDLE


# Readings


def test_readings_are_camservers_and_a_missing_sensor_has_none(pilatus: Pilatus) -> None:
    assert (pilatus.read("Temperature0"), pilatus.read("Humidity1")) == (27.3, 9.8)
    assert (pilatus.read("CameraName"), pilatus.read("DetectorState")) == ("PILATUS3 300K", "idle")
    assert float(pilatus.read("RamDiskFree")) > 0
    for name in ("Temperature2", "Humidity2"):
        with pytest.raises(CameraError, match=f"has no {name}"):
            pilatus.read(name)


def test_it_is_asked_seldom_while_it_rests(
    pilatus: Pilatus, simulated: SimulatedCamserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readings, "STATE_EVERY", 60.0)
    for _ in range(20):
        pilatus.progress()
        pilatus.read("Temperature0")
    assert len(simulated.box.heard) <= 1


def test_a_description_goes_into_the_file(pilatus: Pilatus) -> None:
    described = dict(pilatus.describe())
    json.dumps(described)
    assert (described["x_pixel_size"], described["threshold_energy"]) == (172e-6, 6200.0)


# Everything at once


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_whatever_happens_in_a_series_the_next_one_is_whole(
    box: Rig, simulated: SimulatedCamserver, seed: int
) -> None:
    """Seeded: modes, ends at any moment, kills that are answered oddly, files that do not come."""
    chance = random.Random(seed)
    for number in range(12):
        mode = chance.choice([TriggerMode.INTERNAL, TriggerMode.SOFTWARE, TriggerMode.EXTERNAL_MULTI])
        frames, how = chance.randint(1, 6), chance.choice(["", "", "stop", "abort"])
        simulated.faults = Faults(
            both_ends=chance.random() < 0.5,
            slow_kill=chance.choice([0.0, 0.0, 0.2]),
            lost_files=(0,) if chance.random() < 0.1 else (),
            ignore_kills=chance.choice([0, 0, 0, 1]),
        )
        exposure = chance.choice([0.001, 0.02, 0.1])
        series = box.arm(exposure, trigger_mode=mode, n_triggers=frames).series
        triggers = TriggerSource(_address(simulated.trigger_address))
        given = frames if not how else chance.randint(0, frames)
        for trigger in range(given):
            if mode is TriggerMode.SOFTWARE:
                box.until(lambda status: status.ready_for_trigger)
                box.engine.trigger()
            elif mode is TriggerMode.EXTERNAL_MULTI:
                triggers.pulse(moment=1000.0 * number + trigger)
        triggers.close()
        if how:
            time.sleep(chance.random() * 0.1)  # the moment of the end is what is tried out
            done(getattr(box.engine, how)())
        status = box.until(lambda status: status.state in ("idle", "fault"))
        assert status.state == "idle", status.message
        start, taken, end = box.series()
        assert start.header.series == end.series == series
        places = [frame.image.frame for frame in taken]
        assert places == sorted(set(places)) and all(
            0 <= place < frames for place in places if place is not None
        )
        assert (end.triggered or 0) == (end.sent or 0) + sum((end.lost or {}).values())
        assert end.sent == len(taken)
        if not how:
            assert (end.reason, end.triggered) == ("complete", frames)
    simulated.faults = Faults()
    box.arm(0.01, n_triggers=3)
    assert [frame.image.frame for frame in box.series()[1]] == [0, 1, 2]


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host, int(port)
