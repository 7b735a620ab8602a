"""What has changed at camserver since the last series, or since Arm: settings, files, camserver itself."""

from __future__ import annotations

import shutil
from pathlib import Path
from threading import Event, current_thread

import msgspec
import pytest

from penstock.codecs.cbf_header import facts_of
from penstock.devices._camserver import judged
from penstock.devices.pilatus import Pilatus
from penstock.streamer.camera.own_stream import BoxState
from penstock.streamer.camera.settings import TriggerMode
from penstock.streamer.camera.unit import CameraError
from penstock.streamer.remote.light_client import LightStatus
from penstock.streamer.simulated.camserver.faults import Faults
from penstock.streamer.simulated.camserver.server import SimulatedCamserver
from tests.devices.pilatus.units import SENSOR, series, unit
from tests.streamer.own_stream.rig import Rig, done
from tests.streamer.simulated.camserver.light_process import LightReady

# -- How it counts -----------------------------------------------------------------------------------


def test_each_series_says_how_camserver_counts_now_and_what_its_first_image_has_said(
    box: Rig, simulated: SimulatedCamserver
) -> None:
    box.arm(0.01, n_triggers=2)
    start, _, end = box.series()
    assert start.metadata["saturation_value"] == 1048574
    assert start.metadata["camserver"] == {"trim_file": "simulated_T6200.bin"}
    assert not {"sensor_material", "countrate_correction_applied"} & start.metadata.keys(), "not known yet"
    same = {
        key: facts_of(end.image_header or "")[key]
        for key in ("saturation_value", "threshold_energy", "count_time")
    }
    assert same == {key: start.metadata[key] for key in same}
    assert facts_of(end.image_header or "")["countrate_correction_applied"] is False
    box.until_state("idle")

    simulated.type_at_window("Tau 1.24e-07")
    done(box.engine.set({"Energy": 11000.0}))
    box.arm(0.01, n_triggers=2)
    start, _, end = box.series()
    said = start.metadata
    assert (said["saturation_value"], said["countrate_correction_applied"]) == (1221026, True)
    assert said["camserver"] == {"tau": 1.24e-07, "trim_file": "simulated_T5500.bin"}
    assert (said["incident_energy"], said["threshold_energy"]) == (11000.0, 5500.0)
    assert (said["sensor_material"], said["sensor_thickness"]) == ("Si", 0.00045), "of the series before"
    assert facts_of(end.image_header or "")["camserver"]["trim_file"] == "simulated_T5500.bin"


def test_what_was_changed_between_arm_and_trigger_is_in_the_header_of_the_end_message(
    box: Rig, simulated: SimulatedCamserver
) -> None:
    box.arm(0.01, trigger_mode=TriggerMode.SOFTWARE, n_triggers=1)
    simulated.type_at_window("Tau 1.24e-07")
    simulated.type_at_window("ExpTime 0.02")
    box.engine.trigger()
    start, _, end = box.series()
    assert (start.metadata["saturation_value"], start.metadata["count_time"]) == (1048574, 0.01)
    assert (
        facts_of(end.image_header or "")["saturation_value"],
        facts_of(end.image_header or "")["count_time"],
    ) == (1221026, 0.02)


def test_a_camserver_that_does_not_say_its_cutoff_is_armed_all_the_same(
    box: Rig, simulated: SimulatedCamserver
) -> None:
    simulated.faults = Faults(refuse={"Tau": "not with this detector"})
    box.arm(0.01, n_triggers=1)
    start, _, end = box.series()
    assert "saturation_value" not in start.metadata
    assert facts_of(end.image_header or "")["saturation_value"] == 1048574


# -- What others have set ----------------------------------------------------------------------------

ELSEWHERE = (
    "ExpTime 7", "ExpPeriod 9", "NImages 9", "NExpFrame 3", "Delay 2", "GapFill 0", "SetAckInt 1",
    "SetEnergy 8000",
)  # fmt: skip


