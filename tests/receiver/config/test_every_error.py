"""Every error of a configuration file is said at once: `penstock receiver --check`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.cli.main import main

WRONG = """\
receivers:
  a:
    source: {endpoints: ["tcp://127.0.0.1:9999"], typ: stins, sockets: 0}
    data_rot: /data
    gap: {seconds: "3.0"}
    forward:
      - {name: x, endpoint: "tcp://127.0.0.1:0", every: 0}
      - {name: y}
    flush_seconds: -1
    rois: {r: {x: 1}}
  b:
    source: {endpoints: []}
    data_root: /data
    on_terminate: maybe
  c:
    source: {endpoints: ["tcp://127.0.0.1:9999"]}
    data_root: relative
"""


def test_every_error_is_said_with_the_entry_the_setting_and_the_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "beamline.yaml"
    file.write_text(WRONG)
    assert main(["receiver", "--config", str(file), "--check"]) == 2
    said = capsys.readouterr().out.splitlines()
    assert all(each.startswith(f"{file}: receiver ") for each in said)
    for words in (
        'a: source has no setting "typ"; did you mean type?', "a: source.sockets is 0; give a whole number",
        'a: there is no setting "data_rot"; did you mean data_root?', "a: data_root is missing; give an abs",
        'a: gap.seconds is "3.0"; give a number', "a: forward[0].every is 0; give", "a: forward[1].end",
        "a: flush_seconds is -1; give", "a: rois", "b: source.endpoints is an empty list",
        'b: on_terminate is "maybe"; give finish or resume', 'c: data_root is "relative"; give an abs',
    ):  # fmt: skip
        assert sum(words in each for each in said) == 1, (words, said)
    assert len(said) == 12
    assert main(["receiver", "c", "--config", str(file), "--check", "--json"]) == 2
    assert len(json.loads(capsys.readouterr().out)["errors"]) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("receivers: {", "is not YAML"),
        ("a: 1", 'the file begins with "receivers:"'),
        ("receivers: 1", "entries"),
    ],
)
def test_what_is_no_such_file_is_a_sentence(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "beamline.yaml"
    file.write_text(text)
    assert main(["receiver", "--config", str(file), "--check"]) == 2
    assert words in capsys.readouterr().err


def test_what_this_host_lacks_is_said_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entry = {"source": {"endpoints": ["tcp://127.0.0.1:9999"]}, "data_root": str(tmp_path / "none")}
    file = tmp_path / "beamline.yaml"
    file.write_text(json.dumps({"receivers": {"a": entry, "b": {**entry, "data_root": str(tmp_path)}}}))
    assert main(["receiver", "--config", str(file), "--check"]) == 2
    assert capsys.readouterr().out == (
        f"{file}: the data root {tmp_path}/none of a is not a folder; create it first\n"
    )
    assert main(["receiver", "b", "--config", str(file), "--check"]) == 0
    assert capsys.readouterr().out == f"{file}: nothing is wrong\n"


def test_every_error_of_a_pipeline_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "spots.yaml"
    file.write_text(
        json.dumps({"processor": "spots.py:Spots", "workers": -1, "receivr": "x", "retry": "yes"})
    )
    assert main(["process", str(file), "--check"]) == 2
    said = capsys.readouterr().out
    for words in (
        'no setting "receivr"; did you mean receiver?',
        "workers is -1; give",
        'retry is "yes"; give',
    ):
        assert words in said
    file.write_text(json.dumps({"processor": "spots.py:Spots", "receiver": "http://127.0.0.1:1"}))
    assert main(["process", str(file), "--check"]) == 2
    missing, away = capsys.readouterr().out.splitlines()
    assert "spots.py: No such file or directory" in missing
    assert away.startswith("receiver at http://127.0.0.1:1 does not answer")
