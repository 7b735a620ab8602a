"""`penstock check`: what it prints and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.cli.main import main
from tests.receiver.h5_file import write_series


def test_clean_file_ends_with_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_series(tmp_path / "a.h5", 6)
    assert main(["check", str(tmp_path / "a.h5")]) == 0
    assert "a.h5: clean" in capsys.readouterr().out


def test_gaps_end_with_1_and_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_series(tmp_path / "a.h5", 40, lost={17, 18, 19, 20, 33})
    assert main(["check", str(tmp_path / "a.h5")]) == 1
    assert "missing at index 17-20, 33" in capsys.readouterr().out


def test_last_line_is_a_json_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_series(tmp_path / "a.h5", 6, lost={2})
    write_series(tmp_path / "b.h5", 6)
    assert main(["check", "--json", str(tmp_path / "a.h5"), str(tmp_path / "b.h5")]) == 1
    summary = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert summary["clean"] is False
    assert [file["clean"] for file in summary["files"]] == [False, True]
    assert summary["files"][0]["missing"] == "2"
    assert summary["files"][1]["counts"]["stored"] == 6


def test_quick_reads_no_frame(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_series(tmp_path / "a.h5", 6)
    assert main(["check", "--quick", "--json", str(tmp_path / "a.h5")]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["files"][0]["frames_read"] == 0


def test_file_that_cannot_be_opened_ends_with_2_and_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(tmp_path / "none.h5")]) == 2
    assert "does not exist" in capsys.readouterr().err


def test_one_bad_file_does_not_hide_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_series(tmp_path / "a.h5", 6)
    assert main(["check", str(tmp_path / "none.h5"), str(tmp_path / "a.h5")]) == 2
    assert "a.h5: clean" in capsys.readouterr().out
