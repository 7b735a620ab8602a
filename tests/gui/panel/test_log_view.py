"""The log on the screen: follows, filters, copies, saves; stays quick however much there is."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("silx.gui.qt", reason="the panel needs the extra gui")
from silx.gui import qt

from penstock.gui import theme
from penstock.gui.model.log import MOST, Kind, Log
from penstock.gui.panel.log_view import DEVICE, KIND, NOTHING_FITS, NOTHING_YET, TEXT, LogView


class Model:
    def __init__(self, name: str = "sim/det/1") -> None:
        self.log = Log(name)
        self._calls: list[Callable[[], None]] = []

    def on_change(self, call: Callable[[], None]) -> None:
        self._calls.append(call)

    def add(self, text: str, kind: Kind = Kind.STATE) -> None:
        self.log.add(kind, text)
        for call in self._calls:
            call()


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def view(qtbot: Any, model: Model) -> LogView:
    theme.apply(qt.QApplication.instance(), theme.DARK)
    return put_on_show(qtbot, LogView(model))


def put_on_show(qtbot: Any, widget: LogView) -> LogView:
    qtbot.addWidget(widget)
    widget.resize(620, 200)
    widget.show()
    qtbot.waitExposed(widget)
    return widget


def texts(view: LogView) -> list[str]:
    return [entry.text for entry in view.entries()]


def test_what_happens_is_shown_as_it_happens(qtbot: Any, model: Model, view: LogView) -> None:
    assert (texts(view), view.table.says()) == ([], NOTHING_YET)
    model.add("first")
    qtbot.waitUntil(lambda: texts(view) == ["first"])
    model.add("second")
    qtbot.waitUntil(lambda: texts(view) == ["first", "second"])


def test_it_follows_the_end_unless_it_was_scrolled_up(qtbot: Any, model: Model, view: LogView) -> None:
    for number in range(50):
        model.add(f"entry {number}")
    bar = view.table.verticalScrollBar()
    qtbot.waitUntil(lambda: len(texts(view)) == 50)
    assert bar.value() == bar.maximum() > 0 and view.newest.isHidden()
    bar.setValue(10)
    model.add("later")
    qtbot.waitUntil(lambda: len(texts(view)) == 51)
    assert bar.value() == 10 and not view.newest.isHidden()
    view.newest.click()
    assert bar.value() == bar.maximum() and view.newest.isHidden()


def test_rows_on_show_stay_where_they_are_when_the_oldest_go(qtbot: Any, model: Model, view: LogView) -> None:
    for number in range(MOST):
        model.log.add(Kind.STATE, f"entry {number}")
    view.refresh()
    view.table.verticalScrollBar().setValue(100)
    for number in range(30):
        model.log.add(Kind.STATE, f"new {number}")
    view.refresh()
    assert len(texts(view)) == MOST and texts(view)[view.table.rowAt(0)] == "entry 100"


def test_words_and_kinds_filter(qtbot: Any, model: Model, view: LogView) -> None:
    model.add("Arm: refused. The file exists already.", Kind.TROUBLE)
    model.add("Arm", Kind.DONE)
    model.add("ON: Ready.")
    qtbot.waitUntil(lambda: len(texts(view)) == 3)
    qtbot.keyClicks(view.filter, "arm")
    assert texts(view) == ["Arm: refused. The file exists already.", "Arm"]
    view.kinds[Kind.DONE].click()
    assert texts(view) == ["Arm: refused. The file exists already."]
    view.kinds[Kind.TROUBLE].click()
    assert (texts(view), view.table.says()) == ([], NOTHING_FITS)
    qtbot.keyClick(view.filter, qt.Qt.Key_Escape)
    assert texts(view) == ["ON: Ready."]
    model.add("Reset", Kind.DONE)
    model.add("RUNNING: a series runs.")
    qtbot.waitUntil(lambda: texts(view) == ["ON: Ready.", "RUNNING: a series runs."])


def test_the_selection_is_copied_or_else_all(qtbot: Any, model: Model, view: LogView) -> None:
    long = "word " * 200
    for text in ("one", long, "three"):
        model.add(text)
    qtbot.waitUntil(lambda: len(texts(view)) == 3)
    view.table.setFocus()
    qtbot.keyClick(view.table, qt.Qt.Key_C, qt.Qt.ControlModifier)
    clipboard = qt.QApplication.clipboard()
    assert [line.split("state   ")[1] for line in clipboard.text().splitlines()] == [
        "one", long.strip(), "three",
    ]  # fmt: skip
    view.table.selectRow(1)
    qtbot.keyClick(view.table, qt.Qt.Key_C, qt.Qt.ControlModifier)
    assert clipboard.text().endswith(f"sim/det/1  state   {long.strip()}\n")
    assert clipboard.text().count("\n") == 1
    assert long.strip() in view.table.model().index(1, TEXT).data(qt.Qt.ToolTipRole)


def test_what_is_on_show_is_saved_or_the_reason_is_said(model: Model, view: LogView, tmp_path: Path) -> None:
    model.log.add(Kind.DONE, "Δ set to 5 µm")
    view.refresh()
    view.save(tmp_path / "log.txt")
    assert (tmp_path / "log.txt").read_text(encoding="utf-8") == view.text()
    assert view.says() == f"{tmp_path / 'log.txt'}: 1 entry written."
    view.save(tmp_path / "none" / "log.txt")
    assert view.says().startswith("▲ ") and "No such file or directory" in view.says()


def test_trouble_has_a_sign_besides_its_colour(model: Model, view: LogView) -> None:
    model.log.add(Kind.TROUBLE, "it broke")
    view.refresh()
    cell = view.table.model().index(0, KIND)
    assert cell.data().startswith("▲")
    assert cell.data(qt.Qt.ForegroundRole).color().name() == theme.DARK.bad


def test_several_logs_are_one_with_the_detectors_name(qtbot: Any) -> None:
    models = [Model("sim/det/1"), Model("sim/det/2")]
    view = put_on_show(qtbot, LogView(models))
    for model in models:
        model.add("here")
    qtbot.waitUntil(lambda: len(texts(view)) == 2)
    assert not view.table.isColumnHidden(DEVICE)
    assert [view.table.model().index(row, DEVICE).data() for row in range(2)] == ["sim/det/1", "sim/det/2"]


def test_a_full_log_costs_little_per_entry(model: Model, view: LogView) -> None:
    for number in range(MOST):
        model.log.add(Kind.STATE, f"entry {number}")
    view.refresh()
    start = time.process_time()
    for _ in range(100):
        model.log.add(Kind.STATE, "one more")
        view.refresh()
        view.grab()
    assert (time.process_time() - start) / 100 < 0.1  # seconds; some 0.002 on an idle machine
    start = time.process_time()
    view.filter.setText("one more")
    assert len(texts(view)) == 100 and time.process_time() - start < 2.0
