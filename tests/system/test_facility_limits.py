"""Limits and memorized values in Tango's database: which hold, what is kept there, and what Status says."""

from __future__ import annotations

import os
import random
import re
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

import pytest
import tango

from penstock.devices._tango.own_configuration import UNFINISHED
from tests.system.beamline import ON, Beamline, ReceiverProcess, refusal, until, wait_state

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SERVER = "Simulator/facility"
ONE, TWO, RECEIVER = "facility/det/1", "facility/det/2", "facility/receiver/1"
ROWS: dict[str, dict[str, dict[str, str]]] = {
    # The unit takes 1e-05 to 3600 s, -40 to 40 degrees, and 1024 columns, the first up to 1023.
    ONE: {
        "ExposureTime": {"max_value": "1.0"},
        "AOIWidth": {"max_value": "5000", "min_value": "8"},
        "AOIHeight": {"max_value": "100.0"},
        "TargetSensorTemperature": {"max_value": "30", "__value": "12.5"},
        "Rotation": {"__value": "90"},
    },
    TWO: {
        "ExposureTime": {"max_value": "1e-06"},
        "AOILeft": {"min_value": "many", "max_value": "100"},
        "ArmedTimeLimit": {"max_value": "-5", "__value": "77"},
        "TriggerTimeLimit": {"max_value": "60", "__value": "61"},
        "TargetSensorTemperature": {"__value": "-39"},
        "Rotation": {"__value": "45"},
        # As a server leaves them that is killed while it sets these; the third was set by the facility since.
        "AOITop": {"max_value": "8"},
        "AOIHeight": {"max_value": "9"},
        "LatencyTime": {"max_value": "300"},
        "Distance": {"MAX_VALUE": "2.5"},
    },
    RECEIVER: {"Downsample": {"max_value": "10"}},
}
UNFINISHED_TWO = (
    '{"AOITop": {"max_value": [null, "8"]}, "AOIHeight": {"max_value": [["200"], "9.0"]}, '
    '"LatencyTime": {"max_value": [["40"], "50"]}}'
)
OF_CLASS = {"AOITop": {"max_value": ["400"]}}
SHOWN = {
    (ONE, "ExposureTime"): ("1e-05", "1.0"),
    (ONE, "AOIWidth"): ("8", "1024"),
    (ONE, "AOIHeight"): ("0", "100.0"),
    (ONE, "TargetSensorTemperature"): ("-40.0", "30"),
    (ONE, "LatencyTime"): ("0.0", "1000000.0"),
    (TWO, "ExposureTime"): ("1e-05", "3600.0"),
    (TWO, "AOILeft"): ("0", "100"),
    (ONE, "AOITop"): ("0", "400"),
    (TWO, "AOITop"): ("0", "400"),
    (TWO, "LatencyTime"): ("0.0", "300"),
    (TWO, "Distance"): ("0.0", "2.5"),
    (TWO, "AOIHeight"): ("0", "200"),
    (TWO, "ArmedTimeLimit"): ("0.0", "Not specified"),
    (TWO, "TriggerTimeLimit"): ("0.0", "60"),
    (RECEIVER, "Downsample"): ("1", "10"),
}

REMEDY = "correct or delete it in Jive, then call Init."
SAID = [
    "Rotation: the memorized value 45 is not used: Rotation 45 is not a multiple of 90; choose 0, 90, "
    "180 or 270. It is 0 until it is written.",
    "TriggerTimeLimit: the memorized value 61 is not used: TriggerTimeLimit 61.0 s; the greatest is 60 "
    "s, as the attribute's max_value in Tango says. It is 0 until it is written.",
    "ExposureTime: max_value 1e-06 in Tango's database cannot be used, since the detector takes 1e-05 s "
    f"at least and 3600 s at most; {REMEDY}",
    f"AOILeft: min_value many in Tango's database cannot be used, since this is no number; {REMEDY}",
    "ArmedTimeLimit: max_value -5 in Tango's database cannot be used, since the detector takes 0 s at "
    f"least; {REMEDY}",
]


