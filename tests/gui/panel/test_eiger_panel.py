"""The panel over an Eiger: a detector whose settings take a moment, and whose box can be switched off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("silx.gui.plot", reason="the panel needs the extra gui")

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.model.detector import DetectorModel
from penstock.gui.model.tango.link import TangoDevice
from penstock.gui.panel.detector_panel import DetectorPanel
from penstock.gui.panel.series.history import HistoryDialog
from penstock.gui.panel.series.last_series import LastSeriesView
from penstock.gui.panel.series.series_view import SeriesView
from tests.gui.panel.cut import cut
from tests.gui.panel.test_station import DEADLINE, button
from tests.system.beamline import Beamline
from tests.system.conftest import beamline
from tests.system.eigers import EigerUnit

__all__ = ["beamline"]


@pytest.fixture(scope="module")
def unit(beamline: Beamline) -> Iterator[EigerUnit]:
    unit = EigerUnit(beamline, "panel", "v2", sensor=(64, 96), pattern="powder")
    yield unit
    unit.close()


@pytest.fixture
def panel(qtbot: Any, unit: EigerUnit) -> Iterator[DetectorPanel]:
    unit.calm()
    theme.apply(qt.QApplication.instance())
    name = f"tango://{unit.station.beamline.tango_host}/panel/det/1"
    one = DetectorPanel(DetectorModel(name, TangoDevice(name)))
    one.resize(1280, 800)
    qtbot.addWidget(one)
    one.show()
    qtbot.waitUntil(lambda: button(one, "Arm").isEnabled() and one.view().check is not None, timeout=DEADLINE)
    yield one
    one.close()
    one.wait_closed()


def test_arm_waits_for_an_energy_that_is_being_set_and_then_takes_a_series(
    qtbot: Any, unit: EigerUnit, panel: DetectorPanel
) -> None:
    unit.box.faults.slow_put = 60.0
    panel.model.set("Energy", "9000")
    qtbot.waitUntil(lambda: panel.banner.title() == "MOVING", timeout=DEADLINE)
    assert not button(panel, "Arm").isEnabled()
    assert "Energy is being set in the detector" in panel.banner.text()
    assert "state ON only" in button(panel, "Arm").toolTip()
    qtbot.waitUntil(  # the event may overtake the answer to the write
        lambda: any("9,000 eV written; still" in entry.text for entry in panel.model.log.since()),
        timeout=DEADLINE,
    )
    unit.box.faults.slow_put = 0.0
    qtbot.waitUntil(lambda: button(panel, "Arm").isEnabled(), timeout=DEADLINE)
    assert panel.view().values["Energy"] == 9000.0
    file = unit.series("INTERNAL", 10)
    qtbot.waitUntil(
        lambda: panel.view().plan.frames == 10 and button(panel, "Arm").isEnabled(), timeout=DEADLINE
    )
    button(panel, "Arm").click()
    qtbot.waitUntil(lambda: file.exists() and panel.view().last is not None, timeout=DEADLINE)
    last = panel.view().last
    assert last is not None
    assert (last.complete, last.planned) == (True, 10)
    qtbot.waitUntil(lambda: panel.live.drawn() > 0, timeout=DEADLINE)
    panel.findChild(LastSeriesView).show_past()
    (past,) = panel.findChildren(HistoryDialog)
    qtbot.waitUntil(lambda: str(file) in past.files(), timeout=DEADLINE)
    past.close()


@pytest.mark.slow
def test_a_box_that_was_switched_off_is_initialised_by_the_panels_reset(
    qtbot: Any, unit: EigerUnit, panel: DetectorPanel
) -> None:
    unit.box.power(on=False)
    unit.box.power(on=True)
    qtbot.waitUntil(lambda: panel.banner.title() == "FAULT", timeout=DEADLINE)
    assert "not initialised; Reset initialises it" in panel.banner.text()
    assert not button(panel, "Arm").isEnabled()
    button(panel, "Reset").click()
    qtbot.waitUntil(lambda: panel.banner.title() == "ON", timeout=DEADLINE)
    qtbot.waitUntil(lambda: button(panel, "Arm").isEnabled(), timeout=DEADLINE)


def test_a_box_that_is_off_when_the_device_starts_has_no_values_until_reset(
    qtbot: Any, unit: EigerUnit, panel: DetectorPanel
) -> None:
    fields = panel.settings.camera.fields
    unit.box.power(on=False)
    unit.detector.Init()
    qtbot.waitUntil(lambda: fields["Energy"].editor.placeholderText() == "not known", timeout=DEADLINE)
    qtbot.waitUntil(lambda: panel.banner.title() == "FAULT", timeout=DEADLINE)
    assert panel.banner.text().startswith("http://127.0.0.1:")
    assert fields["Energy"].editor.isReadOnly() and "has not reported" in fields["Energy"].editor.toolTip()
    assert not fields["Compression"].editor.isEnabled()
    assert not fields["AutoSummation"].editor.isEnabled()
    unit.box.power(on=True)
    button(panel, "Reset").click()
    qtbot.waitUntil(lambda: fields["AutoSummation"].editor.isEnabled(), timeout=DEADLINE)
    assert not fields["Energy"].editor.isReadOnly()
    assert float(fields["Energy"].editor.text().replace(",", "")) == pytest.approx(unit.detector.Energy)


@pytest.mark.slow
def test_period_and_rate_have_room_for_all_their_digits(panel: DetectorPanel) -> None:
    panel.settings.show_tab("Series")
    panel.settings.setFixedWidth(panel.settings.minimumSizeHint().width())
    qt.QApplication.processEvents()
    for name, text in (("FrameTime", "0.0180001"), ("FrameRate", "55.5552469")):
        editor = panel.settings.series.fields[name].editor
        option = qt.QStyleOptionFrame()
        editor.initStyleOption(option)
        room = editor.style().subElementRect(qt.QStyle.SE_LineEditContents, option, editor).width()
        assert editor.fontMetrics().horizontalAdvance(text) <= room, (name, room)


def test_what_this_model_lacks_is_not_shown_and_nothing_is_cut_off(
    qtbot: Any, unit: EigerUnit, panel: DetectorPanel
) -> None:
    panel.settings.show_tab("Camera")
    camera = panel.settings.camera
    fields = camera.fields
    qtbot.waitUntil(lambda: fields["Threshold2"].isVisible(), timeout=DEADLINE)
    assert not fields["Threshold3"].isVisible() and not fields["Threshold3Mode"].isVisible()
    assert camera.widget().width() <= camera.viewport().width()
    assert cut(panel.settings) == []
    panel.settings.search.setText("threshold")
    assert fields["Threshold"].isVisible() and not fields["Threshold3"].isVisible()
    assert not fields["Nexpi"].isVisible()
    panel.settings.search.setText("")
    assert fields["Nexpi"].isVisible() and not fields["Threshold3"].isVisible()
    order = [name for name in fields if name.startswith("Threshold")]
    assert order[:4] == ["Threshold", "Threshold1Mode", "Threshold2", "Threshold2Mode"]
    ring, queue = panel.findChild(SeriesView).meters
    assert (ring.isHidden(), queue.isHidden()) == (True, False)
