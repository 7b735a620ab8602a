"""`penstock register`: the difference first, then the database as the file has it, and a server comes up."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tango

from penstock.cli.main import main
from penstock.gui.model.tango.directory import find_devices
from penstock.hosts.child import free_port
from penstock.receiver import config as configuration
from tests.system.beamline import ON, Beamline, wait_state

EXAMPLE = Path(__file__).parents[2] / "resources" / "tango" / "beamline.json"
File = Callable[[Any], Path]


@pytest.fixture
def line(beamline: Beamline, monkeypatch: pytest.MonkeyPatch) -> Iterator[Beamline]:
    """The module's database, emptied afterwards, which the commands of this test use."""
    monkeypatch.setenv("TANGO_HOST", beamline.tango_host)
    yield beamline
    database = tango.Database()
    for name in database.get_device_name("*", "*"):
        if name.startswith("lab/"):
            database.delete_device(name)


@pytest.fixture
def database(line: Beamline) -> tango.Database:
    return tango.Database()


@pytest.fixture
def write(tmp_path: Path) -> File:
    def to(data: Any) -> Path:
        path = tmp_path / "beamline.json"
        path.write_text(json.dumps(data))
        return path

    return to


def one(server: str = "Simulator/lab", **properties: str) -> dict[str, Any]:
    """A file of one detector."""
    values = {"ReceiverUrl": "http://127.0.0.1:5000", "DataPort": "9991", **properties}
    listed = {name: [value] for name, value in values.items()}
    return {"servers": {server: {"Simulator": {"lab/det/1": {"properties": listed}}}}}


def test_the_difference_is_shown_first_and_nothing_is_written(
    line: Beamline, database: tango.Database, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["register", str(EXAMPLE)]) == 1
    said = capsys.readouterr().out
    assert f"Tango database {line.tango_host} (from TANGO_HOST)" in said
    assert "+ lab/det/2 (Simulator/two, class Simulator)\n    + ReceiverUrl = http://127.0.0.1:5002\n" in said
    assert said.endswith("6 to add; nothing has been written; add --write to do so\n")
    assert list(database.get_device_name("*", "Simulator")) == []


def test_what_is_written_is_there_and_a_second_run_finds_nothing_to_do(
    database: tango.Database, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["register", str(EXAMPLE), "--write"]) == 0
    assert "start it with: penstock device Simulator one" in capsys.readouterr().out
    found = find_devices(database)  # before any server was started
    assert [(device.name, device.kind) for device in found] == [
        *((f"lab/det/{number}", "detector") for number in (1, 2, 3)),
        *((f"lab/receiver/{number}", "receiver") for number in (1, 2, 3)),
    ]
    assert list(database.get_device_property("lab/det/3", "DataPort")["DataPort"]) == ["9993"]
    for arguments in ([], ["--write"]):
        assert main(["register", str(EXAMPLE), *arguments]) == 0
        assert "nothing to do: the database has everything in the file" in capsys.readouterr().out


@pytest.mark.slow
def test_a_server_that_was_registered_comes_up(
    line: Beamline, write: File, capsys: pytest.CaptureFixture[str]
) -> None:
    port = free_port()
    receiver = line.receiver("lab-1", port)
    file = write(one(ReceiverUrl=receiver.url, DataPort=str(port)))
    assert main(["register", str(file), "--write"]) == 0
    line.serve("Simulator/lab")
    device = line.device("lab/det/1")
    wait_state(device, ON)
    capsys.readouterr()
    file = write(one(ReceiverUrl=receiver.url, DataPort=str(port), SensorWidth="64"))
    assert main(["register", str(file), "--write"]) == 0
    assert "Simulator/lab is running: restart it, or send Init to its devices" in capsys.readouterr().out
    device.Init()
    wait_state(device, ON)
    assert device.SensorWidth == 64
    line.end("Simulator/lab")


def test_a_change_shows_old_and_new_and_leaves_the_rest_alone(
    database: tango.Database, write: File, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["register", str(write(one(BuffersMB="512", StreamerControl=""))), "--write"])
    database.put_device_attribute_property("lab/det/1", {"ExposureTime": {"max_alarm": ["10"]}})
    info = tango.DbDevInfo()
    info.server, info._class, info.name = "Simulator/lab", "Simulator", "lab/det/9"
    database.add_device(info)
    database.put_device_property("lab/det/9", {"DataPort": ["9999"]})
    changed = one(DataPort="9992", StreamerControl="")
    device = changed["servers"]["Simulator/lab"]["Simulator"]["lab/det/1"]
    device["attribute_properties"] = {"ExposureTime": {"max_alarm": ["20"], "unit": ["s"]}}
    capsys.readouterr()
    assert main(["register", str(write(changed)), "--write"]) == 0
    said = capsys.readouterr().out
    assert "~ lab/det/1 (Simulator/lab, class Simulator)\n    ~ DataPort: 9991 → 9992\n" in said
    assert "    ~ ExposureTime.max_alarm: 10 → 20\n    + ExposureTime.unit = s\n" in said
    assert "    . BuffersMB = 512: not in the file, left alone\n" in said
    assert ". left alone: lab/det/9 of Simulator/lab\n" in said
    held = database.get_device_property("lab/det/1", ["DataPort", "BuffersMB", "StreamerControl"])
    assert {name: list(values) for name, values in held.items()} == {
        "DataPort": ["9992"], "BuffersMB": ["512"], "StreamerControl": [""],
    }  # fmt: skip
    assert main(["register", str(write(changed))]) == 0


