"""What `penstock receiver` says to an address that it cannot listen on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.cli.main import main


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("ä..b:80", "cannot listen on ä..b:80: no host of this name is known; give an address of this"),
        ("127..0:80", "cannot listen on 127..0:80: no host of this name is known"),
        ("a\0b:80", "; give HOST:PORT, such as 127.0.0.1:5000"),
        ("127.0.0.1:²", 'http is "127.0.0.1:²"; give HOST:PORT, such as 127.0.0.1:5000'),
        ("127.0.0.1:٣", 'http is "127.0.0.1:٣"; give HOST:PORT, such as 127.0.0.1:5000'),
        ("127.0.0.1:" + "9" * 5000, "; give HOST:PORT, such as 127.0.0.1:5000"),
    ],
)
def test_an_address_that_cannot_be_is_one_sentence(
    address: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "receivers.yaml"
    file.write_text(
        f"receivers: {{r: {{source: {{endpoints: ['tcp://127.0.0.1:1']}}, data_root: '{tmp_path}'}}}}\n"
    )
    assert main(["receiver", "r", "--config", str(file), "--http", address]) == 2
    said = capsys.readouterr().err
    assert said.startswith("penstock receiver: ")
    assert words in said
    assert said.count("\n") == 1


def test_whoever_forgets_the_configuration_is_told_which_one_is_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The entries of the shipped file have names that a beamline's own file may have, too."""
    file = tmp_path / "detectors.yaml"
    file.write_text(
        f"receivers: {{r: {{source: {{endpoints: ['tcp://127.0.0.1:1']}}, data_root: '{tmp_path}'}}}}\n"
    )
    monkeypatch.setattr("penstock.cli.receiver.shipped", lambda: file)
    assert main(["receiver", "r", "--http", "ä..b:80"]) == 2
    assert f"r is an entry of {file}, for trials; --config takes your file\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("files", "here", "warns"), [(1, 1, False), (2, 6, False), (2, 5, True), (16, 34, False), (16, 33, True)]
)
def test_too_few_cores_for_its_files_are_said_at_the_start(
    files: int, here: int, warns: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(here)))
    file = tmp_path / "receivers.yaml"
    file.write_text(
        f"receivers: {{r: {{source: {{endpoints: ['tcp://127.0.0.1:1']}}, data_root: '{tmp_path}', "
        f"files: {files}}}}}\n"
    )
    assert main(["receiver", "r", "--config", str(file), "--http", "ä..b:80"]) == 2
    sentence = (
        f"r: files is {files}, for which the receiver should have {here + 1} cores, and it may use {here}: "
        "fewer files, or one, may be faster"
    )
    said = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert said == ([sentence] if warns else [])
