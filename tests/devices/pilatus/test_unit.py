"""What the device Pilatus shows of camserver and the light streamer: settings, thresholds, readings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.devices._camserver import readings
from penstock.devices.pilatus import Pilatus
from penstock.streamer.camera.checks import complete_properties
from penstock.streamer.camera.own_stream import BoxLost
from penstock.streamer.camera.unit import CameraError
from penstock.streamer.simulated.camserver.server import SimulatedCamserver
from tests.devices.pilatus.units import SENSOR, heard, series, unit
from tests.streamer.simulated.camserver.light_process import LightReady, start_light

# -- The unit --------------------------------------------------------------------------------------


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


def test_a_shape_that_is_given_counts_where_camserver_says_none(
    simulated: SimulatedCamserver, light: LightReady, monkeypatch: pytest.MonkeyPatch
) -> None:
    pilatus = unit(simulated, light, SensorShape="195x487")
    monkeypatch.setattr(pilatus._camserver, "image_format", lambda: None)
    pilatus.connect()
    assert pilatus.check(series(pilatus)).shape == (195, 487)  # type: ignore[union-attr]
    pilatus.close()


def test_a_shape_that_is_not_camservers_is_refused_with_both(
    simulated: SimulatedCamserver, light: LightReady
) -> None:
    pilatus = unit(simulated, light, SensorShape="24x16")  # the other way round
    with pytest.raises(CameraError, match=r"SensorShape is 24x16, and the images of .* have 16x24"):
        pilatus.connect()
    pilatus.close()


# -- Energy and threshold --------------------------------------------------------------------------


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


# -- Readings --------------------------------------------------------------------------------------


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
    assert described["underload_value"] == 0  # so that -1 and -2 are no counts
