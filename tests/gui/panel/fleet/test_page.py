"""The page of all detectors: what it shows, how it sorts, and what it says where there is nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("silx.gui.qt", reason="the panel needs the extra gui")
from silx.gui import qt

from penstock.gui import theme
from penstock.gui.model.columns import as_text
from penstock.gui.model.tango.directory import NO_HOST
from penstock.gui.panel.fleet.page import FleetPage
from penstock.gui.panel.fleet.table import COLUMNS
from tests.gui.panel.conftest import Browser
from tests.gui.panel.fleet_of import Beamtime, eight

FRAMES, FREE = ([column.title for column in COLUMNS].index(title) for title in ("Frames", "Free disk"))
GRAVEST = ["p09/zyla/1", "p09/receiver/zyla", "p09/pilatus/1", "p09/receiver/pilatus"]
RUNNING = ["p09/basler/1", "p09/eiger/1", "p09/receiver/eiger"]
LAST = ["p09/xspress/1"]
"""Its last series was incomplete, which is over."""
ALL = GRAVEST + RUNNING + LAST

Open = Callable[[Beamtime], FleetPage]


@pytest.fixture
def show(qtbot: Any) -> Iterator[Open]:
    """Opens pages, and closes them when the test ends."""
    pages: list[FleetPage] = []

    def opened(line: Beamtime) -> FleetPage:
        page = FleetPage(line.fleet)
        pages.append(page)
        qtbot.addWidget(page)
        page.resize(1280, 800)
        page.show()
        rows = len(line.entries) + len(line.behind)
        qtbot.waitUntil(lambda: len(page.names()) == rows and not page.said().startswith("Asking"))
        # Rows are there before their devices have said anything, and the page is a moment behind them.
        qtbot.waitUntil(lambda: all(each.has_started for each in line.devices.values()))
        qtbot.waitUntil(lambda: page.text() == as_text(COLUMNS, line.fleet.rows()))
        return page

    yield opened
    for page in pages:
        page.close()


def test_nothing_is_followed_before_the_page_is_shown(qtbot: Any) -> None:
    line = eight()
    page = FleetPage(line.fleet)
    qtbot.addWidget(page)
    assert page.said() == "Asking the Tango database which detectors there are …"
    assert not any(device.listener for device in line.devices.values())


def test_faults_come_first_with_the_counts_on_top(show: Open) -> None:
    page = show(eight())
    assert page.names() == ALL
    assert page.head() == (
        "5 detectors, 1 in FAULT, 1 away, 2 running; 3 receivers, 1 in FAULT, 1 in UNKNOWN, 1 running"
    )
    assert page.said() == ""


def test_numbers_sort_as_numbers_and_stand_on_the_right(show: Open) -> None:
    page = show(eight())
    view = page.findChild(qt.QTableView)
    view.sortByColumn(FRAMES, qt.Qt.DescendingOrder)
    assert page.names()[:5] == [
        "p09/xspress/1", "p09/eiger/1", "p09/receiver/eiger", "p09/basler/1", "p09/receiver/zyla",
    ]  # fmt: skip
    view.sortByColumn(FREE, qt.Qt.AscendingOrder)
    assert page.names()[-3:] == ["p09/eiger/1", "p09/receiver/eiger", "p09/xspress/1"]
    for column in (FRAMES, FREE):
        alignment = view.model().index(0, column).data(qt.Qt.TextAlignmentRole)
        assert alignment & int(qt.Qt.AlignRight)


def test_the_filter_takes_every_word_and_esc_clears_it(show: Open, qtbot: Any) -> None:
    page = show(eight())
    field = page.findChild(qt.QLineEdit)
    qtbot.keyClicks(field, "receiver fault")
    assert page.names() == ["p09/zyla/1", "p09/receiver/zyla"]
    qtbot.keyClicks(field, " nothing")
    assert page.names() == []
    assert page.said() == "No row matches the filter. Esc clears it."
    qtbot.keyClick(field, qt.Qt.Key_Escape)
    assert page.names() == ALL


def test_enter_and_double_click_choose_a_detector(show: Open, qtbot: Any) -> None:
    page = show(eight())
    view = page.findChild(qt.QTableView)
    view.selectRow(2)
    with qtbot.waitSignal(page.chosen) as chosen:
        qtbot.keyClick(view, qt.Qt.Key_Return)
    assert chosen.args == ["p09/pilatus/1"]
    place = view.visualRect(view.model().index(0, 1)).center()
    qtbot.mouseClick(view.viewport(), qt.Qt.LeftButton, pos=place)
    with qtbot.waitSignal(page.chosen) as chosen:
        qtbot.mouseDClick(view.viewport(), qt.Qt.LeftButton, pos=place)
    assert chosen.args == ["p09/zyla/1"]


def test_a_receiver_is_opened_in_the_browser(show: Open, qtbot: Any, browser: Browser) -> None:
    page = show(eight())
    view = page.findChild(qt.QTableView)
    assert (
        page.detail()
        == "Enter or a double click opens a detector's panel, or the page of a receiver, pipeline or bridge."
    )
    view.selectRow(1)
    assert page.detail().startswith(
        "p09/receiver/zyla, PenstockReceiver/lab: The disk of /data/tomo is full."
    )
    with qtbot.assertNotEmitted(page.chosen):
        qtbot.keyClick(view, qt.Qt.Key_Return)
    assert browser.opened == ["http://daq-2:5000/"]
    assert "opens its page, http://daq-2:5000" in page.detail()


def test_a_pipeline_has_a_row_its_last_error_and_a_page(show: Open, qtbot: Any, browser: Browser) -> None:
    line = eight()
    line.pipeline(
        "p09/pipeline/spots", url="http://daq-1:5100", State="RUNNING", Status="Processing a series.",
        SeriesId="s1", RawFile="/data/ceo2_scan_0042.h5", Planned=12000, Done=4100, LastError="spots-1: no",
    )  # fmt: skip
    page = show(line)
    view = page.findChild(qt.QTableView)
    assert page.head().endswith("; 1 pipeline, 1 running")
    view.selectRow(page.names().index("p09/pipeline/spots"))
    cells = [index.data() for index in view.selectionModel().selectedIndexes()]
    assert cells[:5] == ["RUNNING", "p09/pipeline/spots", "pipeline", "ceo2_scan_0042.h5", "4,100 of 12,000"]
    assert "Processing a series.  File: /data/ceo2_scan_0042.h5  Last error: spots-1: no" in page.detail()
    with qtbot.assertNotEmitted(page.chosen):
        qtbot.keyClick(view, qt.Qt.Key_Return)
    assert browser.opened == ["http://daq-1:5100/"]


def test_a_bridge_behind_a_receiver_has_a_row_and_a_page(show: Open, qtbot: Any, browser: Browser) -> None:
    line = eight()
    line.bridge(
        "http://daq-1:5000", "http://daq-1:5200/", "p09-epics", "RUNNING", done=4100, workers=2,
        file="/data/visitors/2026/ceo2_scan_0042.h5",
    )  # fmt: skip
    page = show(line)
    view = page.findChild(qt.QTableView)
    assert page.names()[:-2] == GRAVEST + RUNNING and page.names()[-2:] == ["p09-epics", *LAST]
    assert page.head().endswith("; 1 bridge, 1 running")
    view.selectRow(page.names().index("p09-epics"))
    cells = [index.data() for index in view.selectionModel().selectedIndexes()]
    assert cells == [
        "RUNNING", "p09-epics", "bridge", "ceo2_scan_0042.h5", "4,100", "", "", "", "2 clients connected.",
    ]  # fmt: skip
    assert page.detail() == (
        "p09-epics, penstock epics: 2 clients connected.  File: /data/visitors/2026/ceo2_scan_0042.h5  "
        "Enter or a double click opens its page, http://daq-1:5200/"
    )
    place = view.visualRect(view.selectedIndexes()[1]).center()
    with qtbot.assertNotEmitted(page.chosen):
        qtbot.mouseClick(view.viewport(), qt.Qt.LeftButton, pos=place)
        qtbot.mouseDClick(view.viewport(), qt.Qt.LeftButton, pos=place)
    assert browser.opened == ["http://daq-1:5200/"]
    qtbot.keyClicks(page.findChild(qt.QLineEdit), "bridge")
    assert page.names() == ["p09-epics"]


def test_a_bridge_that_goes_away_stays_selected_and_one_that_is_not_named_any_more_goes(
    show: Open, qtbot: Any
) -> None:
    line = eight()
    bridge = "http://daq-1:5000", "http://daq-1:5200/", "p09-epics"
    line.bridge(*bridge, file="/data/a.h5", done=7)
    page = show(line)
    view = page.findChild(qt.QTableView)
    view.selectRow(page.names().index("p09-epics"))
    why = "bridge at http://daq-1:5200/ does not answer; is `penstock epics` running?"
    line.bridge(*bridge[:2], bridge[1], "AWAY", problem=why)
    line.fleet.look()
    qtbot.waitUntil(lambda: why in page.detail())
    assert page.names()[2:5] == ["p09/pilatus/1", "p09/receiver/pilatus", "p09-epics"]
    assert page.head().endswith("; 1 bridge, 1 away")
    row = dict(
        zip([column.title for column in COLUMNS], page.text().splitlines()[1].split("\t"), strict=True)
    )
    assert (row["State"], row["Series"], row["Frames"]) == ("AWAY", "a.h5", "7")
    assert row["Away since"] and row["What it says"] == why.capitalize()
    del line.behind[bridge[0]]
    line.fleet.look()
    qtbot.waitUntil(lambda: page.names() == ALL)


def test_events_change_the_row_and_leave_the_selection(show: Open, qtbot: Any) -> None:
    line = eight()
    page = show(line)
    view = page.findChild(qt.QTableView)
    view.selectRow(ALL.index("p09/xspress/1"))
    line.devices["p09/zyla/1"].say(State="ON", Status="Ready.", nFramesMissing=0)
    qtbot.waitUntil(lambda: page.names()[0] == "p09/receiver/zyla")
    assert page.detail().startswith("p09/xspress/1, ")
    assert [index.data() for index in view.selectionModel().selectedRows(1)] == ["p09/xspress/1"]


def test_a_device_that_is_registered_later_appears_with_f5(show: Open, qtbot: Any) -> None:
    line = eight()
    page = show(line)
    line.detector("p09/lambda/1", State="ON", Status="Ready.")
    qtbot.keyClick(page.findChild(qt.QTableView), qt.Qt.Key_F5)
    qtbot.waitUntil(lambda: "p09/lambda/1" in page.names())
    del line.entries["p09/zyla/1"]
    qtbot.keyClick(page.findChild(qt.QTableView), qt.Qt.Key_F5)
    qtbot.waitUntil(lambda: "p09/zyla/1" not in page.names())


def test_the_table_is_copied_as_text(show: Open, qtbot: Any) -> None:
    page = show(eight())
    view = page.findChild(qt.QTableView)
    assert len(page.text().splitlines()) == 9
    view.selectRow(ALL.index("p09/eiger/1"))
    qtbot.keyClick(view, qt.Qt.Key_C, qt.Qt.ControlModifier)
    titles, row = qt.QApplication.clipboard().text().splitlines()
    assert titles.split("\t") == [column.title for column in COLUMNS]
    assert row.split("\t")[:7] == [
        "RUNNING", "p09/eiger/1", "detector", "ceo2_scan_0042.h5", "4,120 of 12,000", "250 Hz", "61.2 TB",
    ]  # fmt: skip


def test_a_database_that_goes_is_said_above_the_rows_that_stay(show: Open, qtbot: Any) -> None:
    line = eight()
    page = show(line)
    line.trouble = "no Tango database answers at daq:10000 <TANGO_HOST>"
    line.fleet.look()
    qtbot.waitUntil(lambda: bool(page.said()))
    assert page.said() == (
        "No Tango database answers at daq:10000 &lt;TANGO_HOST&gt;.<br>"
        "The devices below are still followed; new ones are not seen."
    )
    assert page.names() == ALL
    line.trouble = ""
    line.fleet.look()
    qtbot.waitUntil(lambda: not page.said())


def test_without_a_database_named_it_says_how_to_name_one(show: Open) -> None:
    line = Beamtime()
    line.trouble = NO_HOST
    page = show(line)
    assert page.said().startswith("TANGO_HOST is not set")
    assert "export TANGO_HOST=127.0.0.1:10000" in page.said()


def test_without_a_detector_it_says_how_to_register_one(show: Open) -> None:
    page = show(Beamtime())
    assert page.said().startswith("This Tango database knows no detector of Penstock yet.")
    assert "penstock device Simulator sim --register sim/det/1" in page.said()


@pytest.mark.parametrize("look", [theme.DARK, theme.LIGHT], ids=["dark", "light"])
def test_it_can_be_read_in_both_themes_at_1280_by_800(look: theme.Theme, show: Open, qtbot: Any) -> None:
    application = qt.QApplication.instance()
    before = application.palette(), application.styleSheet(), application.font()
    theme.apply(application, look)
    try:
        page = show(eight())
        view = page.findChild(qt.QTableView)
        assert not view.horizontalScrollBar().isVisible()
        assert page.minimumSizeHint().width() <= 1280
        page.resize(960, 600)
        qtbot.waitUntil(lambda: view.columnWidth(8) > 0 and view.viewport().width() < 960)
        assert view.horizontalHeader().length() <= view.viewport().width(), "what it says is not cut off"
        assert view.columnWidth(8) >= 140
        page.resize(1280, 800)
        qtbot.waitUntil(lambda: view.viewport().width() > 1000)
        assert len({view.rowHeight(number) for number in range(8)}) == 1, "no row moves when one says more"
        wanted = {look.state[kind] for kind in ("fault", "away", "idle", "running")}

        def has_states() -> bool:  # which come after the names
            picture = page.grab().toImage()
            return wanted <= {picture.pixelColor(x, y).name() for x in range(12, 120) for y in range(60, 400)}

        qtbot.waitUntil(has_states)
    finally:
        application.setPalette(before[0])
        application.setStyleSheet(before[1])
        application.setFont(before[2])
