"""Past series of a receiver: yesterday's is found, with its file and its missing frames."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("silx.gui.qt", reason="the panel needs the extra gui")
from silx.gui import qt

from penstock.gui import theme
from penstock.gui.model.series.past import FRAMES
from penstock.gui.panel.series import history as history_module
from penstock.gui.panel.series.history import ASKING, NO_FILE, NONE_FITS, NONE_YET, HistoryDialog
from penstock.receiver.client import ReceiverUnavailable
from penstock.receiver.models import Counts, PastSeries, Series
from tests.receiver.processes import ReceiverProcess

DEADLINE = 10_000
"""Milliseconds."""


def noon(days_ago: int) -> float:
    """Far from midnight, where "yesterday" would be another day."""
    midday = datetime.now().replace(hour=12, minute=0, second=0, microsecond=0)
    return (midday - timedelta(days=days_ago)).timestamp()


def past(id: str, days_ago: int, file: str | None, reason: str = "", **counts: Any) -> PastSeries:
    complete = counts["planned"] == counts.get("stored")
    lost = [(3, 4, "missing")] if counts.get("missing") else []
    series = Series(
        id=id, filename=file, active=False, complete=complete, reason=reason, taken=id != "c",
        started=noon(days_ago), ended=noon(days_ago) + 4, lost=lost,  # type: ignore[arg-type]
    )  # fmt: skip
    return PastSeries(series=series, counts=Counts(**counts))


class Answers:
    """A receiver that answers when it is told to."""

    def __init__(self, *series: PastSeries) -> None:
        self.series = list(series)
        self.error: Exception | None = None
        self.asked_in: list[threading.Thread] = []
        self.go = threading.Event()
        self.go.set()

    def history(self, limit: int = 20) -> list[PastSeries]:
        self.asked_in.append(threading.current_thread())
        assert self.go.wait(10.0)
        if self.error is not None:
            raise self.error
        return self.series[:limit]


@pytest.fixture
def answers(tmp_path: Path) -> Answers:
    (tmp_path / "here.h5").touch()
    return Answers(
        past("c", 0, None, "not taken: the disk is full", planned=100),
        past("b", 1, "/nowhere/scan_7.h5", "8 of 10 frames: 2 missing", planned=10, stored=8, missing=2),
        past("a", 3, str(tmp_path / "here.h5"), planned=1000, stored=1000),
    )


def opened(qtbot: Any, receiver: Any) -> HistoryDialog:
    theme.apply(qt.QApplication.instance(), theme.DARK)
    dialog = HistoryDialog(receiver)
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitExposed(dialog)
    return dialog


@pytest.fixture
def dialog(qtbot: Any, answers: Answers) -> HistoryDialog:
    dialog = opened(qtbot, answers)
    qtbot.waitUntil(lambda: len(dialog.files()) == 3, timeout=DEADLINE)
    return dialog


def choose(dialog: HistoryDialog, id: str) -> None:
    ids = [row.past.series.id for row in dialog.table.model().rows()]
    dialog.table.selectRow(ids.index(id))


def test_a_series_of_the_day_before_is_found_with_its_file_and_its_missing_frames(
    qtbot: Any, dialog: HistoryDialog
) -> None:
    qtbot.keyClicks(dialog.filter, "yesterday")
    assert dialog.files() == ["/nowhere/scan_7.h5"] and dialog.says() == "1 of 3 series"
    details = dialog.details.toPlainText()
    assert "missing 3–4" in details and "8 of 10 frames: 2 missing" in details
    dialog.copy_path.click()
    assert qt.QApplication.clipboard().text() == "/nowhere/scan_7.h5"


def test_a_file_is_opened_where_this_host_sees_it_and_else_the_reason_stands_there(
    qtbot: Any, dialog: HistoryDialog, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    opened_files: list[str] = []
    monkeypatch.setattr(history_module, "open_in_view", lambda file: opened_files.append(file) or "")
    in_silx: list[str] = []
    monkeypatch.setattr(history_module, "open_in_silx", lambda file: in_silx.append(file) or "")
    choose(dialog, "a")
    qtbot.waitUntil(dialog.open_file.isEnabled, timeout=DEADLINE)
    dialog.open_file.click()
    assert opened_files == [str(tmp_path / "here.h5")] and in_silx == []
    dialog.open_silx.click()
    assert in_silx == opened_files
    assert "may draw row 0 at the bottom" in dialog.open_silx.toolTip()
    choose(dialog, "b")
    assert not dialog.open_file.isEnabled()
    qtbot.waitUntil(lambda: "does not see /nowhere" in dialog.open_file.toolTip(), timeout=DEADLINE)
    choose(dialog, "c")
    assert dialog.open_file.toolTip() == dialog.copy_path.toolTip() == NO_FILE
    assert not dialog.open_file.isEnabled() and not dialog.copy_path.isEnabled()


def test_the_windows_thread_does_not_wait_for_the_receiver(qtbot: Any, answers: Answers) -> None:
    answers.go.clear()
    dialog = opened(qtbot, answers)
    assert (dialog.files(), dialog.table.says()) == ([], ASKING)
    answers.go.set()
    qtbot.waitUntil(lambda: len(dialog.files()) == 3, timeout=DEADLINE)
    assert threading.main_thread() not in answers.asked_in


def test_refresh_keeps_the_series_that_was_chosen_and_an_error_what_was_on_show(
    qtbot: Any, answers: Answers, dialog: HistoryDialog
) -> None:
    choose(dialog, "b")
    answers.series.insert(0, past("d", 0, "/data/new.h5", planned=1, stored=1))
    qtbot.keyClick(dialog, qt.Qt.Key_F5)
    qtbot.waitUntil(lambda: len(dialog.files()) == 4, timeout=DEADLINE)
    row = dialog.current()
    assert row is not None and row.past.series.id == "b"
    answers.error = ReceiverUnavailable("receiver at http://here does not answer within 2 s")
    dialog.refresh_button.click()
    qtbot.waitUntil(lambda: dialog.says().startswith("▲ Receiver at http://here"), timeout=DEADLINE)
    assert len(dialog.files()) == 4


def test_a_click_on_a_heading_sorts_numbers_as_numbers(qtbot: Any, dialog: HistoryDialog) -> None:
    dialog.table.sortByColumn(FRAMES, qt.Qt.AscendingOrder)
    assert [row.frames for row in dialog.table.model().rows()] == ["0 of 100", "8 of 10", "1,000 of 1,000"]


def test_esc_clears_the_filter_and_closes_then(qtbot: Any, dialog: HistoryDialog) -> None:
    qtbot.keyClicks(dialog.filter, "no such file")
    assert (dialog.files(), dialog.table.says()) == ([], NONE_FITS)
    qtbot.keyClick(dialog.filter, qt.Qt.Key_Escape)
    assert len(dialog.files()) == 3 and dialog.isVisible()
    qtbot.keyClick(dialog.table, qt.Qt.Key_Escape)
    assert not dialog.isVisible()


def test_no_answer_and_no_series_are_said_in_place_of_the_table(qtbot: Any) -> None:
    away = opened(qtbot, "http://127.0.0.1:1")
    qtbot.waitUntil(lambda: "nobody listens there" in away.table.says(), timeout=DEADLINE)
    assert "F5" in away.table.says()
    empty = opened(qtbot, Answers())
    qtbot.waitUntil(lambda: empty.table.says() == NONE_YET, timeout=DEADLINE)


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[ReceiverProcess]:
    kept = tmp_path / "data" / ".penstock"
    kept.mkdir(parents=True)
    series = past("a", 1, "/data/a.h5", "3 of 5 frames: 2 missing", planned=5, stored=3, missing=2)
    (kept / "sim-1.series.jsonl").write_bytes(msgspec.json.encode(series) + b"\n")
    running = ReceiverProcess(tmp_path, "tcp://127.0.0.1:1")
    yield running
    running.close()


def test_a_real_receiver_is_asked_by_its_address(qtbot: Any, receiver: ReceiverProcess) -> None:
    dialog = opened(qtbot, receiver.client.url)
    qtbot.waitUntil(lambda: dialog.files() == ["/data/a.h5"], timeout=DEADLINE)
    assert dialog.windowTitle() == f"Past series of {receiver.client.url}"
    assert "Lost frames" in dialog.details.toPlainText()
