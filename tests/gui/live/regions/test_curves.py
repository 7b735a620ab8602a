"""Curves of regions and of frames shown: over frames, times and a scan's motor, and as a table."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from silx.gui import qt

from penstock.gui import theme
from penstock.gui.live.plot.curves import Curve, CurvePlace, RegionCurve
from penstock.gui.live.regions import history as shown
from penstock.gui.live.regions.axis import Scan, scan_of, seconds
from penstock.gui.live.regions.curves_panel import CurvesPanel
from penstock.gui.live.regions.history import WHOLE, History, Shown, as_csv
from penstock.gui.live.regions.model import Row
from penstock.gui.live.regions.table import RegionTable
from penstock.receiver.models import Rectangle, RoiSeries, RoiValues

START = 1_767_225_600.25
INKS = {"peak": "#ff9f1c", "ground": "#3fc1ff"}
SCAN = Scan("mot01", 0.0, 4.0, 5)
DEADLINE = 5000


def history() -> History:
    """Five frames of two regions, of which the third is missing."""
    kept = History("s", None)
    peak: list[float | None] = [10, 20, None, 40, 50]
    values = {
        "peak": RoiSeries(
            sum=peak, mean=[1, 2, None, 4, 5], max=[3, 3, None, 3, 9], saturated=[0, 2, None, 0, 1]
        ),
        "ground": RoiSeries(sum=[1, 1, None, 1, 1], mean=[0, 0, None, 0, 0], max=[1, 1, None, 1, 1]),
    }
    times = [START, START + 0.5, None, START + 1.5, START + 2.0]
    assert kept.take(RoiValues(series="s", first=0, upto=5, time=times, values=values))
    return kept


def totals() -> Shown:
    """Two of the frames were shown."""
    seen = Shown()
    seen.add("s", 4, START + 2.0, (500, 5.0, 9, 6))
    seen.add("s", 1, START + 0.5, (200, 2.0, 3, 0))
    return seen


@pytest.fixture
def panel(qtbot: Any) -> CurvesPanel:
    opened = CurvesPanel()
    qtbot.addWidget(opened)
    opened.resize(620, 240)
    opened.show()

    def draw() -> None:
        opened.show_history(history(), totals(), "peak", INKS)

    opened.changed.connect(draw)
    draw()
    return opened


def test_the_selected_region_is_drawn_by_frame(panel: CurvesPanel) -> None:
    x, y = panel.curve.values()
    assert x == [0, 1, 2, 3, 4]
    np.testing.assert_equal(y, [10, 20, np.nan, 40, 50])
    assert panel.curve.getYAxis().getLabel() == "sum of peak"
    panel.value.setCurrentText("max")
    np.testing.assert_equal(panel.curve.values()[1], [3, 3, np.nan, 3, 9])
    panel.value.setCurrentText("saturated")
    np.testing.assert_equal(panel.curve.values()[1], [0, 2, np.nan, 0, 1])
    assert panel.curve.getYAxis().getLabel() == "saturated pixels of peak"


def test_all_regions_are_drawn_in_one_plot_and_the_selected_one_is_thicker(panel: CurvesPanel) -> None:
    panel.all.trigger()
    assert [(curve.name, curve.ink) for curve in panel.curve.curves()] == list(INKS.items())
    widths = {item.getName(): item.getLineWidth() for item in panel.curve.getAllCurves()}
    assert widths["peak"] > widths["ground"]
    panel.all.trigger()
    assert [item.getName() for item in panel.curve.getAllCurves()] == ["peak"]


def test_curves_are_drawn_over_the_frames_times(panel: CurvesPanel) -> None:
    panel.axis.setCurrentText("by time")
    np.testing.assert_equal(panel.curve.values()[0], [0, 0.5, np.nan, 1.5, 2])
    assert panel.curve.getXAxis().getLabel().startswith("seconds after ")


def test_frames_shown_are_crosses_and_said_to_be_only_those(panel: CurvesPanel) -> None:
    panel.with_shown.trigger()
    crosses = panel.curve.getCurve(WHOLE)
    assert (crosses.getSymbol(), crosses.getLineStyle()) == ("x", " ")
    assert crosses.getXData().tolist() == [1, 4] and crosses.getYData().tolist() == [200, 500]
    assert "only those that this window has shown" in panel.with_shown.toolTip()
    panel.axis.setCurrentText("by time")
    assert panel.curve.getCurve(WHOLE).getXData().tolist() == [0.5, 2.0]
    panel.value.setCurrentText("max")
    assert panel.curve.getCurve(WHOLE).getYData().tolist() == [3, 9]
    panel.value.setCurrentText("saturated")
    assert panel.curve.getCurve(WHOLE).getYData().tolist() == [0, 6]


def test_frames_shown_are_not_said_to_be_a_regions(panel: CurvesPanel) -> None:
    def label() -> str:
        return str(panel.curve.getYAxis().getLabel())

    panel.with_shown.trigger()
    assert label() == "sum of peak; crosses: whole frame"
    panel.all.trigger()
    assert label() == "sum; crosses: whole frame"
    panel.all.trigger()
    panel.show_history(None, totals(), "peak", INKS)  # as before the region's first value
    assert label() == "sum, whole frame"
    assert panel.curve.text_at(4.2) == "frame 4   whole frame: 500"
    older = Shown()
    older.add("r", 3, None, (7, 7, 7, 7))
    panel.show_history(history(), older, "peak", INKS)
    assert [curve.name for curve in panel.curve.curves()] == ["peak"], "those of another series have no place"
    assert label() == "sum of peak"


def test_in_a_scan_its_motor_is_offered_and_gone_with_it(panel: CurvesPanel) -> None:
    panel.show_scan(SCAN)
    panel.axis.setCurrentText("by mot01")
    assert panel.curve.values()[0] == [0, 1, 2, 3, 4]
    assert panel.curve.getXAxis().getLabel() == "mot01 (planned)"
    panel.show_scan(None)
    assert [panel.axis.itemText(place) for place in range(panel.axis.count())] == ["by frame", "by time"]
    assert panel.curve.getXAxis().getLabel() == "frame"


def test_the_cursor_reads_the_nearest_value(panel: CurvesPanel) -> None:
    panel.crosshair.trigger()
    assert panel.curve.getGraphCursor() is not None
    panel.curve._follow_cursor({"event": "mouseMoved", "x": 2.2, "y": 0.0})
    assert panel.reading() in ("frame 1   peak: 20", "frame 3   peak: 40")
    panel.curve._follow_cursor({"event": "mouseMoved", "x": 3.9, "y": 0.0})
    assert panel.reading() == "frame 4   peak: 50"


def test_the_table_has_all_that_is_known(qtbot: Any, panel: CurvesPanel, tmp_path: Path) -> None:
    panel.save_csv(tmp_path / "values.csv")
    qtbot.waitUntil(lambda: panel.reading() == f"Saved as {tmp_path / 'values.csv'}", timeout=DEADLINE)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "values.csv").read_text())))
    assert len(rows) == 5
    assert rows[1] == {
        "frame": "1", "time": repr(START + 0.5), "peak:sum": "20", "peak:mean": "2", "peak:max": "3",
        "peak:saturated": "2", "ground:sum": "1", "ground:mean": "0", "ground:max": "1",
        "ground:saturated": "", "frames shown:sum": "200", "frames shown:mean": "2", "frames shown:max": "3",
        "frames shown:saturated": "0",
    }  # fmt: skip
    assert (rows[2]["time"], rows[2]["peak:sum"], rows[0]["frames shown:sum"]) == ("", "", "")
    panel.save_csv(tmp_path / "nowhere" / "values.csv")
    qtbot.waitUntil(lambda: panel.reading().startswith("▲ Not saved: "), timeout=DEADLINE)


def test_the_table_has_the_motor_of_a_scan() -> None:
    lines = as_csv(history(), Shown(), SCAN).splitlines()
    assert lines[0].startswith("frame,time,mot01 (planned),peak:sum")
    assert lines[4].split(",")[2] == "3"


def metadata(**scan: Any) -> str:
    told = {"macro": "ascan", "motors": ["mot01"], "points": 5, **scan}
    return json.dumps({"title": f"{told['macro']} mot01 0.0 4.0 4 0.1", "scan": told})


def test_a_scan_tells_the_positions_of_its_motor() -> None:
    assert scan_of(metadata(), 5) == SCAN
    twice = scan_of(metadata(), 10)
    assert twice is not None
    assert twice.positions(np.arange(10)).tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert np.isnan(twice.positions(np.array([10]))).all()
    relative = scan_of(metadata(macro="dscan"), 5)
    assert relative is not None and relative.label == "mot01 (planned, from where it was)"


@pytest.mark.parametrize(
    ("text", "planned"),
    [
        ("", 5), ("{", 5), ("[]", 5), ('{"scan": {}}', 5), (metadata(), None), (metadata(), 7),
        (metadata(motors=["mot01", "mot02"]), 5), (metadata(macro="mesh"), 5), (metadata(points=None), 5),
        (metadata(motors=["other"]), 5),
    ],
)  # fmt: skip
def test_what_no_scan_tells_is_not_guessed(text: str, planned: int | None) -> None:
    assert scan_of(text, planned) is None


def test_times_begin_with_the_first_that_is_known() -> None:
    after, start = seconds(np.array([np.nan, 5.0, 7.5]))
    assert start == 5.0
    np.testing.assert_equal(after, [np.nan, 0, 2.5])
    assert seconds(np.array([np.nan]))[1] is None


def test_frames_shown_are_of_one_series_and_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown, "FRAMES", 2)
    seen = totals()
    seen.add("s", 7, None, (700, None, None))
    assert seen.curve("sum")[0].tolist() == [1, 7]
    assert np.isnan(seen.times()[1])
    seen.add("t", 0, None, (1, 1, 1))
    assert seen.curve("sum")[0].tolist() == [0]


@pytest.mark.parametrize("most", [None, 30, 1_000_000])
def test_no_number_at_an_axis_is_cut_off(most: int | None, qtbot: Any, caplog: Any) -> None:
    plot = RegionCurve()
    qtbot.addWidget(plot)
    plot.resize(420, 200)
    plot.show()
    if most is not None:
        frames = np.array([0, most])
        plot.show_curves([Curve("peak", frames, frames * 1.0, frames * 1e9, "#ff9f1c")], "frame", "sum")
    canvas = plot.getBackend()
    canvas.draw()
    room = canvas.fig.bbox
    for axis in (canvas.ax.xaxis, canvas.ax.yaxis):
        for label in [*axis.get_ticklabels(), axis.get_offset_text()]:
            box = label.get_window_extent()
            seen = canvas.ax.bbox.expanded(1.01, 1.01)
            if label.get_text() and (seen.x0 <= (box.x0 + box.x1) / 2 <= seen.x1 or axis is canvas.ax.yaxis):
                assert room.x0 <= box.x0 and box.x1 <= room.x1, label.get_text()
    assert not caplog.text, "no font is missed"


def test_numbers_at_an_axis_are_no_formulas(qtbot: Any) -> None:
    plot = RegionCurve()
    qtbot.addWidget(plot)
    frames = np.array([0, 100])
    plot.show_curves([Curve("peak", frames, frames * 1.0, -0.5 * frames, "#ff9f1c")], "frame", "sum")
    canvas = plot.getBackend()
    canvas.draw()
    assert "100" in [label.get_text() for label in canvas.ax.xaxis.get_ticklabels()]
    assert "−50" in [label.get_text() for label in canvas.ax.yaxis.get_ticklabels()]


def test_a_plot_is_made_when_it_is_first_seen(qtbot: Any) -> None:
    place = CurvePlace("pixel")
    qtbot.addWidget(place)
    place.show_curves([], "", "")
    assert place.findChildren(RegionCurve) == []
    place.show()
    (made,) = place.findChildren(RegionCurve)
    assert made is place.curve and made.isVisible()
    assert made.unit == "pixel"


def test_a_plot_is_made_when_it_is_first_drawn_into(qtbot: Any) -> None:
    place = CurvePlace()
    qtbot.addWidget(place)
    frames = np.array([0, 1])
    place.show_curves(
        [Curve("peak", frames, frames * 1.0, frames * 3.0, "#ff9f1c", chosen=True)], "frame", "sum"
    )
    assert place.curve.values() == ([0, 1], [0, 3])
    place.show_curves([], "", "")
    assert place.curve.curves() == ()


def test_saturated_pixels_are_marked_in_the_list(qtbot: Any) -> None:
    table = RegionTable()
    qtbot.addWidget(table)
    place = Rectangle(x=0, y=0, width=2, height=2)
    rows = Row("peak", place, 9, 3, 5, 1), Row("ground", place, 4, 1, 1, 0), Row("old", place, 4, 1, 1)
    table.show_rows(rows)
    assert [table.text(name, "Saturated") for name in table.names()] == ["▲ 1", "0", "–"]
    inks = [table.item(line, table.columnCount() - 1).foreground().color().name() for line in range(3)]
    assert inks[0] == qt.QColor(theme.current().warning).name() and inks[0] not in inks[1:]
