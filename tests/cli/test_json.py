"""--json: nothing but JSON on standard output, of every subcommand that has it, also when it fails."""

from __future__ import annotations

import json
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from penstock.cli.main import COMMANDS, build_parser, main
from tests.receiver.h5_file import write_series

DEADLINE = 60.0


def lines(capsys: pytest.CaptureFixture[str]) -> tuple[list[Any], str]:
    """Each line of standard output as JSON, and what stands on standard error."""
    said = capsys.readouterr()
    assert said.out, "nothing on standard output"
    return [json.loads(line) for line in said.out.splitlines()], said.err


def test_these_subcommands_have_it() -> None:
    parser = build_parser(COMMANDS)
    (commands,) = (action for action in parser._actions if action.metavar == "COMMAND")
    assert isinstance(commands.choices, dict)
    having = {name for name, each in commands.choices.items() if "--json" in each._option_string_actions}
    assert having == {
        "areadetector", "camserver", "check", "check-storage", "demo", "epics", "generate",
        "integrate", "pipeline-control", "process",
        "receiver", "register", "replay", "rois", "sardana-demo", "sardana-register", "series", "simplon",
        "status", "verify",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("lost", "status"), [(set[int](), 0), ({2}, 1)], ids=["a clean file", "a file with a gap"]
)
def test_check(lost: set[int], status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_series(tmp_path / "a.h5", 6, lost=lost) or tmp_path / "a.h5"
    assert main(["check", "--json", str(path)]) == status
    (found,), words = lines(capsys)
    assert found["clean"] is (status == 0)
    assert f"{path}: {'clean' if status == 0 else 'NOT clean'}" in words


@pytest.mark.parametrize("command", ["check", "verify", "integrate"])
def test_a_file_that_is_not_there_is_said_in_json_too(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "none.h5"
    assert main([command, "--json", str(path)]) == 2
    (found,), words = lines(capsys)
    assert f"{path} does not exist" in json.dumps(found)
    assert f"{path} does not exist" in words


def test_verify(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_series(tmp_path / "a.h5", 3)
    assert main(["verify", "--json", str(tmp_path / "a.h5")]) == 1
    (found,), words = lines(capsys)
    assert found["sound"] is False
    assert "there is nothing to verify" in words


def test_integrate_of_a_file_without_geometry(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_series(tmp_path / "a.h5", 3)
    assert main(["integrate", "--json", str(tmp_path / "a.h5")]) == 2
    (found,), _ = lines(capsys)
    assert "has no geometry" in found["failed"][str(tmp_path / "a.h5")]


def test_check_storage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-storage", "--json", "--write-mb", "1", str(tmp_path)]) == 0
    (found,), words = lines(capsys)
    assert found["fit"] is True
    assert "fallocate" in words


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["check-storage", "/there/is/none"], "there is no such folder"),
        (["status", "http://127.0.0.1:99999"], "ports are numbers from 1 to 65535"),
        (["generate", "--frames", "3", "--drop", "7"], "there are 3 frames"),
        (["replay", "/there/is/none"], "/there/is/none"),
        (["demo", "--frames", "0"], "0 is below 1"),
        (["receiver", "nobody"], "nobody"),
        (["check-storage", "--write-mb", "0", "."], "0 is below 1"),
        (["check"], "the following arguments are required: FILE"),
    ],
)
def test_what_cannot_be_is_one_json_value_with_the_sentence_in_error(
    arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--json"]) == 2
    (found,), words = lines(capsys)
    assert list(found) == ["error"]
    assert why in found["error"]
    assert why in words


def test_status_of_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    assert main(["status", "--json", f"http://127.0.0.1:{port}"]) == 2
    (found,), _ = lines(capsys)
    assert "nobody listens there" in found["error"]


def test_generate_without_a_receiver_says_where_it_was_and_that_nobody_came(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["generate", "--json", "--endpoint", "tcp://127.0.0.1:0", "--wait", "0.1"]) == 2
    (ready, end), _ = lines(capsys)
    assert ready["data"].startswith("tcp://127.0.0.1:")
    assert "connected to" in end["error"]


def test_a_program_reads_it_through_a_pipe(tmp_path: Path) -> None:
    write_series(tmp_path / "a.h5", 6, lost={2})
    read = "import json, sys; print(json.load(sys.stdin)['files'][0]['missing'])"
    done = subprocess.run(
        f'penstock check --json {tmp_path}/a.h5 | python3 -c "{read}"',
        shell=True, capture_output=True, text=True, timeout=DEADLINE,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr
