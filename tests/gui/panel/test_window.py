"""The window: a tab per detector, and nothing remembered but how it is laid out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from silx.gui import qt

from penstock.gui import theme
from penstock.gui.model.detector import DetectorModel
from penstock.gui.model.tango.device import Greeting
from penstock.gui.model.tango.directory import DirectoryError
from penstock.gui.panel.actions import LOOKS
from penstock.gui.panel.keyboard import KEYS
from penstock.gui.panel.keyboard import dialog as keyboard
from penstock.gui.panel.open_dialog import OpenDialog
from penstock.gui.panel.window import FIRST_SIZE, Window
from tests.gui.model.stand_in import ATTRIBUTES, VALUES, StandInDevice
from tests.gui.panel.conftest import DEADLINE, Browser

Open = Callable[..., Window]


@pytest.fixture
def devices() -> dict[str, StandInDevice]:
    """Of the models that a window has made, by name."""
    return {}


@pytest.fixture
def layout(tmp_path: Path) -> qt.QSettings:
    return qt.QSettings(str(tmp_path / "panel.conf"), qt.QSettings.IniFormat)


@pytest.fixture
def opened(qtbot: Any, devices: dict[str, StandInDevice], layout: qt.QSettings) -> Iterator[Open]:
    theme.apply(qt.QApplication.instance(), theme.DARK)
    windows: list[Window] = []

    def make(name: str) -> DetectorModel:
        devices[name] = StandInDevice()
        return DetectorModel(name, devices[name])

    def begin(*names: str) -> Window:
        window = Window(make, layout)
        windows.append(window)
        qtbot.addWidget(window)
        for name in names:
            window.open(name)
        window.show()
        qtbot.waitActive(window)
        return window

    yield begin
    for window in windows:
        window.close()


def test_each_detector_has_one_tab_however_it_is_spelled(opened: Open) -> None:
    window = opened("sim/det/1", "sim/det/2")
    window.open("SIM/DET/1")
    assert [window.tabs.tabText(place) for place in range(window.tabs.count())] == ["sim/det/1", "sim/det/2"]
    assert window.tabs.currentIndex() == 0


def test_a_tab_says_its_detectors_state_in_words(
    qtbot: Any, opened: Open, devices: dict[str, StandInDevice]
) -> None:
    window = opened("sim/det/1", "sim/det/2")
    devices["sim/det/1"].appear(State="RUNNING", Status="Taking frames.")
    qtbot.waitUntil(lambda: "RUNNING: Taking frames." in window.tabs.tabToolTip(0), timeout=DEADLINE)
    assert "WAITING" in window.tabs.tabToolTip(1)
    assert window.windowTitle() == "sim/det/2 – waiting – Penstock"
    first, second = (window.tabs.tabIcon(place).pixmap(16).toImage() for place in (0, 1))
    assert first != second


def test_closing_a_tab_lets_the_device_go_and_ends_no_series(
    qtbot: Any, opened: Open, devices: dict[str, StandInDevice]
) -> None:
    window = opened("sim/det/1", "sim/det/2")
    devices["sim/det/2"].appear(State="RUNNING")
    qtbot.waitUntil(lambda: "RUNNING" in window.tabs.tabToolTip(1), timeout=DEADLINE)
    qtbot.keyClick(window, qt.Qt.Key_W, qt.Qt.ControlModifier)
    qtbot.waitUntil(lambda: devices["sim/det/2"].stopped, timeout=DEADLINE)
    assert devices["sim/det/2"].called == []
    assert not devices["sim/det/1"].stopped
    window.close()
    assert devices["sim/det/1"].stopped
    assert devices["sim/det/1"].called == []


def test_only_the_layout_is_remembered(
    qtbot: Any, opened: Open, devices: dict[str, StandInDevice], layout: qt.QSettings
) -> None:
    window = opened("sim/det/1")
    devices["sim/det/1"].appear()
    panel = window.panels()[0]
    qtbot.waitUntil(lambda: panel.view().here, timeout=DEADLINE)
    panel.model.edit("ExposureTime", "0.7")
    window.resize(1300, 900)
    panel.columns.setSizes([600, 700])
    wanted = panel.columns.sizes()
    qtbot.keyClick(window, qt.Qt.Key_P, qt.Qt.ControlModifier)
    assert not panel.live.isVisible()
    window.close()
    assert set(layout.allKeys()) == {"geometry", "picture", "log", "columns", "rows"}

    again = opened("sim/det/1")
    devices["sim/det/1"].appear()
    panel = again.panels()[0]
    qtbot.waitUntil(lambda: panel.view().here, timeout=DEADLINE)
    assert panel.columns.sizes() == wanted
    assert not panel.live.isVisible()
    assert panel.view().edits == {}


def test_every_key_is_listed_once(qtbot: Any, opened: Open) -> None:
    window = opened()
    text = keyboard(window).text()
    for known in LOOKS.values():
        assert not known.shortcut or f"<b>{known.shortcut}</b>" in text
    listed = [key for keys, _ in KEYS for key in keys.split(", ")] + [
        known.shortcut for known in LOOKS.values() if known.shortcut
    ]
    assert len(set(listed)) == len(listed)
    for action in window.findChildren(qt.QAction):
        if keys := action.shortcut().toString():
            assert keys in listed


def test_a_detector_is_opened_from_the_database_or_by_its_name(qtbot: Any) -> None:
    dialog = OpenDialog(find=lambda: ["eiger/det/1", "sim/det/1", "sim/det/2"])
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitUntil(lambda: dialog.list.count() == 3, timeout=DEADLINE)
    qtbot.keyClicks(dialog.name, "eig")
    with qtbot.waitSignal(dialog.chosen) as chosen:
        qtbot.keyClick(dialog.name, qt.Qt.Key_Return)
    assert chosen.args == ["eiger/det/1"]


def test_without_a_database_a_name_can_be_typed(qtbot: Any) -> None:
    def find() -> Sequence[str]:
        raise DirectoryError("no Tango database answers at db:10000")

    dialog = OpenDialog(find=find)
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitUntil(lambda: "db:10000" in dialog.says(), timeout=DEADLINE)
    qtbot.keyClicks(dialog.name, "sim/det")
    qtbot.keyClick(dialog.name, qt.Qt.Key_Return)
    assert "three parts" in dialog.says()
    qtbot.keyClicks(dialog.name, "/7")
    with qtbot.waitSignal(dialog.chosen) as chosen:
        qtbot.keyClick(dialog.name, qt.Qt.Key_Return)
    assert chosen.args == ["sim/det/7"]


def test_a_letter_means_the_picture_only_where_the_picture_has_the_focus(
    qtbot: Any, opened: Open, devices: dict[str, StandInDevice]
) -> None:
    window = opened("sim/det/1")
    devices["sim/det/1"].appear()
    panel = window.panels()[0]
    qtbot.waitUntil(lambda: bool(panel.settings.series.fields), timeout=DEADLINE)
    before = panel.live.controls.autoscale.isChecked()
    box = panel.settings.series.fields["TriggerMode"].editor
    box.setFocus()
    qtbot.keyClick(box, qt.Qt.Key_A)
    assert panel.live.controls.autoscale.isChecked() is before


def test_each_underlined_letter_means_one_thing(
    qtbot: Any, opened: Open, devices: dict[str, StandInDevice]
) -> None:
    window = opened("sim/det/1")
    devices["sim/det/1"].check.update(ok=False, kind="file_exists", sentence="it exists")
    devices["sim/det/1"].appear(LastSeries='{"series": "a", "verdict": "All stored.", "file": "/data/a.h5"}')
    panel = window.panels()[0]
    qtbot.waitUntil(lambda: panel.view().check is not None, timeout=DEADLINE)
    window.resize(1920, 1080)
    qtbot.waitUntil(panel.series.last.isVisible, timeout=DEADLINE)
    tabs = panel.settings.findChild(qt.QTabWidget)
    texts = [tabs.tabText(place) for place in range(tabs.count())]
    texts += [action.text() for action in window.menuBar().actions()]
    texts += [each.text() for each in window.findChildren(qt.QAbstractButton) if each.isVisible()]
    texts += [each.text() for each in window.findChildren(qt.QLabel) if each.isVisible() and each.buddy()]
    letters = [
        keys
        for text in texts
        if (keys := qt.QKeySequence.mnemonic(text).toString(qt.QKeySequence.PortableText))
    ]
    assert len(letters) > 15
    assert sorted(letters) == sorted(set(letters))


@pytest.mark.slow
def test_tabs_that_were_closed_leave_nothing_behind(
    qtbot: Any, opened: Open, devices: dict[str, StandInDevice]
) -> None:
    window = opened("sim/det/0")
    devices["sim/det/0"].appear()

    def widgets_after(tabs: range) -> int:
        for number in tabs:
            panel = window.open(f"sim/det/{number}")
            devices[f"sim/det/{number}"].appear()
            qtbot.waitUntil(lambda panel=panel: bool(panel.settings.series.fields), timeout=DEADLINE)
            window._close_tab(window.tabs.indexOf(panel))
            qtbot.waitUntil(panel.is_closed, timeout=DEADLINE)
        qtbot.wait(1)  # let the event loop delete them
        return len(qt.QApplication.allWidgets())

    first = widgets_after(range(1, 4))
    assert widgets_after(range(4, 7)) == first


def test_a_failure_inside_is_said_and_ends_nothing(
    qtbot: Any, opened: Open, capsys: pytest.CaptureFixture[str]
) -> None:
    window = opened("sim/det/1")
    assert not window.failure.isVisible()
    try:
        raise ValueError("of a day in May")
    except ValueError as error:
        window.failure.say(type(error), error, error.__traceback__)
    assert "The panel had an internal error (ValueError: of a day in May)" in window.failure.text()
    assert window.failure.isVisible()
    assert window.tabs.isVisible()
    assert "Traceback" in capsys.readouterr().err


def test_the_first_size_fits_a_small_screen_with_its_title_bar() -> None:
    assert FIRST_SIZE[0] <= 1280 and FIRST_SIZE[1] <= 800 - 40


def test_the_page_of_the_receiver_is_opened_in_the_browser(
    opened: Open, devices: dict[str, StandInDevice], qtbot: Any, browser: Browser
) -> None:
    window = opened("sim/det/1")
    (panel,), (device,) = window.panels(), devices.values()
    qtbot.waitUntil(window.isActiveWindow, timeout=DEADLINE)  # else it takes no keys
    qtbot.keyClick(window, qt.Qt.Key_B, qt.Qt.ControlModifier)
    qtbot.waitUntil(lambda: "names no receiver" in panel.actions_bar.notice(), timeout=DEADLINE)
    assert device.listener is not None
    device.listener.reached(Greeting(attributes=ATTRIBUTES, receiver_url="http://daq-2:5000", values=VALUES))
    qtbot.keyClick(window, qt.Qt.Key_B, qt.Qt.ControlModifier)
    assert browser.opened == ["http://daq-2:5000/"]


def test_the_viewer_of_the_receiver_is_started_in_a_process_of_its_own(
    opened: Open, devices: dict[str, StandInDevice], qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(
        qt.QProcess, "startDetached", lambda _, arguments: (started.append(arguments), (True, 1))[1]
    )
    window = opened("sim/det/1")
    (panel,), (device,) = window.panels(), devices.values()
    qtbot.waitUntil(window.isActiveWindow, timeout=DEADLINE)
    qtbot.keyClick(window, qt.Qt.Key_E, qt.Qt.ControlModifier)
    qtbot.waitUntil(lambda: "names no receiver" in panel.actions_bar.notice(), timeout=DEADLINE)
    assert device.listener is not None and not started
    device.listener.reached(Greeting(attributes=ATTRIBUTES, receiver_url="http://daq-2:5000", values=VALUES))
    qtbot.keyClick(window, qt.Qt.Key_E, qt.Qt.ControlModifier)
    assert [arguments[-2:] for arguments in started] == [["view", "http://daq-2:5000"]]
