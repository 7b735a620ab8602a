"""A series of a Pilatus is set up: trigger modes, times, names of files, and the space for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.codecs import cbf
from penstock.devices._camserver import modes, readings
from penstock.devices.pilatus import Pilatus
from penstock.stins.messages import IndexSource
from penstock.streamer.camera.settings import TriggerMode
from penstock.streamer.camera.unit import CameraError, NotAsked
from penstock.streamer.simulated.camserver.server import SimulatedCamserver
from penstock.streamer.simulated.patterns import frame_number
from tests.devices.pilatus.units import SENSOR, heard, series, unit
from tests.streamer import rig
from tests.streamer.own_stream.rig import Rig
from tests.streamer.simulated.camserver.light_process import LightReady

PLANS = {
    TriggerMode.INTERNAL: ("Exposure", 6, IndexSource.HARDWARE_COUNTER),
    TriggerMode.SOFTWARE: ("Exposure", 3, IndexSource.HARDWARE_COUNTER),
    TriggerMode.EXTERNAL: ("ExtTrigger", 6, IndexSource.HARDWARE_COUNTER),
}


# -- Series ----------------------------------------------------------------------------------------


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
    simulated: SimulatedCamserver, light: LightReady, monkeypatch: pytest.MonkeyPatch
) -> None:
    pilatus = unit(simulated, light, SensorShape="195x487")
    monkeypatch.setattr(pilatus._camserver, "image_format", lambda: None)
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


def test_nothing_is_asked_during_a_series(
    box: Rig, simulated: SimulatedCamserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readings, "HOLD", 0.0)
    box.arm(0.3, n_triggers=4)
    box.until(lambda status: status.acquired == 1)
    simulated.box.heard.clear()
    box.until(lambda status: status.acquired == 3)
    assert not simulated.box.heard
    assert box.unit.read("DetectorState") == "exposing"
    with pytest.raises(NotAsked, match="Temperature0 is not asked for during a series"):
        box.unit.read("Temperature0")
    box.until_state("idle")


# -- Space -----------------------------------------------------------------------------------------


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