def test_what_was_typed_at_the_window_between_series_is_set_again_at_arm(
    box: Rig, simulated: SimulatedCamserver, tmp_path: Path
) -> None:
    box.arm(0.01, n_triggers=2)
    box.until_state("idle")
    box.series()
    for line in (*ELSEWHERE, f"ImgPath {tmp_path}"):
        simulated.type_at_window(line)
    box.arm(0.01, n_triggers=3)
    _, frames, end = box.series()
    assert [frame.image.frame for frame in frames] == [0, 1, 2] and end.reason == "complete"
    assert (
        facts_of(end.image_header or "")["count_time"],
        facts_of(end.image_header or "")["threshold_energy"],
    ) == (0.01, 6200.0)
    now = simulated.box.settings
    assert (now["NExpFrame"], now["GapFill"], now["SetAckInt"], now.energy) == (1, -1, 0, 12400.0)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("NImages 3", r"has taken images up to 2, not 1: somebody has changed NImages since Arm"),
        ("ImgPath {}", r"has written into {}, not {}: somebody has changed ImgPath since Arm"),
    ],
)
def test_a_series_that_was_changed_between_arm_and_trigger_is_a_fault_that_says_so(
    box: Rig, simulated: SimulatedCamserver, folder: Path, tmp_path: Path, line: str, said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(judged, "APPEARS_IN", 10)
    box.arm(0.005, trigger_mode=TriggerMode.SOFTWARE, n_triggers=2, n_frames_per_trigger=2)
    simulated.type_at_window(line.format(tmp_path))
    box.engine.trigger()
    message = box.until_state("fault").message
    assert said.format(tmp_path, folder) in message and "Arm sets it again" in message
    assert box.series()[2].reason == "fault"
    done(box.engine.reset())
    box.until_state("idle")
    box.arm(0.005, trigger_mode=TriggerMode.SOFTWARE, n_triggers=1, n_frames_per_trigger=2)
    box.engine.trigger()
    _, frames, end = box.series()
    assert (len(frames), end.reason) == (2, "complete")


@pytest.mark.parametrize("busy", [False, True])
def test_a_folder_of_two_names_is_one(
    box: Rig, folder: Path, tmp_path: Path, busy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """camserver may say a path as it was given, or as the kernel does; and the first answer of the light
    streamer may take long, and be from before it has seen the files."""
    assert isinstance(box.unit, Pilatus)
    status, asked = box.unit._light.status, Event()

    def slow() -> LightStatus:
        if current_thread().name not in ("series", "start of the series") or asked.is_set():
            return status()
        asked.set()
        Event().wait(0.6)
        return msgspec.structs.replace(status(), acquired=0)

    if busy:
        monkeypatch.setattr(box.unit._light, "status", slow)
    link = tmp_path / "link"
    link.symlink_to(folder)
    box.prepare(0.005, n_triggers=2)
    box.unit._folder = str(link)
    done(box.engine.start())
    _, frames, end = box.series()
    assert (len(frames), end.reason, end.message) == (2, "complete", None)
    assert asked.is_set() is busy


@pytest.mark.parametrize(
    ("triggers", "images", "arrived", "said"),
    [
        (2, 2, [0], "has taken images up to 0, not 1: somebody has changed NImages since Arm, or has ended"),
        (1, 3, [0], "has taken images up to 0, not 2: somebody has changed NImages since Arm, or has ended"),
    ],
    ids=["the first exposure of two", "the only one"],
)
def test_fewer_images_end_the_series_at_the_first_exposure_that_lacks_some(
    box: Rig, simulated: SimulatedCamserver, triggers: int, images: int, arrived: list[int], said: str
) -> None:
    box.arm(0.005, trigger_mode=TriggerMode.SOFTWARE, n_triggers=triggers, n_frames_per_trigger=images)
    simulated.type_at_window("NImages 1")
    box.engine.trigger()
    status = box.until_state("idle")
    assert said in status.message and said in status.ended_by and status.ended_early
    _, frames, end = box.series()
    assert ([frame.image.frame for frame in frames], end.reason) == (arrived, "stop")
    assert said in str(end.message)


@pytest.mark.parametrize(
    ("path", "planned", "folder", "said"),
    [
        ("/ram/a_00001.cbf", 1, "/ram", ""),
        ("/ram/a_00001.cbf", 1, "", ""),
        ("a_00001.cbf", 1, "/ram", ""),
        ("", 1, "/ram", ""),
        ("(nil)", 1, "/ram", ""),
        ("/ram/a_00000.cbf", 1, "/ram", ""),
        ("/ram/a_00002.cbf", 1, "/ram", "has taken images up to 2, not 1: somebody has changed NImages"),
        ("/tmp/a_00001.cbf", 1, "/ram", "has written into /tmp, not /ram: somebody has changed ImgPath"),
    ],
)
def test_what_the_last_image_says(path: str, planned: int, folder: str, said: str) -> None:
    found = judged.unlike(path, planned, folder)
    assert found.startswith(said) and bool(found) == bool(said)
    few = judged.fewer(path, planned)
    assert few.startswith("has taken images up to 0, not 1") == bool(few) == (path == "/ram/a_00000.cbf")


def test_an_image_folder_that_is_gone_keeps_nobody_from_connecting_and_is_set_at_arm(
    simulated: SimulatedCamserver, light: LightReady, tmp_path: Path
) -> None:
    gone = tmp_path / "gone"
    simulated.type_at_window(f"ImgPath {gone}")
    shutil.rmtree(gone)
    pilatus = unit(simulated, light)
    assert pilatus.connect().state is BoxState.IDLE
    with pytest.raises(CameraError, match="has no RamDiskFree"):
        pilatus.read("RamDiskFree")
    assert pilatus.check(series(pilatus)).shape == SENSOR  # type: ignore[union-attr]
    pilatus.prepare(series(pilatus))
    assert float(pilatus.read("RamDiskFree")) > 0
    pilatus.close()


# -- camserver started again -------------------------------------------------------------------------


def again(simulated: SimulatedCamserver) -> None:
    simulated.power(False)
    simulated.power(True)


def whole(box: Rig) -> None:
    """The next series is whole, once the detector was reset."""
    done(box.engine.reset())
    box.until_state("idle")
    box.arm(0.01, n_triggers=2)
    while True:  # that of the series before may be left
        start, frames, end = box.series()
        if start.header.series == box.engine.status().series:
            break
    assert [frame.image.frame for frame in frames] == [0, 1] and end.reason == "complete"


def test_a_camserver_that_was_started_again_between_series_is_a_fault_and_the_next_is_whole(
    box: Rig, simulated: SimulatedCamserver
) -> None:
    box.arm(0.01, n_triggers=2)
    box.series()
    box.until_state("idle")
    again(simulated)
    assert "broke off (it closed the connection); check that" in box.until_state("fault").message
    whole(box)


@pytest.mark.parametrize("mode", [TriggerMode.INTERNAL, TriggerMode.SOFTWARE, TriggerMode.EXTERNAL])
def test_a_camserver_that_is_started_again_in_a_series_ends_it_and_the_next_is_whole(
    box: Rig, simulated: SimulatedCamserver, mode: TriggerMode
) -> None:
    box.arm(0.05, trigger_mode=mode, n_triggers=1000)
    if mode is TriggerMode.SOFTWARE:
        box.engine.trigger()
    if mode is not TriggerMode.EXTERNAL:
        box.until(lambda status: (status.acquired or 0) >= 1)
    again(simulated)
    message = box.until_state("fault").message
    assert "broke off (it closed the connection); check that" in message
    _, frames, end = box.series()
    assert end.reason == "fault" and "broke off" in str(end.message) and end.sent == len(frames)
    whole(box)


def test_settings_that_camserver_has_lost_are_named_before_the_next_series(
    box: Rig, simulated: SimulatedCamserver
) -> None:
    done(box.engine.set({"Energy": 11000.0}))
    again(simulated)
    box.until_state("fault")
    done(box.engine.reset())
    warning = box.until_state("idle").warning
    assert "Energy was 11000" in warning and "is 12400: write it again" in warning
    done(box.engine.set({"Energy": 11000.0}))
    whole(box)
    assert simulated.box.settings.energy == 11000.0
