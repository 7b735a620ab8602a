"""`penstock status --all` where there is nothing to ask; with a database: tests/system/test_fleet.py."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli.main import main
from penstock.hosts.child import free_port
from penstock.hosts.tango_database import start_database

DEADLINE = 60.0


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=DEADLINE)


def test_without_a_database_named_it_says_how_to_name_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--all"]) == 2
    assert "TANGO_HOST is not set" in capsys.readouterr().err


def test_a_database_that_does_not_answer_is_named_in_json_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    address = f"127.0.0.1:{free_port()}"
    monkeypatch.setenv("TANGO_HOST", address)
    assert main(["status", "--all", "--json"]) == 2
    said = capsys.readouterr()
    assert f"no Tango database answers at {address}" in said.err
    assert said.out.startswith('{"error":')


def test_a_database_without_our_devices_says_how_to_register_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with start_database(tmp_path) as database:
        monkeypatch.setenv("TANGO_HOST", f"127.0.0.1:{database.answer}")
        assert main(["status", "--all"]) == 2
    assert "penstock device Simulator sim --register sim/det/1" in capsys.readouterr().err


@pytest.mark.parametrize(
    "other", [["http://127.0.0.1:5000/x"], ["--wait"], ["--config", "detectors.yaml"], ["--pipeline"]]
)
def test_it_is_every_receiver_and_not_one(other: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--all", *other]) == 2
    assert "leave out URL, --config, --pipeline and --wait" in capsys.readouterr().err


def test_who_lacks_tango_is_told_what_to_install() -> None:
    done = python(
        "import sys; sys.modules['tango'] = None; from penstock.cli.main import main; "
        "sys.exit(main(['status', '--all']))"
    )
    assert done.returncode == 2
    assert "the Python package tango is not installed" in done.stderr
    assert "[tango]" in done.stderr


def test_it_needs_nothing_of_the_extra_gui_and_no_other_status_pays_for_it() -> None:
    done = python(
        "import sys; from penstock.cli.main import main; main(['status', '127.0.0.1:x']); "
        "print(*sys.modules); main(['status', '--all']); print(*sys.modules)"
    )
    one, every = (set(line.split()) for line in done.stdout.splitlines())
    assert not one & {"tango", "penstock.gui", "rich"}
    assert "tango" in every
    assert not every & {"PyQt5", "silx", "h5py", "matplotlib"}
