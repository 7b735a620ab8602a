"""Files for others: made one after the other, and whatever becomes of one is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.processing.config.pipeline_config import ExportConfig
from penstock.processing.distributor import exports
from penstock.processing.distributor.exports import Exported, Exports
from tests.processing.service.pipeline_process import wait_until


def results_of(made: Exports, number: int) -> list[Exported]:
    found: list[Exported] = []

    def have_come() -> bool:
        found.extend(made.step())
        return len(found) >= number

    wait_until(have_come, "the processes have ended")
    return found


def test_a_file_that_cannot_be_made_is_said_and_the_next_one_is_tried(tmp_path: Path) -> None:
    made = Exports([ExportConfig(kind="stempy")], overwrite=False)
    for name in ("a.h5", "b.h5"):
        made.begin(str(tmp_path / name))
    first, second = results_of(made, 2)
    assert first.result_file == str(tmp_path / "a.h5") and first.failed
    assert f"{tmp_path}/a.h5 cannot be opened" in first.said
    assert second.result_file == str(tmp_path / "b.h5") and second.failed
    assert not made.are_running


def test_a_process_that_dies_without_a_word_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(exports.MODULES, "stempy", "penstock.there_is_no_such_module")
    made = Exports([ExportConfig(kind="stempy")], overwrite=False)
    made.begin(str(tmp_path / "a.h5"))
    (result,) = results_of(made, 1)
    assert result.failed and "ended with exit status 1" in result.said
    assert "No module named" in capfd.readouterr().err


def test_without_exports_nothing_is_started(tmp_path: Path) -> None:
    made = Exports([], overwrite=False)
    made.begin(str(tmp_path / "a.h5"))
    assert not made.are_running and made.step() == []