class Site(NamedTuple):
    """Two detectors and a receiver's device in one server."""

    beamline: Beamline
    receiver: ReceiverProcess
    database: tango.Database
    one: tango.DeviceProxy
    two: tango.DeviceProxy
    receiver_device: tango.DeviceProxy

    def rows(self, device: str) -> dict[str, dict[str, str]]:
        """What the database has of a device's attributes."""
        names = self.beamline.device(device).get_attribute_list()
        found = self.database.get_device_attribute_property(device, names)
        return {
            name: {key.lower(): "\n".join(lines) for key, lines in properties.items()}
            for name, properties in found.items() if properties
        }  # fmt: skip

    def shown(self) -> dict[tuple[str, str], tuple[str, str]]:
        configs = {
            (device, name): self.beamline.device(device).get_attribute_config(name) for device, name in SHOWN
        }
        return {each: (config.min_value, config.max_value) for each, config in configs.items()}

    def serve(self) -> None:
        self.beamline.serve(SERVER)
        for device in (self.one, self.two):
            wait_state(device, ON)


@pytest.fixture(scope="module")
def site(beamline: Beamline) -> Iterator[Site]:
    receiver = beamline.receiver("facility", 1)
    database = tango.Database(*beamline.tango_host.split(":"))
    for device, rows in ROWS.items():
        kind = "PenstockReceiver" if device == RECEIVER else "Simulator"
        more = {} if device == RECEIVER else {"DataPort": 0}
        beamline.register(SERVER, kind, device, ReceiverUrl=receiver.url, **more)
        database.put_device_attribute_property(
            device, {name: {key: [text] for key, text in row.items()} for name, row in rows.items()}
        )
    database.put_class_attribute_property("Simulator", OF_CLASS)
    database.put_device_property(TWO, {UNFINISHED: [UNFINISHED_TWO]})
    made = Site(beamline, receiver, database, *(beamline.device(name) for name in ROWS))
    made.serve()
    yield made
    database.delete_class_attribute_property("Simulator", {"AOITop": ["max_value"]})
    beamline.end(SERVER)
    receiver.stop()


def configure(device: tango.DeviceProxy, name: str, **limits: str) -> None:
    """As Jive does it."""
    config = device.get_attribute_config(name)
    for option, text in limits.items():
        setattr(config, option, text)
    device.set_attribute_config(config)


def test_the_narrower_limit_holds_the_database_keeps_the_facilitys_and_status_says_what_is_not_used(
    site: Site,
) -> None:
    two = {name: row for name, row in ROWS[TWO].items() if name != "AOITop"}
    two |= {"AOIHeight": {"max_value": "200"}, "Distance": {"max_value": "2.5"}}
    kept = {ONE: ROWS[ONE], TWO: two, RECEIVER: ROWS[RECEIVER]}
    admin = tango.DeviceProxy(site.one.adm_name())
    for again in (
        lambda device: None,
        lambda device: device.Init(),
        lambda device: admin.DevRestart(device.dev_name()),
    ):
        for device in (site.one, site.two, site.receiver_device):
            again(device)
        for detector in (site.one, site.two):
            wait_state(detector, ON)
        until(lambda: site.receiver_device.State() == ON, "answers")
        assert site.shown() == SHOWN
        assert {device: site.rows(device) for device in ROWS} == kept
        assert list(site.database.get_device_property(TWO, UNFINISHED)[UNFINISHED]) == []
        for sentence in SAID:
            assert sentence in site.two.Status()
            assert sentence in site.two.read_attribute("Status").value
        assert (site.two.ArmedTimeLimit, site.two.TargetSensorTemperature, site.two.Rotation) == (77, -39, 0)
        assert (site.one.TargetSensorTemperature, site.one.Rotation, site.one.Status()) == (
            12.5,
            90,
            "Ready.",
        )
        for device, name, least, most in (
            (site.one, "ExposureTime", 1e-05, 1.0), (site.two, "ExposureTime", 1e-05, 3600.0),
            (site.one, "AOIWidth", 8, 1024), (site.receiver_device, "Downsample", 1, 10),
        ):  # fmt: skip
            for value in (least, most):
                device.write_attribute(name, value)
            for beyond in (least / 2 if isinstance(least, float) else least - 1, most + 1):
                refusal(lambda d=device, n=name, b=beyond: d.write_attribute(n, b))


def test_limits_written_while_the_device_runs_hold_at_once_and_are_kept(site: Site) -> None:
    one, name = site.one, "LatencyTime"  # whose limits are 0 and 1,000,000 s
    try:
        configure(one, name, max_value="0.5")
        refusal(lambda: one.write_attribute(name, 0.6))
        configure(one, name, min_value="0.25", max_value="2000000")
        assert "the greatest is 1e+06 s" in refusal(lambda: one.write_attribute(name, 1.5e6))
        until(lambda: one.get_attribute_config(name).max_value == "1000000.0", "the unit's limit again")
        one.Init()
        wait_state(one, ON)
        refusal(lambda: one.write_attribute(name, 0.2))
        said = refusal(one.Arm)
        assert said == "LatencyTime 0.0 s; the least is 0.25 s, as the attribute's min_value in Tango says"
        assert said in one.Check()
        config = one.get_attribute_config(name)
        assert (config.min_value, config.max_value) == ("0.25", "1000000.0")
        assert site.rows(ONE)[name] == {"min_value": "0.25", "max_value": "2000000"}
    finally:
        site.database.delete_device_attribute_property(ONE, {name: ["max_value"]})
        configure(one, name, min_value="0.0")
    one.LatencyTime = 0.0
    assert site.rows(ONE) == ROWS[ONE]


