"""What the command line says to arguments that it cannot take, and while it waits."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli import generate
from penstock.cli.main import main


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What stands on standard error after a refusal."""
    assert main(arguments) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--frames", "abc"], 'argument --frames: "abc"; give a whole number of at least 1'),
        (["--seed", "-1"], "argument --seed: -1 is below 0"),
        (["--delay-seconds", "x"], 'argument --delay-seconds: "x"; give a number from 0 to 3600'),
        (["--endpoint", "127.0.0.1:9999"], '"127.0.0.1:9999"; give tcp://HOST:PORT, such as tcp://'),
        (["--endpoint", "tcp://127.0.0.1:65536"], "has the port 65536; the highest is 65535"),
        (["--endpoint", "tcp://127.0.0.1:65535", "--streams", "2"], "2 streams need the ports after it, too"),
    ],
)
def test_generate_refuses_in_its_users_words(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = said(capsys, "generate", *arguments)
    assert words in text
    assert "_positive" not in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["generate", "--wait", "nan"], '--wait: "nan"; give a number of at least 0'),
        (["generate", "--wait-peers", "-1"], "--wait-peers: -1 is below 0"),
        (["replay", "x", "--rate", "0"], '--rate: "0"; give a number above 0'),
        (["status", "--timeout", "x"], '--timeout: "x"; give a number of at least 0'),
        (["view", "--downsample", "0"], "--downsample: 0 is below 1"),
        (["panel", "sim/det"], '"sim/det" is not a device name: that has three parts, such as sim/det/1'),
        (["panel", "--size", "100"], '--size: "100"; give width and height, such as 1280x800'),
        (["integrate", "--points", "x", "f"], '--points: "x"; give a whole number of at least 1'),
        (["database", "--port", "99999"], "--port: 99999 is above 65535"),
        (["demo", "--frames", "0"], "--frames: 0 is below 1"),
        (["check-storage", "--write-mb", "x", "."], '--write-mb: "x"; give a whole number of at least 1'),
        (
            ["streamer", "Simulator", "--data", "tcp://127.0.0.1:99999"],
            "--data tcp://127.0.0.1:99999 has the port",
        ),
        (["streamer", "Simulator", "--control", "x"], '--control "x"; give tcp://HOST:PORT'),
        (["device", "Nonsense", "x"], 'there is no camera "Nonsense"; there are AreaDetector, Eiger, '),
    ],
)
def test_numbers_addresses_and_names_that_cannot_be_are_refused_with_what_can(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words in said(capsys, *arguments)


@pytest.mark.parametrize("command", ["check", "verify", "integrate", "replay"])
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("nothing", "does not exist"),
        ("folder", "folder|Is a directory"),
        ("text", "not an HDF5 file|not a recording"),
        ("empty", "is empty|not a recording|holds no"),
        ("forbidden", "Permission denied|may not"),
    ],
)
def test_a_file_that_is_none_is_one_sentence(
    command: str, kind: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    path = tmp_path / "given"
    if kind == "folder":
        path.mkdir()
    elif kind != "nothing":
        path.write_text("some text\n" if kind == "text" else "")
    if kind == "forbidden":
        if os.geteuid() == 0:
            pytest.skip("root may read everything")
        path.chmod(0)
    text = said(capsys, command, str(path))
    assert text.startswith(f"penstock {command}: ") and text.count("\n") == 1
    assert re.search(words, text) and str(path) in text


def test_curves_that_have_no_place_are_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    text = said(capsys, "integrate", "--out", str(tmp_path / "file"), "a.h5")
    assert text == (
        f"penstock integrate: cannot write {tmp_path}/file/a.xy: File exists; --out chooses another folder\n"
    )


@pytest.mark.parametrize(
    ("arguments", "package", "extra"),
    [
        (["view", "http://127.0.0.1:1"], "silx", "gui"),
        (["panel", "sim/det/1"], "silx", "gui"),
        (["integrate", "a.h5"], "pyFAI", "powder"),
        (["check", "a.h5"], "h5py", "receiver"),
        (["receiver", "sim-1"], "ruamel", "receiver"),
        (["device", "Simulator", "x"], "tango", "tango"),
        (["status", "sim-1"], "ruamel", "receiver"),
        (["database", "--port", "0"], "tango", "tango"),
    ],
)
def test_a_package_that_is_missing_is_named_with_the_extra_that_brings_it(
    arguments: list[str], package: str, extra: str
) -> None:
    """In a process of its own, in which the package cannot be imported."""
    code = (
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.partition('.')[0] == {package!r}:\n"
        "            raise ModuleNotFoundError(f'No module named {name}', name=name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "from penstock.cli.main import main\n"
        f"raise SystemExit(main({arguments!r}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith(f"penstock {arguments[0]}: the Python package {package} is not installed; ")
    assert f"[{extra}]" in done.stderr
    assert "Traceback" not in done.stderr


def test_generate_asks_about_the_endpoint_when_nobody_comes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generate, "HINT_SECONDS", 0.1)
    text = said(capsys, "generate", "--endpoint", "tcp://127.0.0.1:0", "--wait", "0.5")
    assert text.count("still nobody after 0.1 s; is a receiver running that has tcp://127.0.0.1:") == 1


def test_device_needs_no_options_for_tango(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "device", "Simulator")
    assert "which instance of Simulator? Write: penstock device Simulator INSTANCE" in text
    assert "OPTIONS" not in text


@pytest.mark.parametrize(
    ("words", "meant"), [(["recever"], "receiver"), (["demo", "--detector", "eigr"], "eiger")]
)
def test_a_word_that_is_nearly_one_of_them_is_asked_about(
    words: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert f"there is no {words[-1]}; did you mean {meant}?" in capsys.readouterr().err
