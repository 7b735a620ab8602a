"""`penstock check-storage`: what it finds on this machine's file system, and on worse ones."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from penstock.checks import storage_probe
from penstock.cli.main import main

DEADLINE = 60.0


def probed(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, dict[str, Any]]]:
    """Exit status, and the findings by name."""
    status = main(["check-storage", "--json", "--write-mb", "8", str(folder)])
    summary = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert summary["fit"] == (status == 0)
    return status, {item["name"]: item for item in summary["findings"]}


def test_a_sound_file_system_is_fit_and_nothing_is_left_behind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, found = probed(tmp_path, capsys)
    assert status == 0, found
    assert {
        "file system", "free space", "locks", "O_EXCL", "rename", "fallocate", "sparse files",
        "fdatasync + folder", "sync_file_range", "O_DIRECT", "links", "file names", "writing",
        "several files",
    } == set(found)  # fmt: skip
    assert "HDF5 locks: best off" in found["locks"]["meaning"]
    assert found["file names"]["value"] == "up to 255 bytes"
    several = found["several files"]
    assert (several["value"], several["verdict"]) == ("not tried: 8 MB is too little for two", "note")
    assert several["meaning"] == "it takes --write-mb 17, and ten times as much free space"
    assert list(tmp_path.iterdir()) == []


def test_locks_that_do_nothing_are_told_from_locks_that_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage_probe, "lock", lambda kind, descriptor: None)
    status, found = probed(tmp_path, capsys)
    assert status == 0
    assert found["locks"]["value"] == "flock does nothing, fcntl does nothing, OFD does nothing"
    assert "HDF5_USE_FILE_LOCKING=FALSE" in found["locks"]["meaning"]


def test_two_winners_of_one_file_make_a_file_system_unfit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    race = storage_probe.race
    monkeypatch.setattr(storage_probe, "race", lambda folder, number: race(folder, number) + 1)
    status, found = probed(tmp_path, capsys)
    assert (status, found["O_EXCL"]["verdict"]) == (1, "bad")
    assert "give each its own folder" in found["O_EXCL"]["meaning"]


def test_readers_that_find_half_a_file_make_a_file_system_unfit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage_probe, "_content", lambda path: path.read_bytes()[:100])
    status, found = probed(tmp_path, capsys)
    assert (status, found["rename"]["verdict"]) == (1, "bad")


def test_a_probe_that_fails_is_a_finding_and_the_others_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage_probe, "PATIENCE", 1e-6)
    status, found = probed(tmp_path, capsys)
    assert (status, found["O_EXCL"]["verdict"]) == (1, "bad")
    assert "it hangs" in found["O_EXCL"]["meaning"]
    assert found["writing"]["verdict"] == "good"


@pytest.mark.parametrize(
    ("folder", "why"), [("none", "there is no such folder; create it first"), ("file", "Not a directory")]
)
def test_a_folder_that_is_none_ends_with_2(
    folder: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert main(["check-storage", str(tmp_path / folder)]) == 2
    assert f"nothing can be created in {tmp_path / folder}: {why}" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_leaves_nothing_behind(number: signal.Signals, tmp_path: Path) -> None:
    process = subprocess.Popen(
        ["penstock", "check-storage", str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(number)
    process.communicate(timeout=DEADLINE)
    assert process.returncode == 130
    assert list(tmp_path.iterdir()) == []
