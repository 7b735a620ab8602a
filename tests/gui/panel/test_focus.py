"""Where the keys go: to nothing that could begin or end anything, before somebody has chosen a field."""

from __future__ import annotations

from typing import Any

from silx.gui import qt

from penstock.gui.panel.keyboard import KEYS
from tests.gui.model.stand_in import StandInDevice
from tests.gui.panel.conftest import DEADLINE
from tests.gui.panel.test_window import Open, devices, layout, opened

DANGEROUS = (qt.QAbstractButton, qt.QComboBox, qt.QAbstractSpinBox, qt.QLineEdit)


def harmless(qtbot: Any, window: qt.QWidget, device: StandInDevice) -> None:
    """Press what one presses without looking, and type."""
    focused = qt.QApplication.focusWidget()
    assert focused is not None
    assert not isinstance(focused, DANGEROUS), focused
    for key in (qt.Qt.Key_Space, qt.Qt.Key_Return, qt.Qt.Key_5, qt.Qt.Key_Down, qt.Qt.Key_Escape):
        qtbot.keyClick(focused, key)
    qt.QApplication.processEvents()
    assert (device.called, device.written) == ([], [])
    assert window.isVisible()


def test_a_new_tab_puts_the_focus_nowhere_dangerous(
    qtbot: Any, opened: Open, devices: dict[str, StandInDevice]
) -> None:
    window = opened("sim/det/1", "sim/det/2")
    for name in ("sim/det/1", "sim/det/2"):
        devices[name].appear()
        panel = window.open(name)
        qtbot.waitUntil(lambda: bool(panel.settings.series.fields), timeout=DEADLINE)  # noqa: B023
        harmless(qtbot, window, devices[name])
        assert panel.model.view().edits == {}
        assert panel.isAncestorOf(qt.QApplication.focusWidget()) or qt.QApplication.focusWidget() is panel


def test_from_there_tab_leads_to_the_first_field(
    qtbot: Any, opened: Open, devices: dict[str, StandInDevice]
) -> None:
    window = opened("sim/det/1")
    devices["sim/det/1"].appear()
    (panel,) = window.panels()
    qtbot.waitUntil(lambda: bool(panel.settings.series.fields), timeout=DEADLINE)
    qtbot.keyClick(qt.QApplication.focusWidget(), qt.Qt.Key_Tab)
    assert panel.settings.isAncestorOf(qt.QApplication.focusWidget())


def test_a_field_in_hand_is_found_again_when_one_comes_back_to_its_tab(
    qtbot: Any, opened: Open, devices: dict[str, StandInDevice]
) -> None:
    window = opened("sim/det/1", "sim/det/2")
    devices["sim/det/1"].appear()
    panel = window.open("sim/det/1")
    qtbot.waitUntil(lambda: bool(panel.settings.series.fields), timeout=DEADLINE)
    editor = panel.settings.series.fields["nTriggers"].editor
    editor.setFocus()
    window.tabs.setCurrentIndex(1)
    harmless(qtbot, window, devices["sim/det/2"])
    window.tabs.setCurrentIndex(0)
    assert qt.QApplication.focusWidget() is editor


def test_a_page_of_the_settings_puts_it_nowhere_dangerous_either(
    qtbot: Any, opened: Open, devices: dict[str, StandInDevice]
) -> None:
    window = opened("sim/det/1")
    devices["sim/det/1"].appear()
    (panel,) = window.panels()
    qtbot.waitUntil(lambda: bool(panel.settings.series.fields), timeout=DEADLINE)
    panel.settings.series.fields["ExposureTime"].editor.setFocus()
    for title in ("Metadata", "Camera", "Series"):
        panel.settings.show_tab(title)
        focused = qt.QApplication.focusWidget()
        assert not isinstance(focused, (qt.QAbstractButton, qt.QComboBox)), (title, focused)


def test_the_keys_of_the_settings_are_listed() -> None:
    keys = dict(KEYS)
    assert {"Ctrl+S", "Ctrl+Shift+P", "Ctrl+Enter", "Enter", "Esc", "Ctrl+F"} <= keys.keys()


__all__ = ["devices", "layout", "opened"]
