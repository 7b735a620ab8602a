"""A model's changes, in the windows' thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("silx.gui.qt", reason="the panel needs the extra gui")
from silx.gui import qt

from penstock.gui.panel.notifier import Notifier


class Model:
    def on_change(self, call: Callable[[], None]) -> None:
        self.change = call


def in_thread(work: Callable[[], object]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_a_thousand_changes_in_a_thread_are_one_signal_in_the_windows_thread(qtbot: Any) -> None:
    model = Model()
    notifier = Notifier(model)
    heard: list[object] = []
    notifier.changed.connect(lambda: heard.append(qt.QThread.currentThread()))
    in_thread(lambda: [model.change() for _ in range(1000)])
    assert heard == []
    qtbot.waitUntil(lambda: bool(heard))
    assert heard == [qt.QApplication.instance().thread()]
    with qtbot.waitSignal(notifier.changed):
        in_thread(model.change)


def test_a_closed_one_is_silent_whatever_the_model_still_tells(qtbot: Any) -> None:
    model = Model()
    notifier, other = Notifier(model), Notifier(quiet := Model())
    heard: list[int] = []
    notifier.changed.connect(lambda: heard.append(1))
    in_thread(model.change)
    notifier.close()
    in_thread(model.change)
    with qtbot.waitSignal(other.changed):  # posted later than the first: that would have come by now
        in_thread(quiet.change)
    assert heard == []


def test_one_that_qt_has_deleted_is_silent(qtbot: Any) -> None:
    model = Model()
    notifier = Notifier(model)
    notifier.deleteLater()
    with qtbot.waitSignal(notifier.destroyed):
        pass
    in_thread(model.change)
