"""The configuration: typed, unknown keys refused, errors with the file and the key."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.cli.main import main
from penstock.hosts.child import free_port
from penstock.receiver import config
from penstock.receiver.config import ConfigError
from tests import hostile

RESOURCES = Path(__file__).resolve().parents[3] / "resources"
ENTRY = {"source": {"endpoints": ["tcp://127.0.0.1:9999"]}, "data_root": "/tmp"}
MASK = {"first_row": 0, "first_column": 0, "rows": 2, "columns": 2}
JOIN = {"join": "modules"}
MODULES = {"endpoints": ["tcp://127.0.0.1:9999", "tcp://127.0.0.1:9998"]} | JOIN


def as_json(schema: dict[str, Any]) -> Any:
    """The schema as it is read back: JSON has lists only."""
    return json.loads(json.dumps(schema))


def test_the_shipped_detectors_are_valid() -> None:
    file = config.load(RESOURCES / "detectors.yaml")
    assert {entry.source.type for entry in file.receivers.values()} == {"stins", "dectris-v1", "dectris-v2"}


def test_the_committed_schema_is_the_one_of_the_code() -> None:
    committed = json.loads((RESOURCES / "detectors.schema.json").read_text())
    assert committed == as_json(config.schema()), (
        "make it anew with: penstock receiver --schema > resources/detectors.schema.json"
    )


def test_the_schema_command_prints_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["receiver", "--schema"]) == 0
    assert json.loads(capsys.readouterr().out) == as_json(config.schema())


@pytest.mark.parametrize("bad", hostile.CONFIGS, ids=lambda item: item.name)
def test_a_hostile_configuration_is_refused_with_the_file_and_the_key(
    bad: hostile.BadConfig, tmp_path: Path
) -> None:
    path = tmp_path / "receivers.yaml"
    path.write_text(bad.yaml)
    with pytest.raises(ConfigError) as caught:
        config.load(path)
    assert str(path) in str(caught.value)
    assert bad.says in str(caught.value)
    assert not re.search(r"\$|Expected|Object |Invalid|`int`", str(caught.value)), "msgspec's own words"


@pytest.mark.parametrize("bad", hostile.CONFIGS[:8], ids=lambda item: item.name)
def test_a_receiver_with_a_hostile_configuration_ends_with_a_sentence(
    bad: hostile.BadConfig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "receivers.yaml"
    path.write_text(bad.yaml)
    assert main(["receiver", "sim-1", "--config", str(path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("penstock receiver: ")
    assert said.count("\n") == 1


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.yaml: No such file .* --config"):
        config.load(tmp_path / "nowhere.yaml")


def test_a_file_that_is_not_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"x\.yaml is not"):
        config.load(tmp_path / "x.yaml")


@pytest.mark.parametrize("key", ["data_root", "detector", "swmr", "workers"])
def test_half_a_character_is_refused(key: str) -> None:
    with pytest.raises(ConfigError, match=r"x.yaml.*udc80"):
        config.parse({"receivers": {"sim-1": {**ENTRY, key: "/\udc80"}}}, "x.yaml")


def test_the_entry_with_a_wrong_key_is_named() -> None:
    with pytest.raises(
        ConfigError, match=r'x\.yaml: receiver sim-2: .* "sauce"; `penstock receiver --schema'
    ):
        config.parse({"receivers": {"sim-1": ENTRY, "sim-2": {**ENTRY, "sauce": 1}}}, "x.yaml")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"filename_templat": "x"}, "did you mean filename_template"),
        ({"nonsense": 1}, "receiver --schema"),
        ({"transforms": [{"type": "decompres"}]}, 'transforms.0..type is "decompres"; give .*decompress'),
    ],
)
def test_a_key_that_is_not_known_is_refused_with_a_remedy(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        config.parse({"receivers": {"sim-1": {**ENTRY, **wrong}}}, "x.yaml")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"hold_mb": "1 GB"}, 'hold_mb is "1 GB"; give a number above 0'),
        ({"hold_mb": None}, "hold_mb is empty; give a number above 0"),
        ({"hold_mb": float("inf")}, "hold_mb is inf; give a number above 0, 1e+12 at most"),
        ({"files": 100}, "files is 100; give a whole number from 1 to 16"),
        ({"workers": 0}, "workers is 0; give a whole number from 1 to 256"),
        ({"workers": 1_000_000}, "workers is 1000000; give a whole number from 1 to 256"),
        (
            {"transforms": [{"type": "counts_to_energy", "table": ["a"]}]},
            'transforms[0].table[0] is "a"; give a finite number',
        ),
        (
            {"transforms": [{"type": "counts_to_energy", "table": [0, [1, 2]]}]},
            "transforms[0].table[1] is a list; give a finite number",
        ),
        (
            {"transforms": [{"type": "counts_to_energy", "table": 5}]},
            "transforms[0].table is 5; give text or a list, each a finite number",
        ),
        (
            {"transforms": [{"type": "mask", **MASK, "fill": "inf"}]},
            'transforms[0].fill is "inf"; give a finite number or nan',
        ),
        (
            {"transforms": [{"type": "mask", **MASK, "fill": float("inf")}]},
            "transforms[0].fill is inf; give a finite number or nan",
        ),
        ({"swmr": 1}, "swmr is 1; give true or false"),
        ({"gap": {"policy": "drop"}}, 'gap.policy is "drop"; give fail, pad or report'),
        ({"gap": {"polcy": "pad"}}, 'gap has no setting "polcy"; did you mean policy?'),
        ({"sockets": 2}, 'there is no setting "sockets"; write it below source'),
        ({"gap": {"x": 1}}, 'gap has no setting "x"; there is policy, seconds'),
        ({"gap": 3}, "gap is 3; give its settings: policy, seconds"),
        (
            {"forward": [{"name": "a"}]},
            'forward[0].endpoint is missing; give "tcp://HOST:PORT" or "ipc://PATH"',
        ),
        (
            {"forward": {"name": "a"}},
            "forward is lines of NAME: VALUE; give a list of entries, each with its",
        ),
        *(
            (
                {"forward": [{"name": "a", "endpoint": "tcp://127.0.0.1:*", "page": page}]},
                f'forward[0]: consumer a: page is "{page}"; give the address of a page, such as http://daq-1:5100/',
            )
            for page in (
                "javascript:alert(1)",
                "daq-1:5100",
                "http://",
                "http://a b/",
                "https://me:pass@daq-1/",
            )
        ),
        ({"path_map": {"/a": 3}}, "path_map./a is 3; give text"),
        ({"path_map": {3: "/a"}}, 'path_map has the name 3, which is no text; write "3": in quotes'),
        ({"transforms": [{"quarter_turns": 1}]}, "transforms[0].type is missing; give assemble, "),
        (
            {"transforms": [{"type": "rotate", "quarter_turns": 9}]},
            "transforms[0].quarter_turns is 9; give 1, 2 or 3",
        ),
        (
            {"transforms": [{"type": "rotate", "turns": 1}]},
            'transforms[0] has no setting "turns"; there is quarter_turns',
        ),
        (
            {"source": {"endpoints": []}},
            "source.endpoints is an empty list; give a list with one entry at le",
        ),
        ({"source": {"endpoints": ["tcp://h:1"], "type": "x"}}, 'source: type is "x"; known are stins'),
        (
            {"source": {"endpoints": ["tcp://h:1", "tcp://*:9999"]}},
            "source: endpoints has tcp://*:9999; the receiver connects and the streamer binds: give the",
        ),
        ({"http": 5000}, "http is 5000; give HOST:PORT, such as 127.0.0.1:5000"),
        (
            {"http": "http://127.0.0.1:5000"},
            'http is "http://127.0.0.1:5000"; give HOST:PORT without http://, such as 127.0.0.1:5000',
        ),
        ({"data_root": 3}, "data_root is 3; give an absolute path, such as /data"),
        ({"state_folder": "x"}, 'state_folder is "x"; give an absolute path'),
    ],
)
def test_a_wrong_value_is_told_with_its_place_itself_and_what_may_stand_there(
    wrong: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        config.parse({"receivers": {"sim-1": ENTRY, "sim-2": {**ENTRY, **wrong}}}, "x.yaml")
    assert str(caught.value).startswith(f"x.yaml: receiver sim-2: {said}")


def test_an_entry_without_a_data_root_is_told_what_one_is() -> None:
    with pytest.raises(ConfigError) as caught:
        config.parse({"receivers": {"a": {"source": ENTRY["source"]}}}, "x.yaml")
    assert (
        str(caught.value) == "x.yaml: receiver a: data_root is missing; give an absolute path, such as /data"
    )


def test_entries_that_are_none_are_told() -> None:
    for receivers, said in (
        ([], '"receivers:" has entries below it, each a NAME: and its settings'),
        ({"a": 3}, "receiver a: the entry is 3; give its settings: source, data_root"),
        ({7: ENTRY}, 'write "7": in quotes'),
    ):
        with pytest.raises(ConfigError) as caught:
            config.parse({"receivers": receivers}, "x.yaml")
        assert said in str(caught.value)


def test_an_entry_without_its_heading_is_refused_with_the_heading() -> None:
    with pytest.raises(ConfigError, match="begins with .receivers:."):
        config.parse({"sim-1": ENTRY}, "x.yaml")


def test_a_receiver_that_is_not_in_the_file_is_refused_with_those_that_are() -> None:
    file = config.parse({"receivers": {"sim-1": ENTRY, "sim-2": ENTRY}}, "x.yaml")
    with pytest.raises(ConfigError, match=r'no receiver "eiger"; it has: sim-1, sim-2'):
        config.receiver(file, "eiger", "x.yaml")


def test_a_name_by_the_template_has_detector_series_and_date() -> None:
    entry = msgspec.convert(
        {**ENTRY, "filename_template": "{detector}/{series}_{date:%Y}.h5"}, config.ReceiverConfig
    )
    assert entry.template_name("eiger", "7").startswith("eiger/7_20")


def test_without_a_template_a_stream_without_a_name_has_none() -> None:
    assert msgspec.convert(ENTRY, config.ReceiverConfig).template_name("eiger", "7") == ""


def test_the_configuration_reaches_the_data_process_as_it_is() -> None:
    entry = msgspec.convert(
        {**ENTRY, "path_map": {"/a": "/b"}, "forward": [{"name": "x", "endpoint": "tcp://127.0.0.1:*"}]},
        config.ReceiverConfig,
    )
    assert msgspec.json.decode(msgspec.json.encode(entry), type=config.ReceiverConfig) == entry


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        (
            {"write_with": "processes"},
            'receiver sim-1: there is no setting "write_with"; leave it out$',
        ),
        (
            {"writers": 4},
            'receiver sim-1: there is no setting "writers"; leave it out, or set files: several',
        ),
        ({"write_queue_mb": 64}, 'there is no setting "write_queue_mb"; leave it out: what waits'),
        (
            {"files": 3, "source": MODULES},
            r"files is 3, and modules .* one for each of the 2: set files: 2, .* or put \{type: as",
        ),
        (
            {
                "files": 16,
                "source": {"endpoints": [f"tcp://127.0.0.1:{n}" for n in range(9000, 9017)]} | JOIN,
            },
            r"one for each of the 17: leave it out or put \{type: as",
        ),
        ({"files": 2, "frames_per_file": 5}, "frames_per_file is 5 and files 2; segments are written one af"),
        ({"on_terminate": "resume", "resume": False}, "on_terminate is resume, and resume is false, so that"),
        ({"files": 2, "swmr": True}, "swmr is for one file that others read while it grows: leave out swmr"),
        (
            {"frames_per_file": 5, "source": MODULES},
            "frames_per_file is 5, and modules .* leave out frames_per",
        ),
    ],
)
def test_what_would_have_no_effect_is_refused_with_the_remedy(keys: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        config.parse({"receivers": {"sim-1": ENTRY | keys}}, "x.yaml")


def test_modules_as_received_may_have_a_file_each() -> None:
    config.parse({"receivers": {"sim-1": ENTRY | {"source": MODULES, "files": 2}}}, "x.yaml")


@pytest.mark.parametrize("keys", [{"files": 2}, {"frames_per_file": 5}])
def test_modules_that_are_assembled_may_be_in_several_files_or_segments(keys: dict[str, Any]) -> None:
    entry = ENTRY | {"source": MODULES, "transforms": [{"type": "assemble"}]} | keys
    config.parse({"receivers": {"sim-1": entry}}, "x.yaml")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "receivers:\n  a: {}\n  b: {}\n  a: {}\n",
            'x.yaml: line 4, column 3: the key "a" is given twice in one',
        ),
        (
            "receivers:\n  a:\n    http: x:1\n    http: x:2\n",
            'line 4, column 5: the key "http" is given twice',
        ),
        ("receivers: {a: {http: 'x:1', 'http': 'x:2'}}", 'line 1, column 30: the key "http" is given twice'),
    ],
)
def test_a_key_that_is_given_twice_is_refused_with_its_line(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        config.load(path)
    assert says in str(caught.value)


@pytest.mark.parametrize("word", ["yes", "no", "on", "off"])
def test_only_true_and_false_are_yes_and_no_and_everything_else_is_said_with_what_may_stand_there(
    word: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.yaml"
    entry = "source: {endpoints: ['tcp://h:1']}, data_root: /a"
    path.write_text(f"receivers:\n  a: {{{entry}, swmr: {word}}}\n")
    with pytest.raises(ConfigError, match=f'receiver a: swmr is "{word}"; give true or false'):
        config.load(path)
    path.write_text(f"receivers:\n  {word}: {{{entry}, swmr: true}}\n")
    assert config.load(path).receivers[word].swmr


def test_a_number_with_a_zero_before_it_is_that_number(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("receivers: {a: {source: {endpoints: ['tcp://h:1']}, data_root: /a, flush_seconds: 010}}")
    assert config.load(path).receivers["a"].flush_seconds == 10


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("receivers: [1", "x.yaml: it is not YAML: line 1, column 14: expected ',' or ']'"),
        ("receivers:\n\ta: 1", "x.yaml: it is not YAML: line 2, column 1: found character '\\t'"),
        ("a: 1\n---\nb: 1\n", "it is not YAML: line 2, column 1: but found another document"),
        ("a: \x00", "x.yaml: it is not YAML: unacceptable character"),
        ("a: 2026-13-45", "x.yaml: month must be in 1..12"),
    ],
)
def test_what_is_not_yaml_is_refused_with_its_line(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        config.load(tmp_path / "x.yaml")
    assert says in str(caught.value)


def test_a_key_that_is_merged_in_may_be_written_again(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(
        "receivers:\n"
        "  a: &a {source: {endpoints: ['tcp://h:1']}, data_root: /a}\n"
        "  b: &b {<<: *a, data_root: /b}\n"
        "  c: {<<: *b, data_root: /c}\n"
    )
    roots = [entry.data_root for entry in config.load(path).receivers.values()]
    assert roots == ["/a", "/b", "/c"]


@pytest.mark.parametrize("port", ["0", "*", "65536", "99999", "080"])
def test_a_port_that_cannot_be_connected_to_is_refused(port: str) -> None:
    source = {"endpoints": [f"tcp://127.0.0.1:{port}"]}
    with pytest.raises(ConfigError, match=r"source.endpoints\[0\] is .* with a PORT up to 65535"):
        config.parse({"receivers": {"sim-1": ENTRY | {"source": source}}}, "x.yaml")


@pytest.mark.parametrize("port", [1, 9, 9999, 10000, 59999, 64999, 65499, 65529, 65535])
def test_every_port_up_to_the_last_is_taken(port: int) -> None:
    source = {"endpoints": [f"tcp://127.0.0.1:{port}"]}
    config.parse({"receivers": {"sim-1": ENTRY | {"source": source}}}, "x.yaml")


@pytest.mark.parametrize(
    ("endpoints", "says"),
    [
        (["tcp://127.0.0.1:7", "tcp://127.0.0.1:7"], "forward: consumers need endpoints of their own"),
        (["ipc:///tmp/a", "ipc:///tmp/a"], "forward: consumers need endpoints of their own"),
        (ENTRY["source"]["endpoints"], "forward: consumers need endpoints of their own, which no source has"),
        (["tcp://127.0.0.1:65536"], r"forward\[0\].endpoint is .* PORT up to 65535"),
    ],
)
def test_a_consumers_endpoint_that_cannot_be_its_own_is_refused(endpoints: list[str], says: str) -> None:
    consumers = [{"name": f"c{number}", "endpoint": each} for number, each in enumerate(endpoints)]
    with pytest.raises(ConfigError, match=says):
        config.parse({"receivers": {"sim-1": ENTRY | {"forward": consumers}}}, "x.yaml")


def test_consumers_with_addresses_of_their_own_are_taken() -> None:
    endpoints = ["tcp://127.0.0.1:*", "tcp://127.0.0.1:*", "tcp://127.0.0.1:0", "tcp://127.0.0.2:5000"]
    pages = ["", "http://daq-1:5100", "https://daq-1.lab/pipelines/a?tab=2#top", "http://[::1]:5100/"]
    consumers = [
        {"name": f"c{number}", "endpoint": endpoint, "page": page}
        for number, (endpoint, page) in enumerate(zip(endpoints, pages, strict=True))
    ]
    config.parse({"receivers": {"sim-1": ENTRY | {"forward": consumers}}}, "x.yaml")


@pytest.mark.parametrize(
    ("http", "endpoints"),
    [
        ("127.0.0.1:{port}", ["tcp://127.0.0.1:{port}"]),
        ("127.0.0.1:{port}", ["tcp://*:{port}"]),
        ("127.0.0.1:0", ["tcp://127.0.0.1:{port}", "tcp://0.0.0.0:{port}"]),
        pytest.param(
            "127.0.0.1:0", ["tcp://localhost:{port}", "tcp://127.0.0.1:{port}"],
            marks=pytest.mark.skipif(not Path("/etc/hosts").exists(), reason="nobody knows localhost here"),
        ),
    ],
)  # fmt: skip
def test_a_receiver_whose_addresses_overlap_ends_with_a_sentence(
    http: str, endpoints: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    port = free_port()
    consumers = [
        {"name": f"c{number}", "endpoint": each.format(port=port)} for number, each in enumerate(endpoints)
    ]
    path = tmp_path / "x.yaml"
    entry = ENTRY | {"http": http.format(port=port), "forward": consumers}
    path.write_text(json.dumps({"receivers": {"sim-1": entry}}))
    assert main(["receiver", "sim-1", "--config", str(path)]) == 2
    last = consumers[-1]
    assert capsys.readouterr().err == (
        f"penstock receiver: consumer {last['name']}: cannot bind {last['endpoint']}: the port is taken; "
        "choose another forward endpoint\n"
    )


def test_a_receiver_with_a_consumers_port_in_use_ends_with_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        endpoint = f"tcp://127.0.0.1:{other.getsockname()[1]}"
        entry = ENTRY | {"http": "127.0.0.1:0", "forward": [{"name": "a", "endpoint": endpoint}]}
        path = tmp_path / "x.yaml"
        path.write_text(json.dumps({"receivers": {"sim-1": entry}}))
        assert main(["receiver", "sim-1", "--config", str(path)]) == 2
    assert capsys.readouterr().err == (
        f"penstock receiver: consumer a: cannot bind {endpoint}: the port is taken; "
        "choose another forward endpoint\n"
    )


def test_a_field_that_the_template_does_not_have_is_named() -> None:
    with pytest.raises(ConfigError, match=r"there is no field \{detektor\}; fields are \{detector\}"):
        config.parse({"receivers": {"sim-1": ENTRY | {"filename_template": "{detektor}.h5"}}}, "x.yaml")
