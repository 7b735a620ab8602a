"""The file of a bridge: what is filled in, and every error at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.bridges.epics import checks
from penstock.bridges.epics.config_file import BRIDGE
from penstock.cli.main import main
from penstock.devices._areadetector.simulated import SimulatedIoc
from penstock.service.config_file import ConfigFileError

RECEIVER = "http://127.0.0.1:5000"


def errors(**keys: object) -> list[str]:
    with pytest.raises(ConfigFileError) as found:
        BRIDGE.parse(keys, "epics.yaml")
    return found.value.sentences


def test_three_lines_are_enough(tmp_path: Path) -> None:
    file = tmp_path / "lab 1.yaml"
    file.write_text(f"prefix: LAB1\nreceiver: {RECEIVER}\nconsumer: epics\n")
    config = BRIDGE.load(file)
    assert (config.name, config.server, config.command) == ("lab_1", "p4p", False)
    assert [each.record for each in config.images] == ["IMAGE"]


def test_every_error_is_said_and_not_only_the_first() -> None:
    found = errors(
        prefx="LAB1", receiver="daq-1", images=[{"every": 0}], server="caproto", http="5200", pipeline="",
        command="yes", consumer="e",
    )  # fmt: skip
    assert len(found) == 7, found
    text = "\n".join(found)
    assert all(line.startswith("epics.yaml: ") for line in found)
    for words in (
        'no setting "prefx"; did you mean prefix?', "prefix is missing", 'receiver is "daq-1"; give',
        "images[0].every is 0", 'server is "caproto"; give p4p or pvapy', 'http is "5200"; give HOST:PORT',
        'command is "yes"; give true or false',
    ):  # fmt: skip
        assert words in text, found


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({}, "neither receiver nor pipeline"),
        ({"consumer": "epics", "pipeline": "http://h:5100"}, "there is no receiver that has it"),
        ({"receiver": RECEIVER, "results": ["curve"]}, "results is for a pipeline"),
        ({"receiver": RECEIVER, "command": True}, "command is for a pipeline"),
        ({"receiver": RECEIVER, "images": [{"rate": 10}]}, "give its name: consumer"),
        ({"receiver": RECEIVER, "consumer": "e", "images": [{}, {}]}, "two images have the record IMAGE"),
        ({"receiver": RECEIVER, "consumer": "e", "images": [{"record": "Results:a"}]}, "Results is taken"),
        ({"receiver": RECEIVER, "consumer": "e", "images": [{"record": "In:State"}]}, "In is taken"),
        ({"receiver": RECEIVER, "consumer": "e", "images": [{"record": "A B"}]}, "of letters, digits"),
        ({"receiver": RECEIVER, "consumer": "e", "images": []}, "images is an empty list"),
        ({"receiver": RECEIVER, "prefix": "LAB1:"}, "leave the last one out"),
        ({"receiver": RECEIVER, "listen": "127.0.0.1:99999"}, "65535 at most"),
        ({"receiver": RECEIVER, "listen": "5075"}, "give HOST:PORT, such as 0.0.0.0:5075"),
    ],
)  # fmt: skip
def test_what_contradicts_itself_is_refused(keys: dict[str, object], words: str) -> None:
    found = errors(**{"prefix": "LAB1", **keys})
    assert len(found) == 1 and words in found[0], found


@pytest.mark.parametrize("text", ["prefix: [", "a", "1: 2\nprefix: A\nreceiver: http://h:1\n"])
def test_what_is_no_such_file_is_a_sentence(text: str, tmp_path: Path) -> None:
    file = tmp_path / "epics.yaml"
    file.write_text(text)
    with pytest.raises(ConfigFileError, match="epics.yaml"):
        BRIDGE.load(file)


def test_the_command_prints_them_and_check_asks_who_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "epics.yaml"
    file.write_text("prefix: A B\nserver: x\nreceiver: http://127.0.0.1:1\n")
    assert main(["epics", str(file), "--check"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 2
    file.write_text("prefix: A\nreceiver: http://127.0.0.1:1\npipeline: http://127.0.0.1:1\n")
    assert main(["epics", str(file), "--check", "--json"]) == 2
    found = json.loads(capsys.readouterr().out)["errors"]
    assert [each.partition(" at ")[0] for each in found] == ["receiver", "pipeline"]


def test_the_schema_has_every_key(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["epics", "--schema"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads(json.dumps(BRIDGE.schema()))
    shipped = Path(__file__).parents[3] / "resources" / "epics.schema.json"
    assert json.loads(shipped.read_text()) == printed, "penstock epics --schema > resources/epics.schema.json"


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"filename": "a.h5"}, "give an absolute path"),
        ({"filename": "/data/{record}.h5"}, "there is no in.filename_record"),
        ({"filename": "/data/{name}.h5"}, "it may have {record} and {date:%Y%m%d}"),
        ({"filename": "/data/{date[0]}.h5"}, "it may have {record} and {date:%Y%m%d}"),
        ({"filename": "/data/{record.foo}.h5", "filename_record": "A"}, "it may have {record} and {date"),
        ({"filename": "/data/a.h5"}, "every acquisition would have the same file"),
        ({"filename": "/data/a.h5", "filename_record": "A"}, "every acquisition would have the same file"),
        ({"endpoint": "127.0.0.1:9999"}, "give tcp://HOST:PORT, such as tcp://127.0.0.1:9999"),
        ({"endpoint": "ipc:///tmp/a"}, "give tcp://HOST:PORT, such as tcp://127.0.0.1:9999"),
        ({"endpoint": "tcp://*:65536"}, 'in.endpoint is "tcp://*:65536"; a port is 65535 at most'),
        ({"name_servers": ["ioc-1:99999"]}, 'in.name_servers[0] is "ioc-1:99999"; a port is 65535 at most'),
        ({"name_servers": [*["ioc-1:1"] * 5, "x"]}, 'in.name_servers[5] is "x"; give HOST:PORT each'),
        ({"driver": ""}, "give what the driver's records begin with"),
        ({"name_servers": ["ioc-1"]}, "give HOST:PORT each, such as ioc-1:5075"),
    ],
)
def test_what_is_wrong_with_an_ioc_is_said(keys: dict[str, object], words: str) -> None:
    driver = {"driver": "13SIM1:cam1:", "image": "13SIM1:Pva1:Image", **keys}
    found = errors(prefix="LAB1", **{"in": driver})
    assert len(found) == 1 and words in found[0], found


def test_in_has_keys_and_a_name_of_the_date_alone_differs() -> None:
    (said,) = errors(**{"prefix": "LAB1", "in": "x"})
    assert 'in is "x"; give lines of KEY: VALUE, such as driver: 13SIM1:cam1:' in said
    driver = {"driver": "A", "image": "B", "filename": "/data/{date:%f}.h5"}
    assert BRIDGE.parse({"prefix": "LAB1", "in": driver}, "epics.yaml").in_ is not None


@pytest.mark.slow
def test_an_ioc_that_does_not_answer_is_found_by_check(tmp_path: Path) -> None:
    driver = {
        "driver": "SIM:cam1:",
        "image": "SIM:Pva1:Image",
        "filename_record": "SIM:cam1:NDAttributesFile",
    }
    ioc = SimulatedIoc()
    config = BRIDGE.parse({"prefix": "LAB1", "in": driver | {"name_servers": [ioc.address]}}, "epics.yaml")
    assert checks.check(config) == []
    ioc.close()
    (said,) = checks.check(config)
    assert said.startswith("no answer from SIM:cam1:Acquire, SIM:cam1:ArrayCounter_RBV, SIM:Pva1:Image, SIM:")
