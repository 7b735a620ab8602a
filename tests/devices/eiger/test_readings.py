"""Readings of an Eiger, and its control unit's own file writer and monitor."""

from __future__ import annotations

import json

import pytest

from penstock.devices.eiger import Eiger
from penstock.streamer.camera.unit import CameraError
from tests.devices._dectris.desk import Desk
from tests.devices.eiger.units import DETECTOR, USER, series


def test_readings_are_the_boxs_and_older_ones_have_other_keys(eiger: Eiger, desk: Desk) -> None:
    old = desk.api == "1.6.0"
    assert eiger.read("SensorTemperature") == (24.5 if old else 22.5)
    assert eiger.read("Humidity") == (11.0 if old else 3.0)
    assert eiger.read("HighVoltage") == ("198 V" if old else "READY")
    assert (eiger.read("DetectorState"), eiger.read("BitDepth")) == ("idle", 32)
    assert (eiger.read("StreamState"), eiger.read("StreamDropped")) == ("ready", 3)
    assert (eiger.read("MonitorState"), eiger.read("FileWriterState")) == ("normal", "ready")


def test_a_reading_that_the_model_lacks_is_an_error_of_its_own(new: tuple[Desk, Eiger]) -> None:
    desk, eiger = new
    del desk.keys["detector/status/high_voltage/state"]
    with pytest.raises(CameraError, match="has no reading for HighVoltage"):
        eiger.read("HighVoltage")
    assert eiger.read("Humidity") == 3.0


def test_every_reading_has_the_type_that_was_declared(eiger: Eiger) -> None:
    for parameter in eiger.parameters:
        if not parameter.writable:
            assert type(eiger.read(parameter.name)) is type(parameter.default), parameter.name
    with pytest.raises(CameraError):
        eiger.read("Nonsense")


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("CountingMode", "counting_mode", "retrigger"),
        ("TriggerStartDelay", "trigger_start_delay", 0.001),
        ("OmegaStart", "omega_start", -30.5),
        ("OmegaIncrement", "omega_increment", 0.1),
    ],
)
def test_what_an_eiger2_has_more_can_be_set(
    new: tuple[Desk, Eiger], name: str, key: str, value: float | str
) -> None:
    desk, eiger = new
    eiger.apply({name: value})
    assert desk.puts == [(f"{DETECTOR}/{key}", value)] and eiger.values()[name] == value
    del desk.keys[f"{DETECTOR}/{key}"]
    eiger.connect()
    assert name not in eiger.values()
    with pytest.raises(CameraError, match=f"this detector has no {name}"):
        eiger.apply({name: value})


def test_the_high_voltage_can_be_reset_where_the_box_lists_the_command(eiger: Eiger, desk: Desk) -> None:
    if desk.api == "1.6.0":
        assert "HighVoltageReset" not in eiger.values()
        with pytest.raises(CameraError, match=r"has no HighVoltageReset \(detector/command/hv_reset\)"):
            eiger.apply({"HighVoltageReset": 30})
        assert desk.puts == []
        return
    assert eiger.values()["HighVoltageReset"] == 0
    eiger.apply({"HighVoltageReset": 30})
    assert desk.puts == [("detector/command/hv_reset", 30)]
    assert eiger.values()["HighVoltageReset"] == 0
    desk.puts.clear()
    eiger.prepare(series(eiger))
    assert not any("hv_reset" in path for path, _ in desk.puts)


def test_the_wavelength_follows_the_energy_and_can_only_be_read(eiger: Eiger) -> None:
    (parameter,) = [p for p in eiger.parameters if p.name == "Wavelength"]
    assert not parameter.writable and eiger.read("Wavelength") == 0.99987


def test_files_of_the_boxs_own_are_named_where_they_lie(eiger: Eiger, desk: Desk) -> None:
    assert eiger.read("FileWriterFiles") == "" and "filewriter" not in eiger.describe()
    eiger.apply({"FileWriter": True})
    folder = f"http://127.0.0.1:{desk.server_port}/data/"
    assert eiger.describe()["filewriter"] == {"name_pattern": "series_$id", "folder": folder}
    eiger.arm(USER)
    assert eiger.read("FileWriterFiles") == f"{folder}series_7_master.h5, {folder}series_7_data_000001.h5"


def test_the_monitors_image_has_an_address_while_it_is_on(eiger: Eiger, desk: Desk) -> None:
    assert eiger.read("MonitorImage") == ""
    eiger.apply({"Monitor": True})
    address = f"http://127.0.0.1:{desk.server_port}/monitor/api/{desk.api}/images/monitor"
    assert eiger.read("MonitorImage") == address


def test_the_file_has_what_the_start_message_lacks(eiger: Eiger) -> None:
    described = eiger.describe()
    assert described["serial_number"] == "E-1" and described["detector_readout_time"] == 1e-5
    json.dumps(described)
