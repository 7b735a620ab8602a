"""The menu of presets: saved, loaded as pending edits, deleted, with the mouse and with keys."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from silx.gui import qt

from penstock.cli import panel as command
from penstock.gui import theme
from penstock.gui.panel.app import Options, open_window
from penstock.gui.panel.settings.preset_bar import PresetBar
from penstock.gui.panel.settings.save_preset import SavePreset
from tests.gui.panel.conftest import OpenedPanel, opened


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Of this user's presets, and of a site."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("PENSTOCK_PRESETS", str(tmp_path / "site"))
    (tmp_path / "site").mkdir()
    return tmp_path


@pytest.fixture
def panel(place: Path, opened: OpenedPanel) -> OpenedPanel:
    opened.appear()
    return opened


def preset(place: Path, name: str, **settings: Any) -> Path:
    """A file of the site."""
    file = place / "site" / f"{name}.json"
    file.write_text(json.dumps({"format": "penstock preset", "version": 1, "settings": settings}))
    return file


def bar(panel: OpenedPanel) -> PresetBar:
    return panel.panel.settings.presets


def actions(panel: OpenedPanel) -> dict[str, Any]:
    """Open the menu by its button; what is in it."""
    panel.qtbot.mouseClick(bar(panel).button, qt.Qt.LeftButton)
    panel.until(lambda: bar(panel).menu() is not None and bar(panel).menu().isVisible())
    menu = bar(panel).menu()
    return {each.text().partition("\t")[0].replace("&", ""): each for each in menu.actions()}


def chooses(panel: OpenedPanel, text: str) -> None:
    """Click on an entry."""
    action = actions(panel)[text]
    menu = bar(panel).menu()
    panel.qtbot.mouseClick(menu, qt.Qt.LeftButton, pos=menu.actionGeometry(action).center())


def box(panel: OpenedPanel) -> Any:
    panel.until(lambda: bar(panel).findChildren(qt.QMessageBox))
    return bar(panel).findChildren(qt.QMessageBox)[0]


def test_the_settings_are_saved_under_a_name_and_loaded_again(panel: OpenedPanel, place: Path) -> None:
    panel.qtbot.keyClick(panel.panel, qt.Qt.Key_S, qt.Qt.ControlModifier)
    panel.until(lambda: bar(panel).findChildren(SavePreset))
    (dialog,) = bar(panel).findChildren(SavePreset)
    panel.until(lambda: dialog.folder.count() == 2)
    assert not dialog.save.isEnabled()
    panel.qtbot.keyClicks(dialog.name, "powder 25 keV")
    panel.qtbot.keyClick(dialog.name, qt.Qt.Key_Return)
    panel.until(lambda: bar(panel).says() == "Saved: powder 25 keV")
    (file,) = (place / "config/penstock/presets").glob("*")
    kept = json.loads(file.read_text())["settings"]
    assert kept["ExposureTime"] == "0.1 s"
    assert not {"DestinationFilename", "Metadata"} & kept.keys()

    panel.device.say(ExposureTime=0.5, nTriggers=3, Pattern="ramp")
    chooses(panel, "powder 25 keV")
    panel.until(lambda: bar(panel).says() == "powder 25 keV: 3 settings typed")
    panel.until(lambda: panel.panel.settings.says() == bar(panel).says())
    assert panel.device.written == []  # the user sees them first
    panel.until(lambda: panel.field("ExposureTime").editor.property("look") == "edit")
    assert panel.field("ExposureTime").editor.text() == "0.1 s"
    assert "Exposure time, Triggers, Pattern" in panel.panel.actions_bar.says()
    panel.panel.activateWindow()
    panel.until(panel.panel.isActiveWindow)
    panel.qtbot.keyClick(panel.panel, qt.Qt.Key_Return, qt.Qt.ControlModifier)
    panel.until(lambda: len(panel.device.written) == 3)
    assert dict(panel.device.written) == {"ExposureTime": 0.1, "nTriggers": 10, "Pattern": "powder"}


def test_what_the_device_lacks_or_refuses_is_listed(panel: OpenedPanel, place: Path) -> None:
    preset(place, "other camera", ExposureTime="5000 s", Threshold2="7 keV", nTriggers=3)
    chooses(panel, "other camera")
    panel.until(lambda: bar(panel).says() == "▲ other camera: 2 settings typed, 1 refused, 1 not known here")
    shown = box(panel)
    assert shown.informativeText().split("\n") == [
        "Exposure time: 5000 s is outside its limits, 1e-05 to 3,600 s",
        "This detector does not have: Threshold 2.",
    ]
    shown.close()
    panel.until(panel.field("ExposureTime").problem)
    panel.button("Arm").click()
    panel.until(lambda: "Arm was not called: Exposure time" in panel.panel.actions_bar.notice())
    assert panel.device.called == []
    assert any("other camera: 2 settings typed" in entry.text for entry in panel.model.log.since())
    chooses(panel, "Forget all that is typed")
    panel.until(lambda: panel.model.view().edits == {})


def test_a_file_that_is_no_preset_is_said(panel: OpenedPanel, place: Path) -> None:
    preset(place, "broken").write_text("{")
    chooses(panel, "broken")
    panel.until(
        lambda: bar(panel).says().startswith(f"▲ {place}/site/broken.json cannot be used: it is not JSON")
    )


def test_one_is_deleted_after_a_question(panel: OpenedPanel, place: Path) -> None:
    file = preset(place, "old")
    for text, there in (("Keep it", True), ("Delete it", False)):
        (delete,) = [each for each in actions(panel).values() if each.menu() is not None]
        (entry,) = delete.menu().actions()
        assert entry.toolTip() == str(file)
        entry.trigger()
        shown = box(panel)
        assert shown.text() == f"Delete the preset old in {place}/site?"
        (button,) = [each for each in shown.buttons() if each.text().replace("&", "") == text]
        button.click()
        panel.until(lambda: file.exists() == there)  # noqa: B023
        panel.until(lambda: not bar(panel).findChildren(qt.QMessageBox))


def test_a_name_that_is_there_already_is_replaced_only_by_a_button_that_says_so(
    panel: OpenedPanel, place: Path
) -> None:
    folder = place / "config/penstock/presets"
    folder.mkdir(parents=True)
    (folder / "a.json").write_text("{}")
    bar(panel).save_as()
    (dialog,) = bar(panel).findChildren(SavePreset)
    panel.until(lambda: dialog.folder.count() == 2)
    panel.qtbot.keyClicks(dialog.name, "a")
    assert dialog.save.text() == "&Replace it"
    assert dialog.says() == "The preset a is there already."
    panel.qtbot.keyClicks(dialog.name, "/b")
    assert dialog.says().startswith('▲ "a/b" is no name of a preset')
    assert not dialog.save.isEnabled()
    panel.qtbot.keyClick(dialog.name, qt.Qt.Key_Backspace)
    panel.qtbot.keyClick(dialog.name, qt.Qt.Key_Backspace)
    dialog.whole.setChecked(True)
    panel.qtbot.mouseClick(dialog.save, qt.Qt.LeftButton)
    panel.until(lambda: bar(panel).says() == "Saved: a")
    assert (
        json.loads((folder / "a.json").read_text())["settings"]["DestinationFilename"] == "/data/scan_0001.h5"
    )


def test_nothing_is_loaded_while_a_series_runs(panel: OpenedPanel, place: Path) -> None:
    preset(place, "a", nTriggers=3)
    panel.device.say(State="RUNNING")
    panel.until(lambda: panel.field("ExposureTime").editor.isReadOnly())
    entry = actions(panel)["a"]
    assert not entry.isEnabled()
    assert entry.toolTip().startswith("A series runs.")
    bar(panel).menu().close()


def test_the_menu_opens_by_a_key(panel: OpenedPanel, place: Path) -> None:
    wait: Callable[[Callable[[], object]], None] = panel.until
    panel.qtbot.keyClick(panel.panel, qt.Qt.Key_P, qt.Qt.ControlModifier | qt.Qt.ShiftModifier)
    wait(lambda: bar(panel).menu() is not None)
    sections = [each.text() for each in bar(panel).menu().actions() if each.isSeparator()]
    assert sections == ["Yours", os.fspath(place / "site"), ""]
    bar(panel).menu().close()


def test_the_command_line_names_more_folders_of_the_site(qtbot: Any, place: Path) -> None:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    args = parser.parse_args(
        ["tango://127.0.0.1:1/sim/det/1", "--presets", f"{place}/a", "--presets", f"{place}/b"]
    )
    window = open_window(Options(devices=tuple(args.devices), presets=tuple(args.presets)), None)
    qtbot.addWidget(window)
    (one,) = window.panels()
    folders = (place / "config/penstock/presets", place / "a", place / "b", place / "site")
    assert one.settings.presets.button.toolTip().split("\n")[1:] == [f"Folder: {each}" for each in folders]
    window.close()


def test_a_choice_that_waits_or_is_wrong_has_a_frame_in_its_colour(panel: OpenedPanel) -> None:
    panel.panel.settings.show_tab("Camera")
    box = panel.field("Pattern").editor
    for text, colour in (("ramp", theme.DARK.warning), ("rings", theme.DARK.bad)):
        panel.model.edit("Pattern", text)
        panel.until(lambda: box.currentText() == text)  # noqa: B023
        panel.until(lambda: box.grab().toImage().pixelColor(0, 5).name() == colour)  # noqa: B023


__all__ = ["opened"]
