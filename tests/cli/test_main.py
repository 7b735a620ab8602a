"""The entry point: what it does for every subcommand."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.receiver.h5_file import write_series

DEADLINE = 60
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "arguments",
    [
        ["receiver", "--schema"], ["--help"], ["check", "FILE", "FILE"], ["check", "--json", "FILE"],
        *(
            pytest.param(arguments, marks=pytest.mark.slow)
            for arguments in (
                ["check", "--help"], ["completion", "bash"], ["demo", "--out", "FOLDER"], ["verify", "FILE"],
                ["check-storage", "FOLDER"], ["status", "--help"],
            )
        ),
    ],
    ids=" ".join,
)  # fmt: skip
def test_who_reads_no_further_gets_no_traceback(arguments: list[str], tmp_path: Path) -> None:
    write_series(tmp_path / "a.h5", 2)
    given = {"FILE": str(tmp_path / "a.h5"), "FOLDER": str(tmp_path)}
    process = subprocess.Popen(
        ["penstock", *(given.get(word, word) for word in arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    # With --json, the text for people still has a reader.
    said = [line for line in process.stderr.read().splitlines() if "--json" not in arguments]
    assert said == []
    assert process.wait(DEADLINE) == 128 + signal.SIGPIPE
    process.stderr.close()


def test_without_a_standard_output_the_exit_status_still_says_it(tmp_path: Path) -> None:
    write_series(tmp_path / "a.h5", 2)
    done = subprocess.run(
        f"penstock check {tmp_path}/a.h5 >&-", shell=True, stderr=subprocess.PIPE, text=True, timeout=DEADLINE
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "waits"),
    [
        (["generate", "--endpoint", "tcp://127.0.0.1:0"], "waiting for 1 receiver"),
        (["replay", "RECORDING", "--endpoint", "tcp://127.0.0.1:0", "--json"], "waiting for its receiver"),
    ],
)
def test_ctrl_c_ends_quietly_with_130(arguments: list[str], waits: str, tmp_path: Path) -> None:
    recording = tmp_path / "stins.cborseq"
    recording.write_bytes(b"\x81X" + bytes([len(START)]) + START)
    process = subprocess.Popen(
        ["penstock", *(str(recording) if word == "RECORDING" else word for word in arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    assert waits in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=DEADLINE)
    assert process.returncode == 130
    assert "Traceback" not in rest
    assert "Error" not in rest


def test_ctrl_c_reaches_the_programs_of_tests_that_a_shell_runs_in_the_background(
    tmp_path: Path,
) -> None:
    test = f"{Path(__file__)}::test_ctrl_c_ends_quietly_with_130"
    in_the_background = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh"]
    done = subprocess.run(
        [*in_the_background, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test],
        cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE,
        # It must not tidy up after earlier runs of all tests: that may take minutes.
        env=os.environ | {"PYTEST_DEBUG_TEMPROOT": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


START = b'{"htype": "header", "filename": "", "msg_number": 0}'


@pytest.mark.parametrize("command", ["receiver", "worker", "epics", "process"])
def test_a_service_that_is_asked_to_end_before_it_has_begun_ends_well(command: str) -> None:
    program = (
        "import importlib, os, signal, sys\n"
        "def during_imports(*_):\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    raise AssertionError('it goes on')\n"
        "from penstock.cli import main\n"
        "main.build_parser = during_imports\n"
        "sys.exit(main.main(sys.argv[1:]))"
    )
    ended = subprocess.run([sys.executable, "-c", program, command], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
