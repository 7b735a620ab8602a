"""The panel as a widget: in any Qt program, and in any size."""

from __future__ import annotations

import json
from typing import Any

import pytest
from silx.gui import qt

from penstock.gui.labels import ClampedLabel
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
    assert log >= 80, "two lines of the log"
    panel.resize(1900, 1000)
    assert panel.rows.sizes()[1:] == [series, log]
    panel.close()
    panel.wait_closed()


LONG = (
    "Streamer of Simulator was killed by signal 9. 0 of 2,000 frames stored, 2,000 missing. File: "
    + "/data/visitors/2026/11/25" + "/with/a/long/path" * 12 + "/scan_0001.h5. Call Reset."
)  # fmt: skip


def places(panel: DetectorPanel) -> dict[str, tuple[int, int]]:
    """Upper edge and height of what is in sight, in pixels of the panel."""
    widgets = {"banner": panel.banner, "actions": panel.actions_bar, "columns": panel.columns,
               "picture": panel.live, "series": panel.series}  # fmt: skip
    return {name: (each.mapTo(panel, qt.QPoint(0, 0)).y(), each.height()) for name, each in widgets.items()}


@pytest.mark.parametrize("width", [960, 1280, 1920])
def test_nothing_moves_whatever_is_said(opened: OpenedPanel, width: int) -> None:
    opened.panel.resize(width, 760)
    opened.appear(Status="Ready.")
    opened.until(lambda: opened.panel.banner.text() == "Ready.")
    before = places(opened.panel)
    opened.device.refuse["Arm"] = LONG
    opened.button("Arm").click()
    opened.until(opened.panel.actions_bar.notice)
    assert places(opened.panel) == before
    last = {
        "series": "s1",
        "verdict": LONG,
        "file": "/data/a.h5",
        "lost": [[n, n, "missing"] for n in range(50)],
    }
    opened.device.say(
        State="FAULT", Status=LONG, LastSeries=json.dumps(last), SeriesId="s1", nFramesPlanned=2000,
        nFramesMissing=400, nFramesCorrupt=400, nFramesPartial=400, nFramesDiscarded=400,
        nFramesNotTriggered=400,
    )  # fmt: skip
    opened.until(lambda: opened.panel.banner.text() == LONG and opened.panel.series.last.lost())
    opened.qtbot.waitExposed(opened.panel)
    assert places(opened.panel) == before
    for label in opened.panel.series.last.findChildren(ClampedLabel):
        lines = label.text().count("\n") + 1
        assert not label.isVisible() or label.height() >= lines * label.fontMetrics().lineSpacing()
    on_show = opened.panel.banner.findChildren(ClampedLabel)[0]
    if "".join(on_show.text().split()) != "".join(LONG.split()):
        assert "…" in on_show.text() and on_show.toolTip() == LONG
    assert on_show.text().endswith("Call Reset."), "what to do is in sight"


def test_a_refusal_that_is_cured_is_not_told_any_more(opened: OpenedPanel) -> None:
    opened.device.check.update(ok=False, kind="not_connected", sentence="the receiver is in error")
    opened.appear(Status="Ready. The last Arm was refused: the receiver is in error")
    opened.until(lambda: "is in error" in opened.panel.banner.text())
    opened.until(lambda: "is in error" in opened.panel.actions_bar.says())
    opened.device.check.update(ok=True, kind="", sentence="")
    opened.model.ask_check()
    opened.until(lambda: opened.panel.actions_bar.says().startswith("Ready to arm"))
    assert opened.panel.banner.text() == "Ready."


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
