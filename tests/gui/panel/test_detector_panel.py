"""The panel as a widget: in any Qt program, and in any size."""

from __future__ import annotations

import json
from typing import Any

from silx.gui import qt

from penstock.gui.model.detector import DetectorModel
from penstock.gui.panel.detector_panel import DetectorPanel
from tests.gui.model.stand_in import StandInDevice
from tests.gui.panel.conftest import DEADLINE, OpenedPanel

LAST = json.dumps({"series": "a", "verdict": "10 of 10 frames stored.", "complete": True, "planned": 10})


def test_deleted_by_its_host_without_being_closed_it_lets_the_device_go(qtbot: Any) -> None:
    device = StandInDevice()
    host = qt.QWidget()
    panel = DetectorPanel(DetectorModel("sim/det/1", device), host)
    closing = panel._closing
    device.appear()
    host.deleteLater()
    qtbot.waitUntil(lambda: device.stopped, timeout=DEADLINE)
    closing.wait()
    device.say(State="RUNNING")  # what is still on its way disturbs nobody


def test_a_model_that_its_host_has_started_is_left_running(qtbot: Any) -> None:
    device = StandInDevice()
    model = DetectorModel("sim/det/1", device)
    model.start()
    panel = DetectorPanel(model)
    qtbot.addWidget(panel)
    panel.close()
    panel.wait_closed()
    assert not device.stopped
    model.stop()


def test_the_running_series_or_else_the_last_one_is_shown_where_both_have_no_room(
    opened: OpenedPanel,
) -> None:
    area = opened.panel.series
    opened.appear()
    assert area.running.isVisible()
    assert not area.last.isVisible()
    opened.device.say(LastSeries=LAST)
    opened.until(area.last.isVisible)
    assert not area.running.isVisible()
    opened.device.say(State="RUNNING")
    opened.until(area.running.isVisible)
    assert not area.last.isVisible()
    opened.panel.resize(1900, 1000)
    opened.until(lambda: area.running.isVisible() and area.last.isVisible())


def test_everything_is_reached_by_tab_and_has_a_name(opened: OpenedPanel) -> None:
    opened.appear()
    reached: set[Any] = set()
    opened.panel.settings.series.fields["ExposureTime"].editor.setFocus()
    widget = qt.QApplication.focusWidget()
    while widget is not None and widget not in reached:
        reached.add(widget)
        opened.qtbot.keyClick(widget, qt.Qt.Key_Tab)
        widget = qt.QApplication.focusWidget()
    fields = opened.panel.settings.series.fields.values()
    assert {field.editor for field in fields} <= reached
    file = opened.panel.settings.file
    assert file is not None
    assert {file.template, file.number, file.folder, opened.button("Arm"), opened.button("Live")} <= reached
    for field in fields:
        assert field.editor.accessibleName()
        assert "Tango attribute" in field.editor.accessibleDescription()


def test_the_picture_has_more_room_than_what_stands_below_it(qtbot: Any) -> None:
    panel = DetectorPanel(DetectorModel("sim/det/1", StandInDevice()))
    qtbot.addWidget(panel)
    panel.resize(1280, 740)  # what a window of 1280 x 800 leaves it
    panel.show()
    qtbot.waitExposed(panel)
    picture, series, log = panel.rows.sizes()
    assert picture > series + log
    assert log >= 90
    panel.resize(1900, 1000)
    assert panel.rows.sizes()[1:] == [series, log]
    panel.close()
    panel.wait_closed()


def test_the_devices_words_are_shown_as_they_are(opened: OpenedPanel) -> None:
    opened.device.refuse["Arm"] = "no <b>beam</b>"
    opened.appear(Status="Cooling to <i>-20</i>.", FileWritten="/data/<b>x</b>.h5", nFramesPlanned=1)
    opened.until(lambda: "<i>-20</i>" in opened.panel.banner.text())
    opened.button("Arm").click()
    opened.until(opened.panel.actions_bar.notice)
    theirs = [
        label
        for label in opened.panel.findChildren(qt.QLabel)
        if any(mark in label.text() for mark in ("<i>", "<b>"))
    ]
    assert len(theirs) >= 3
    assert all(label.textFormat() == qt.Qt.PlainText for label in theirs)
