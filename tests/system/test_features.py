"""Features of a camera's own over Tango: commands, and attributes of one device alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import h5py
import pytest
import tango

from penstock.hosts.child import PYTHON, Child, free_port
from tests.system.beamline import ON, RUNNING, Beamline, refusal, until, wait_state

pytestmark = pytest.mark.slow  # it has a server of two devices of its own

ROOT = Path(__file__).resolve().parents[2]
SERVER = "FeatureCamera/test"
ONE, TWO = "feature/camera/1", "feature/camera/2"
SHOWN = {ONE: ["BlackLevel", "ReverseX", "Level"], TWO: ["Pattern", "BlackLevel"]}
FEATURES = {"BlackLevel", "ReverseX", "Pattern", "Level", "Width"}


class Station:
    """Two devices of one server, with a receiver for the first."""

    def __init__(self, beamline: Beamline) -> None:
        port = free_port()
        self.receiver = beamline.receiver("featurecamera", port)
        for number, (device, data) in enumerate(((ONE, port), (TWO, free_port()))):
            beamline.register(
                SERVER, "FeatureCamera", device, ReceiverUrl=self.receiver.url, DataPort=data,
                SerialNumber="AB"[number], ShownFeatures=", ".join(SHOWN[device]),
            )  # fmt: skip
        self.server = Child(
            SERVER,
            [*PYTHON, "-m", "tests.system.feature_camera", "test", "-ORBendPoint", "giop:tcp:127.0.0.1:0"],
            lambda line: True if "Ready to accept request" in line else None,
            deadline=30.0, environment={"TANGO_HOST": beamline.tango_host, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        self.one, self.two = beamline.device(ONE), beamline.device(TWO)
        for device in (self.one, self.two):
            wait_state(device, ON)


@pytest.fixture(scope="module")
def station(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Station]:
    with Beamline(tmp_path_factory.mktemp("features")) as beamline:
        station = Station(beamline)
        yield station
        station.server.stop()


def shown(device: tango.DeviceProxy) -> set[str]:
    """The features that are attributes."""
    return FEATURES & set(device.get_attribute_list())


def feature(device: tango.DeviceProxy, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(device.GetFeature(name))
    return found


def rows(device: tango.DeviceProxy, *names: str) -> dict[str, dict[str, str]]:
    """What Tango's database has of these attributes."""
    found = device.get_device_db().get_device_attribute_property(device.dev_name(), list(names))
    return {name: {key: row[0] for key, row in each.items()} for name, each in found.items() if each}


def test_each_device_has_the_attributes_of_its_own_list(station: Station) -> None:
    assert shown(station.one) == set(SHOWN[ONE])
    assert shown(station.two) == set(SHOWN[TWO])


def test_they_have_the_values_texts_and_limits_of_their_own_camera(station: Station) -> None:
    until(lambda: station.one.Level == 7.5, "read")
    config = station.one.get_attribute_config("BlackLevel")
    assert (config.unit, config.min_value, config.max_value) == ("DN", "0.0", "10.0")
    assert config.description == "Value of a dark pixel."
    names = {entry["name"]: entry for entry in json.loads(station.two.Parameters)}
    assert names["Pattern"]["choices"] == ["Off", "Bars"]
    assert "Level" not in names


def test_writing_one_sets_the_feature_of_its_own_camera_with_an_event(station: Station) -> None:
    events: SimpleQueue[tango.EventData] = SimpleQueue()
    ident = station.one.subscribe_event("BlackLevel", tango.EventType.CHANGE_EVENT, events.put)
    try:
        station.one.BlackLevel = 5.5
        assert station.one.BlackLevel == 5.5, "at once"
        while (event := events.get(timeout=10)).err or event.attr_value.value != 5.5:
            pass
    finally:
        station.one.unsubscribe_event(ident)
    assert feature(station.one, "BlackLevel")["value"] == 5.5
    assert (feature(station.two, "BlackLevel")["value"], station.two.BlackLevel) == (4.0, 4.0)
    with pytest.raises(tango.DevFailed):  # Tango's own limits
        station.one.BlackLevel = 11.0
    assert rows(station.one, *SHOWN[ONE]) == {}, "neither limits nor texts are in the database"


