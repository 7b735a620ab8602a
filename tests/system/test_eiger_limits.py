"""Limits of a control unit that contradict those of Tango's database: they hold, and Status says so."""

from __future__ import annotations

import pytest
import tango

from penstock.streamer.simulated.simplon.control_unit import ControlUnit
from tests.system.beamline import ON, Beamline, refusal, wait_state
from tests.system.eigers import EigerStation

WRITTEN = {
    "Energy": {"min_value": ["50000"], "max_value": ["60000"]},
    "Threshold": {"min_value": ["70000"]},
    "Threshold2": {"max_value": ["7"]},
}


@pytest.mark.slow
def test_limits_of_the_database_that_contradict_and_a_single_possible_value(beamline: Beamline) -> None:
    database = tango.Database(*beamline.tango_host.split(":"))
    for name, properties in WRITTEN.items():
        database.put_device_attribute_property("limits/det/1", {name: properties})
    with ControlUnit(sensor=(16, 24)) as box:
        box.box.command("initialize")
        config = box.box.settings.of["detector", "config"]
        config["nexpi"].least = config["nexpi"].most = 1
        port = int(box.stream_endpoint.rpartition(":")[2])
        station = EigerStation(beamline, "limits", box.http_port, "v1", port)
        wait_state(station.detector, ON)
        station.set(Energy=9000.0)
        wait_state(station.detector, ON)
        assert station.detector.Energy == 9000.0
        assert "the greatest is 1" in refusal(lambda: station.detector.write_attribute("Nexpi", 2))
        assert station.detector.get_attribute_config("Energy").max_value == "40000.0"
        station.set(TriggerMode="INTERNAL")
        station.detector.Arm()
        wait_state(station.detector, ON)
        said = [line for line in station.process.tail if "limits/det/1" in line]
        assert len(said) <= 3, said
        for name, limits in (
            ("Energy", "min_value 50000"), ("Threshold", "min_value 70000"), ("Threshold2", "max_value 7"),
        ):  # fmt: skip
            assert f"{name}: {limits} in Tango's database cannot be used" in station.detector.Status()
        for name in station.detector.get_attribute_list():
            rows = database.get_device_attribute_property("limits/det/1", name)[name]
            assert {key: list(row) for key, row in rows.items()} == WRITTEN.get(name, {}), name
        assert not any("not pushed" in line for line in said)
        beamline.end(station.server)
        station.receiver.stop()