def test_status_forgets_a_value_that_is_written_and_a_limit_that_is_deleted(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    ident = site.two.subscribe_event(
        "Status", tango.EventType.CHANGE_EVENT, lambda event: events.append(event.attr_value.value)
    )
    try:
        for name, value in (("Rotation", 0), ("TriggerTimeLimit", 1.0)):
            site.two.write_attribute(name, value)
        assert not any(name in site.two.Status() for name in ("Rotation", "TriggerTimeLimit"))
        until(lambda: events[-1] == site.two.Status(), "an event")
        page = (ROOT / "docs/reference/tango.md").read_text()
        (code,) = re.findall(r"```python\n(database = .*?)```", page, re.DOTALL)
        monkeypatch.setenv("TANGO_HOST", site.beamline.tango_host)
        for name in ("ExposureTime", "AOILeft", "ArmedTimeLimit"):
            exec(code.replace("lab/detector/1", TWO).replace("ExposureTime", name))
        site.two.Init()
        wait_state(site.two, ON)
        assert site.two.Status() == "Ready."
    finally:
        site.two.unsubscribe_event(ident)


def test_memorized_values_of_another_device_are_kept_meanwhile(site: Site) -> None:
    lost, over = [], threading.Event()

    def write() -> None:
        database = tango.Database(*site.beamline.tango_host.split(":"))
        for number in range(1000, 1060):
            site.two.ArmedTimeLimit = float(number)
            row = database.get_device_attribute_property(TWO, "ArmedTimeLimit")["ArmedTimeLimit"]
            lost.extend([number] if list(row["__value"]) != [str(number)] else [])
        over.set()

    writer = threading.Thread(target=write)
    writer.start()
    configs: SimpleQueue[tango.AttrConfEventData] = SimpleQueue()
    ident = site.one.subscribe_event("AOIWidth", tango.EventType.ATTR_CONF_EVENT, configs.put)
    changes = 0
    while not over.is_set() or changes < 10:
        site.one.AOILeft = changes % 2 * 16  # which changes the limits of AOIWidth
        changes += 1
    writer.join()
    site.one.AOILeft = 512
    while (event := configs.get(timeout=10)).err or event.attr_conf.max_value != "512":  # of 1024 columns
        pass
    site.one.unsubscribe_event(ident)
    assert site.two.get_attribute_config("AOIWidth").max_value == "1024", "each device has its own"
    site.one.AOILeft = 0
    assert (lost, changes >= 10) == ([], True)
    assert site.rows(ONE) == ROWS[ONE]


@pytest.mark.slow
def test_a_facility_that_configures_while_limits_change_and_servers_that_are_killed(site: Site) -> None:
    chance = random.Random(20)
    for _ in range(4):
        stop = threading.Event()

        def change(stop: threading.Event = stop) -> None:
            device = site.beamline.device(ONE)
            while not stop.is_set():
                try:
                    device.AOILeft = chance.randrange(0, 512)
                except tango.DevFailed:
                    return

        changer = threading.Thread(target=change)
        changer.start()
        wanted = ""
        for number in range(20):
            wanted = str(chance.randrange(600, 5000))
            configure(site.one, "AOIWidth", max_value=wanted)
            until(lambda w=wanted: site.rows(ONE)["AOIWidth"]["max_value"] == w, f"{number}: kept")  # type: ignore[misc]
        time.sleep(chance.random() * 0.1)
        server = site.beamline._servers[SERVER]
        os.kill(server.pid, signal.SIGKILL)
        stop.set()
        changer.join()
        site.serve()
        assert site.rows(ONE) == ROWS[ONE] | {"AOIWidth": {"min_value": "8", "max_value": wanted}}
        assert site.one.get_attribute_config("AOIWidth").max_value == str(min(int(wanted), 1024))
        assert list(site.database.get_device_property(ONE, UNFINISHED)[UNFINISHED]) == []