def test_features_are_listed_with_limits_and_choices(station: Station) -> None:
    listed = {each["name"]: each for each in json.loads(station.two.ListFeatures())}
    assert set(listed) == FEATURES
    assert listed["BlackLevel"]["limits"] == {"minimum": 0.0, "maximum": 10.0}
    assert listed["Pattern"]["choices"] == ["Off", "Bars"]
    assert listed["Width"]["set_by"] == "AOIWidth"


def test_a_feature_is_set_by_the_command_and_what_an_attribute_owns_is_refused(station: Station) -> None:
    for pattern in ("Bars", "Off", "Bars"):
        assert json.loads(station.two.SetFeature(["Pattern", pattern]))["value"] == pattern
        assert station.two.Pattern == pattern
    said = refusal(lambda: station.two.SetFeature(["Width", "3"]))
    assert said == "FeatureCamera: Width is set by the attribute AOIWidth; write that"
    assert "no feature Nonsense" in refusal(lambda: station.two.GetFeature("Nonsense"))
    assert "a name and a value, not 3 texts" in refusal(lambda: station.two.SetFeature(["a", "b", "c"]))


def test_in_a_series_features_wait_and_their_values_are_in_its_file(station: Station) -> None:
    file = station.receiver.root / "features.h5"
    station.one.BlackLevel = 3.25
    for name, value in {
        "TriggerMode": "SOFTWARE", "nTriggers": 1, "ExposureTime": 0.01, "DestinationFilename": str(file),
    }.items():  # fmt: skip
        station.one.write_attribute(name, value)
    station.one.Arm()
    wait_state(station.one, RUNNING)
    for call in (
        lambda: station.one.SetFeature(["BlackLevel", "1"]),
        lambda: station.one.ListFeatures(),
        lambda: station.one.write_attribute("BlackLevel", 1.0),
    ):
        assert "when no series is running; call Stop or wait for State ON" in refusal(call)
    assert station.one.BlackLevel == 3.25
    until(lambda: station.one.ReadyForSwTrigger, "ready")
    station.one.SoftwareTrigger()
    wait_state(station.one, ON)
    with h5py.File(file) as written:
        features = written["entry/instrument/featurecamera/features"]
        assert features["BlackLevel"][()] == 3.25
        assert features["Level"][()] == 7.5


def test_limits_and_texts_of_the_facility_are_kept(station: Station) -> None:
    config = station.one.get_attribute_config("BlackLevel")
    config.max_value, config.min_value, config.unit = "6.0", "-1.0", "LSB"
    station.one.set_attribute_config(config)
    kept = {"BlackLevel": {"max_value": "6.0", "min_value": "-1.0", "unit": "LSB"}}
    try:
        assert rows(station.one, *SHOWN[ONE]) == kept
        station.one.Init()
        wait_state(station.one, ON)
        until(lambda: shown(station.one) == set(SHOWN[ONE]), "shown")
        config = station.one.get_attribute_config("BlackLevel")
        assert (config.unit, config.min_value, config.max_value) == ("LSB", "0.0", "6.0")
        with pytest.raises(tango.DevFailed):
            station.one.BlackLevel = 7.0
        assert rows(station.one, *SHOWN[ONE]) == kept
    finally:
        names = {"BlackLevel": ["max_value", "min_value", "unit"]}
        station.one.get_device_db().delete_device_attribute_property(ONE, names)


def test_init_takes_another_list(station: Station) -> None:
    """And a feature that the other device shows with another type is left out, not the whole list."""
    station.two.put_property({"ShownFeatures": ["Level, ReverseX"]})
    try:
        station.two.Init()
        until(lambda: shown(station.two) == {"ReverseX"}, "the new list")
        assert shown(station.one) == set(SHOWN[ONE])
        wait_state(station.two, ON)
        until(
            lambda: any("Level is not shown: another device" in line for line in station.server.tail),
            "the sentence in the log",
        )
        assert feature(station.two, "Level")["value"] == 7
    finally:
        station.two.put_property({"ShownFeatures": [", ".join(SHOWN[TWO])]})
        station.two.Init()
        until(lambda: shown(station.two) == set(SHOWN[TWO]), "the old list")
        wait_state(station.two, ON)
