"""The file of a beamline's devices: both forms of dsconfig are read, and what cannot be right is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.beamline.checks import check
from penstock.beamline.file import BeamlineFile, BeamlineFileError, PlannedDevice, load
from penstock.devices._server.server import server_names

URL = {"ReceiverUrl": ["http://127.0.0.1:5000"]}


def read(folder: Path, data: Any) -> BeamlineFile:
    path = folder / "beamline.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return load(path)


def one(members: Any) -> dict[str, Any]:
    """A file of one server with these devices."""
    return {"servers": {"Simulator": {"lab": {"Simulator": members}}}}


def test_the_form_of_today_and_the_older_one_say_the_same(tmp_path: Path) -> None:
    devices = {"Simulator": {"lab/det/1": {"properties": {**URL, "DataPort": ["9991"]}}}}
    new = read(tmp_path, {"servers": {"Simulator": {"lab": devices}}, "_version": 2, "_title": "a lab"})
    old = read(tmp_path, {"servers": {"Simulator/lab": devices}})
    settings = {("", "ReceiverUrl"): ("http://127.0.0.1:5000",), ("", "DataPort"): ("9991",)}
    assert new.devices == old.devices
    assert new.devices == [PlannedDevice("lab/det/1", "Simulator/lab", "Simulator", settings)]


def test_properties_of_attributes_and_classes_are_read_an_alias_is_named(tmp_path: Path) -> None:
    device = {"attribute_properties": {"ExposureTime": {"max_alarm": ["10"]}}, "alias": "det"}
    file = read(
        tmp_path, one({"lab/det/1": device}) | {"classes": {"Simulator": {"properties": {"a": ["b"]}}}}
    )
    assert file.devices[0].settings == {("ExposureTime", "max_alarm"): ("10",)}
    assert file.classes == {"Simulator": {("", "a"): ("b",)}}
    assert file.unread == ["the alias of lab/det/1: json2tango and Jive set aliases"]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ('{"servers":\n  {"Simulator": ]', "not JSON: Expecting value at line 2, column 17"),
        ("[" * 100_000, "nested too deeply"),
        ('{"servers": {"A": {"a": {"A": {"lab/det/\\ud800": {}}}}}}', '"\\ud800", which is half of'),
        ("[]", 'it has no "servers"; an example: {"servers": {"Simulator"'),
        ({"server": {}}, 'it has no "servers"'),
        ({"servers": {}, "devices": {}}, '"devices" is not a known key; devices are listed under "servers"'),
        ({"servers": {"Simulator": []}}, 'the server "Simulator" holds [], not an object'),
        ({"servers": {"Simulator/a/b": {}}}, '"Simulator/a/b" is not a server and instance'),
        (one({"lab/det": {}}), '"lab/det": a device name has three parts, such as lab/det/1'),
        (one({"lab/det/1/x": {}}), "has three parts"),
        (one({"lab/det /1": {}}), "has three parts"),
        (one({"lab/det/1": {"property": {}}}), 'lab/det/1 has "property"; a device has "properties" and'),
        (one({"lab/det/1": {"properties": {"DataPort": 9991}}}), 'Tango takes a list of strings: ["9991"]'),
        (one({"lab/det/1": {"properties": {"DataPort": [1, "2"]}}}), 'takes a list of strings: ["1", "2"]'),
        (one({"lab/det/1": {"properties": {"DataPort": []}}}), "DataPort of lab/det/1 is an empty list;"),
        ('{"servers": {"a": {}, "A": {}}}', 'the key "A" occurs twice in one object'),
        (
            {"servers": {"A/a": {"A": {"lab/det/1": {}}}, "A/b": {"A": {"LAB/det/1": {}}}}},
            "LAB/det/1 is listed twice: under A/a, A, and under A/b, A",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_right_is_named(data: Any, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(BeamlineFileError) as refused:
        read(tmp_path, data)
    assert sentence in str(refused.value)
    assert str(tmp_path / "beamline.json") in str(refused.value)


def test_everything_that_is_wrong_is_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(BeamlineFileError) as refused:
        read(tmp_path, one({"a/b": {}, "lab/det/1": {"properties": {"DataPort": 1}}}) | {"more": 1})
    assert len(str(refused.value).splitlines()) == 4


def test_a_file_that_is_not_there_or_no_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(BeamlineFileError, match="it cannot be read: No such file"):
        load(tmp_path / "none.json")
    (tmp_path / "binary").write_bytes(b'{"\xff": 1}')
    with pytest.raises(BeamlineFileError, match="it is not UTF-8 text: byte 2 is invalid"):
        load(tmp_path / "binary")


def device(
    name: str, server: str = "Simulator/lab", kind: str = "Simulator", **properties: str
) -> PlannedDevice:
    values = {"ReceiverUrl": "http://127.0.0.1:5000", **properties}
    return PlannedDevice(name, server, kind, {("", key): (value,) for key, value in values.items() if value})


@pytest.mark.parametrize(
    ("properties", "sentence"),
    [
        ({"ReceiverUrl": ""}, 'a/b/c has no ReceiverUrl; give the address of its receiver'),
        (
            {"ReceiverUrl": "daq-1:5000"},
            'a/b/c: the property ReceiverUrl is "daq-1:5000"; set it to the address of its receiver',
        ),
        ({"DataPort": "x"}, 'a/b/c: the property DataPort is "x"; give a whole number from 0 to 65535'),
        ({"DataPort": "70000"}, 'DataPort is "70000"; give a whole number from 0 to 65535, or delete it'),
        ({"LiveImageRate": "fast"}, 'LiveImageRate is "fast"; give a number from 0.01 to 100 Hz'),
    ],
)  # fmt: skip
def test_values_that_would_end_the_server_are_refused(properties: dict[str, str], sentence: str) -> None:
    (refusal,) = check([device("a/b/c", **properties)]).refusals
    assert sentence in refusal


def test_a_value_that_is_none_of_the_choices_is_refused() -> None:
    (refusal,) = check([device("a/b/c", "Eiger/lab", "Eiger", Host="dcu", Stream="v3")]).refusals
    assert refusal == 'a/b/c: the property Stream is "v3"; choose v1, v2'


def test_several_values_where_one_is_wanted_are_refused() -> None:
    settings = {("", "ReceiverUrl"): ("http://a:1",), ("", "dataport"): ("1", "2")}
    findings = check([PlannedDevice("a/b/c", "Simulator/lab", "Simulator", settings)])
    assert findings.refusals == [
        "a/b/c: the property DataPort has 2 lines; give a whole number from 0 to 65535, or delete it for "
        "9999, in one line"
    ]


def test_the_receivers_device_needs_its_address_too() -> None:
    kind = "PenstockReceiver"
    (refusal,) = check([device("a/b/c", f"{kind}/lab", kind, ReceiverUrl="")]).refusals
    assert "a/b/c has no ReceiverUrl" in refusal


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("", "a/b/c has no PipelineUrl; give the address of the pipeline's HTTP API"),
        (
            "daq-1:5100",
            'PipelineUrl is "daq-1:5100"; set it to the address of the pipeline\'s HTTP API, such as '
            "http://daq-1:5100",
        ),
    ],
)
def test_a_pipelines_device_needs_the_pipelines_address_and_no_receivers(url: str, says: str) -> None:
    kind = "PenstockPipeline"
    (refusal,) = check([device("a/b/c", f"{kind}/lab", kind, ReceiverUrl="", PipelineUrl=url)]).refusals
    assert says in refusal
    keys = {"ReceiverUrl": "", "PipelineUrl": "http://a:5100", "CurveResult": "I", "ScalarResults": "a, b"}
    assert not check([device("a/b/c", f"{kind}/lab", kind, **keys)]).refusals


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (device("a/b/1", DataPort="7"), device("a/b/2", DataPort="7")),
        (device("a/b/1"), device("a/b/2")),  # 9999, if nothing is said
        (device("a/b/1", DataHost="10.0.0.1"), device("a/b/2", "Simulator/other", DataHost="10.0.0.1")),
    ],
    ids=["one server", "both by default", "one address"],
)
def test_a_port_that_two_detectors_of_a_host_have_is_refused(
    one: PlannedDevice, other: PlannedDevice
) -> None:
    for findings in (check([one, other]), check([one], [other])):
        (refusal,) = findings.refusals
        assert refusal.startswith("a/b/1 and a/b/2 both have the DataPort")


def test_where_the_hosts_are_not_known_it_is_a_warning() -> None:
    findings = check([device("a/b/1"), device("a/b/2", "Simulator/other")])
    assert not findings.refusals
    assert "this works only on different hosts" in findings.warnings[0]


@pytest.mark.parametrize("properties", [{"DataPort": "0"}, {"StreamerControl": "tcp://10.0.0.1:5555"}])
def test_who_binds_no_given_port_shares_it_with_nobody(properties: dict[str, str]) -> None:
    findings = check([device("a/b/1", **properties), device("a/b/2", **properties)])
    assert not findings.refusals and not findings.warnings


def test_what_this_installation_does_not_know_is_a_warning() -> None:
    findings = check([
        device("a/b/1", "Motor/lab", "Motor"), device("a/b/2", kind="Motor"), device("a/b/3", BufferMB="1"),
        device("a/b/4", "Simulator/x", __SubDevices="dserver/Simulator/x"),
        device("a/b/5", "Simulatr/x", "Simulatr"),
    ])  # fmt: skip
    assert not findings.refusals
    server, kind, prop, port, misspelt = findings.warnings
    assert "no server Simulatr; did you mean Simulator?" in misspelt
    assert server.startswith(
        f"a/b/1: this installation has no server Motor (it has {', '.join(server_names())})"
    )
    assert kind.startswith(
        "a/b/2: the server Simulator has no class Motor (it has Simulator, PenstockReceiver)"
    )
    assert prop.startswith("a/b/3: Simulator has no property BufferMB; it has ReceiverUrl, ")
    assert port.startswith("a/b/3 and a/b/4 both")
