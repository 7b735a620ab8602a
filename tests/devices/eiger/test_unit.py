"""What the device Eiger shows of its control unit, and what it makes of values that it does not know."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.devices._dectris import parameters as keys
from penstock.devices.eiger import Eiger
from penstock.streamer.camera.checks import complete_properties
from penstock.streamer.camera.own_stream import BoxState
from penstock.streamer.camera.settings import Limits
from penstock.streamer.camera.unit import CameraError
from tests.devices._dectris.desk import Desk
from tests.devices.eiger.units import DETECTOR, series, unit


def test_a_box_that_is_off_keeps_no_process_from_starting_but_a_missing_host_does() -> None:
    Eiger(complete_properties(Eiger, {"Host": "192.0.2.1"})).close()
    with pytest.raises(CameraError, match="property Host is empty"):
        Eiger(complete_properties(Eiger, {}))


@pytest.mark.parametrize("host", ["http://10.0.0.1", "10.0.0.1:80", " 10.0.0.1", "dcu/", "[::1]:80"])
def test_a_host_that_is_more_than_a_host_is_refused_with_what_it_should_be(host: str) -> None:
    with pytest.raises(CameraError, match=r"the property Host is '.*'; set it to only the name or address"):
        Eiger(complete_properties(Eiger, {"Host": host}))


@pytest.mark.parametrize(
    ("host", "endpoint"),
    [("dcu-1.lab.eu", "tcp://dcu-1.lab.eu:9999"), ("fd00::5", "tcp://[fd00::5]:9999")],
)
def test_a_host_is_a_name_or_an_address(host: str, endpoint: str) -> None:
    assert Eiger(complete_properties(Eiger, {"Host": host})).stream_endpoint() == endpoint


@pytest.mark.parametrize(("stream", "port", "expected"), [("v1", 0, 9999), ("v2", 0, 31001), ("v2", 5, 5)])
def test_its_stream_has_the_port_of_its_version(stream: str, port: int, expected: int) -> None:
    given = {"Host": "dcu", "Stream": stream, "StreamPort": port}
    assert Eiger(complete_properties(Eiger, given)).stream_endpoint() == f"tcp://dcu:{expected}"


def test_it_shows_what_the_box_has_and_writes_nothing(eiger: Eiger, desk: Desk) -> None:
    values = eiger.values()
    assert (values["Energy"], values["Threshold"], values["RoiMode"]) == (12400.0, 6200.0, "disabled")
    assert (values["FlatfieldCorrectionApplied"], values["FileWriter"], values["Monitor"]) == (
        True,
        False,
        False,
    )
    assert ("Threshold2" in values, "Threshold3" in values) == (desk.api == "1.8.0", False)
    assert eiger.readout_time() == 1e-5
    assert desk.puts == []


def test_limits_are_the_boxs(eiger: Eiger, desk: Desk) -> None:
    desk.entries = {
        f"{DETECTOR}/count_time": {"min": 1e-3, "max": 1800.0},
        f"{DETECTOR}/photon_energy": {"min": 3500.0, "max": 40000.0},
    }
    eiger.connect()
    assert eiger.limits()["ExposureTime"] == Limits(1e-3, 1800.0)
    assert eiger.limits()["Energy"] == Limits(3500.0, 40000.0)


KEY_OF = {s.parameter.name: s.paths[0] for s in keys.SETTINGS}


@pytest.mark.parametrize("unknown", ["", None, [], {"a": 1}, "n/a"], ids=str)
def test_values_that_the_box_does_not_know_are_left_out_and_end_nothing(
    new: tuple[Desk, Eiger], unknown: object
) -> None:
    desk, eiger = new
    names = {"Energy", "Nexpi", "FlatfieldCorrectionApplied", "FileWriter", "Threshold2Mode"}
    if unknown != "n/a":  # which a text may be
        names |= {"FileWriterNamePattern", "RoiMode", "Compression"}
    paths = {KEY_OF[name] for name in names}
    desk.keys |= dict.fromkeys(
        [*paths, f"{DETECTOR}/detector_readout_time", f"{DETECTOR}/x_pixel_size"], unknown
    )
    desk.entries = {f"{DETECTOR}/photon_energy": {"min": unknown, "max": unknown, "allowed_values": unknown}}
    known = set(eiger.values())
    eiger.connect()
    assert known - set(eiger.values()) == names
    assert eiger.limits()["Energy"] == Limits()
    assert eiger.readout_time() == 0.0
    if not isinstance(unknown, str) or not unknown:
        assert "x_pixel_size" not in eiger.describe()
    eiger.prepare(series(eiger))


@pytest.mark.parametrize("unknown", ["", None, [], {"a": 1}], ids=str)
def test_readings_that_the_box_does_not_know_are_said_in_a_sentence(
    new: tuple[Desk, Eiger], unknown: object
) -> None:
    desk, eiger = new
    for name, (_, paths) in keys.READINGS.items():
        if name != "DetectorState":
            desk.keys[paths[0]] = unknown
            with pytest.raises(CameraError, match=f"does not know {name} now: it says"):
                eiger.read(name)
    assert eiger.progress().state is BoxState.IDLE


@pytest.mark.parametrize("unknown", ["", None, [], 5])
def test_a_state_that_the_box_does_not_say_is_waited_for(eiger: Eiger, desk: Desk, unknown: Any) -> None:
    desk.state = unknown
    assert eiger.progress().state is BoxState.BUSY


def test_an_empty_text_is_a_value_where_the_box_allows_it(eiger: Eiger, desk: Desk) -> None:
    desk.keys[f"{DETECTOR}/roi_mode"] = ""
    desk.entries[f"{DETECTOR}/roi_mode"] = {"allowed_values": ["", "4M"]}
    eiger.connect()
    assert eiger.values()["RoiMode"] == ""


def test_limits_that_contradict_each_other_are_none(eiger: Eiger, desk: Desk) -> None:
    desk.entries[f"{DETECTOR}/photon_energy"] = {"min": 9000.0, "max": 8000.0}
    eiger.connect()
    assert eiger.limits()["Energy"] == Limits()


def test_stream_v2_of_a_box_that_has_none_is_refused_by_name() -> None:
    with Desk("1.6.0") as desk, pytest.raises(CameraError, match="has no stream v2: its SIMPLON 1.6.0"):
        unit(desk, "v2").connect()