def test_a_dump_as_tango2json_writes_it_brings_a_beamline_back(
    line: Beamline, database: tango.Database, write: File, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what Tango itself keeps there: memorized values, devices that it has spoken to, polling."""
    data = one("Simulator/lab") | {"tango_host": line.tango_host}
    server = data["servers"].pop("Simulator/lab")
    data["servers"]["Simulator"] = {"lab": server}
    device = server["Simulator"]["lab/det/1"]
    device["properties"] |= {"__SubDevices": ["lab/motor/1", "lab/motor/2"], "polled_attr": ["state", "1000"]}
    device["attribute_properties"] = {"Rotation": {"__value": ["90"]}, "Fliplr": {"__value": ["true"]}}
    assert main(["register", str(write(data)), "--write"]) == 0
    held = database.get_device_attribute_property("lab/det/1", "Rotation")["Rotation"]
    assert list(held["__value"]) == ["90"]
    capsys.readouterr()
    assert main(["register", str(write(data))]) == 0
    said = capsys.readouterr().out
    assert "nothing to do" in said and "!" not in said, "no warning"


def test_a_class_is_written_too(database: tango.Database, write: File) -> None:
    attributes = {"Energy": {"unit": ["keV"]}}
    simulator = {"properties": {"doc_url": ["x", "y"]}, "attribute_properties": attributes}
    data = {"classes": {"Simulator": simulator}}
    assert main(["register", str(write(data))]) == 1
    assert main(["register", str(write(data)), "--write"]) == 0
    assert list(database.get_class_property("Simulator", "doc_url")["doc_url"]) == ["x", "y"]
    assert main(["register", str(write(data))]) == 0


def test_a_device_of_another_server_is_refused_unless_it_may_be_moved(
    database: tango.Database, write: File, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["register", str(write(one("Simulator/old", BuffersMB="512"))), "--write"])
    file = str(write(one("Simulator/new")))
    capsys.readouterr()
    assert main(["register", file, "--write"]) == 2
    assert "lab/det/1 is registered under Simulator/old, class Simulator, " in capsys.readouterr().err
    assert database.get_device_info("lab/det/1").ds_full_name == "Simulator/old"
    assert main(["register", file, "--move"]) == 1
    assert "> lab/det/1 (Simulator/new, class Simulator), registered under" in capsys.readouterr().out
    assert main(["register", file, "--move", "--write"]) == 0
    assert database.get_device_info("lab/det/1").ds_full_name == "Simulator/new"
    assert list(database.get_device_property("lab/det/1", "BuffersMB")["BuffersMB"]) == ["512"]
    assert main(["register", file]) == 0


def test_a_port_that_a_device_of_the_database_has_is_refused_and_nothing_is_written(
    database: tango.Database, write: File, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["register", str(write(one())), "--write"])
    data = one()
    devices = data["servers"]["Simulator/lab"]["Simulator"]
    devices["lab/det/2"] = devices.pop("lab/det/1")
    capsys.readouterr()
    assert main(["register", str(write(data)), "--write"]) == 2
    said = capsys.readouterr().err
    assert "lab/det/2 and lab/det/1 both have the DataPort 9991 of 127.0.0.1" in said
    assert list(database.get_device_name("Simulator/lab", "Simulator")) == ["lab/det/1"]


def test_a_property_that_is_misspelt_is_named_beside_the_one_that_is_missing(
    line: Beamline, write: File, capsys: pytest.CaptureFixture[str]
) -> None:
    data = one()
    properties = data["servers"]["Simulator/lab"]["Simulator"]["lab/det/1"]["properties"]
    properties["RecieverUrl"] = properties.pop("ReceiverUrl")
    assert main(["register", str(write(data))]) == 2
    said = capsys.readouterr().err
    assert "lab/det/1 has no ReceiverUrl" in said
    assert "Simulator has no property RecieverUrl" in said


def test_the_difference_for_a_program(
    line: Beamline, write: File, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(one() | {"tango_host": "elsewhere:10000"})
    assert main(["register", str(file), "--json"]) == 1
    said = capsys.readouterr()
    (found,) = (json.loads(text) for text in said.out.splitlines())
    assert found["database"] == line.tango_host and found["written"] is False
    (change,) = found["changes"]
    assert (change["name"], change["action"], change["server"]) == ("lab/det/1", "add", "Simulator/lab")
    assert change["properties"]["DataPort"] == {"before": None, "after": ["9991"]}
    assert found["warnings"] == ["the file is meant for the database elsewhere:10000"]
    assert "+ lab/det/1" in said.err


def test_a_database_that_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    address = f"127.0.0.1:{free_port()}"
    monkeypatch.setenv("TANGO_HOST", address)
    assert main(["register", str(EXAMPLE), "--json"]) == 2
    (found,) = (json.loads(text) for text in capsys.readouterr().out.splitlines())
    assert f"no Tango database answers at {address} (from TANGO_HOST)" in found["error"]


def test_the_examples_detectors_and_receivers_belong_together() -> None:
    servers = json.loads(EXAMPLE.read_text())["servers"]
    receivers = configuration.load(EXAMPLE.with_name("receivers.yaml")).receivers.values()
    detectors = [
        {name: value for name, (value,) in device["properties"].items()}
        for classes in servers["Simulator"].values()
        for device in classes["Simulator"].values()
    ]
    assert len(detectors) == 3
    for detector, receiver in zip(detectors, receivers, strict=True):
        assert detector["ReceiverUrl"] == f"http://{receiver.http}"
        assert receiver.source.endpoints == (f"tcp://127.0.0.1:{detector['DataPort']}",)
