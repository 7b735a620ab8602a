"""Regions in the window, with a real receiver: drawn, followed, changed with mouse and keyboard, kept."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from silx.gui import qt

from penstock.gui.live.view import LiveView, Viewer
from penstock.receiver.client import ReceiverClient
from penstock.receiver.models import Rectangle
from tests.gui.live.taking import Live, live

DEADLINE = 10_000
"""Milliseconds."""
PEAK, EDGE = Rectangle(x=100, y=50, width=40, height=30), Rectangle(x=0, y=0, width=4, height=1)
SHAPE = (200, 300)
FRAMES = 12


@pytest.fixture(scope="module")
def detector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A small detector whose frames bear their number, and its receiver."""
    folder = tmp_path_factory.mktemp("regions")
    with live(folder, SensorWidth=SHAPE[1], SensorHeight=SHAPE[0]) as detector:
        yield detector


@pytest.fixture
def receiver(detector: Live) -> ReceiverClient:
    client = ReceiverClient(detector.url, timeout=3.0)
    client.put_rois({"peak": PEAK, "edge": EDGE})
    return client


@pytest.fixture
def viewer(detector: Live, receiver: ReceiverClient, qtbot: Any, show: Callable[..., Viewer]) -> Viewer:
    """A window with a series on show that has both regions."""
    take(detector, receiver, qtbot)
    viewer = show(detector.url)
    qtbot.waitUntil(lambda: viewer.drawn() > 0, timeout=DEADLINE)
    return viewer


@pytest.fixture
def editor(viewer: Viewer, qtbot: Any) -> Viewer:
    """The same with its list open."""
    open_list(viewer, qtbot)
    return viewer


def take(detector: Live, receiver: ReceiverClient, qtbot: Any, filename: str = "") -> None:
    """A series with the regions that are set now, to its end."""
    status = receiver.status()
    before = status.series.id if status.series is not None else ""
    detector.take(FRAMES, filename)

    def ended() -> bool:
        series = receiver.status().series
        return series is not None and series.id != before and not series.active

    qtbot.waitUntil(ended, timeout=DEADLINE)


def open_list(viewer: LiveView, qtbot: Any) -> None:
    viewer.show_regions.trigger()
    qtbot.waitUntil(lambda: viewer.regions._adding.isEnabled(), timeout=DEADLINE)
    qtbot.waitUntil(lambda: viewer.regions.table.names() == ["peak", "edge"], timeout=DEADLINE)


def drag(viewer: Viewer, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Press the left button at a place in the frame (column, row), move, and let go."""
    canvas = viewer.plot.getWidgetHandle()
    places = [start, ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2), end]
    points = [qt.QPointF(*viewer.plot.dataToPixel(*place)) for place in places]

    def send(kind: int, point: qt.QPointF, button: int, buttons: int) -> None:
        qt.QApplication.sendEvent(canvas, qt.QMouseEvent(kind, point, button, buttons, qt.Qt.NoModifier))

    send(qt.QEvent.MouseMove, points[0], qt.Qt.NoButton, qt.Qt.NoButton)
    send(qt.QEvent.MouseButtonPress, points[0], qt.Qt.LeftButton, qt.Qt.LeftButton)
    for point in points[1:]:
        send(qt.QEvent.MouseMove, point, qt.Qt.NoButton, qt.Qt.LeftButton)
    send(qt.QEvent.MouseButtonRelease, points[-1], qt.Qt.LeftButton, qt.Qt.NoButton)


def drawn(viewer: LiveView) -> dict[str, tuple[int, ...]]:
    """Column, row, width and height of each rectangle in the picture."""
    found = {}
    for name, roi in viewer.regions.overlay.rois().items():
        found[name] = tuple(int(edge) for edge in (*roi.getOrigin(), *roi.getSize()))
    return found


def as_tuple(place: Rectangle) -> tuple[int, ...]:
    return (place.x, place.y, place.width, place.height)


def test_regions_are_drawn_and_listed_with_the_newest_values(
    detector: Live, receiver: ReceiverClient, viewer: Viewer, qtbot: Any
) -> None:
    assert drawn(viewer) == {"peak": as_tuple(PEAK), "edge": as_tuple(EDGE)}, "also while the list is closed"
    path = detector.folder / "values.h5"
    take(detector, receiver, qtbot, str(path))
    open_list(viewer, qtbot)
    series = receiver.status().series
    assert series is not None
    with h5py.File(path, locking=False) as file:
        last = file[series.dataset][FRAMES - 1]
    inside = last[PEAK.y : PEAK.y + PEAK.height, PEAK.x : PEAK.x + PEAK.width].astype(float)
    table = viewer.regions.table
    # The sum of this region is the frame's number, so it tells the last frame from all others.
    qtbot.waitUntil(lambda: table.text("edge", "Sum") == str(FRAMES - 1), timeout=DEADLINE)
    assert table.text("peak", "Sum") == f"{inside.sum():,.0f}"
    assert table.text("peak", "Max") == f"{inside.max():,.0f}"
    assert table.text("peak", "Mean") == f"{inside.mean():,.6g}"
    assert table.text("peak", "Saturated") == "0"
    assert [table.text("peak", edge) for edge in ("x", "y", "Width", "Height")] == ["100", "50", "40", "30"]


def test_what_others_change_is_seen(receiver: ReceiverClient, editor: Viewer, qtbot: Any) -> None:
    receiver.put_rois({"peak": PEAK, "other": EDGE})
    qtbot.waitUntil(lambda: drawn(editor) == {"peak": as_tuple(PEAK), "other": as_tuple(EDGE)}, timeout=3000)
    assert editor.regions.message() == "other counts from the next series on."
    assert editor.regions.overlay.rois()["other"].getLineStyle() == "--"


def test_a_rectangle_that_is_drawn_is_one_of_the_receivers_regions(
    receiver: ReceiverClient, editor: Viewer, qtbot: Any
) -> None:
    downsample = 4  # its coordinates are pixels of the whole frame all the same
    editor.controls.block.setValue(downsample)
    qtbot.waitUntil(lambda: editor.plot.image().getScale() == (downsample, downsample), timeout=DEADLINE)
    try:
        editor.regions._adding.trigger()
        drag(editor, (180.0, 120.0), (220.0, 150.0))
        qtbot.waitUntil(lambda: "region_1" in receiver.rois().rois, timeout=DEADLINE)
    finally:
        editor.controls.block.setValue(1)
        qtbot.waitUntil(lambda: editor.plot.image().getScale() == (1, 1), timeout=DEADLINE)
    place = receiver.rois().rois["region_1"]
    # A pixel of the screen is less than one of the frame, but not nothing.
    np.testing.assert_allclose(as_tuple(place), (180, 120, 40, 30), atol=1)
    assert receiver.rois().rois["peak"] == PEAK, "the others stay"
    assert not editor.regions._adding.isChecked(), "one at a time"
    assert editor.regions.message() == "region_1 counts from the next series on."
    qtbot.waitUntil(lambda: drawn(editor).get("region_1") == as_tuple(place), timeout=DEADLINE)
    assert editor.regions.table.chosen_name() == "region_1"


def test_a_new_region_has_values_in_the_next_series(
    detector: Live, receiver: ReceiverClient, editor: Viewer, qtbot: Any
) -> None:
    receiver.put_rois({"new": EDGE})
    qtbot.waitUntil(lambda: editor.regions.table.names() == ["new"], timeout=DEADLINE)
    assert editor.regions.table.text("new", "Sum") == "–"
    take(detector, receiver, qtbot)
    qtbot.waitUntil(lambda: editor.regions.table.text("new", "Sum") == str(FRAMES - 1), timeout=DEADLINE)
    assert "next series" not in editor.regions.message()


def test_a_region_is_dragged(receiver: ReceiverClient, editor: Viewer, qtbot: Any) -> None:
    editor.regions.table.choose("peak")
    for start, end, found in (
        ((120.0, 65.0), (150.0, 85.0), (130, 70, 40, 30)),  # by its middle
        ((170.0, 100.0), (190.0, 140.0), (130, 70, 60, 70)),  # by a corner
    ):
        before = receiver.rois().rois["peak"]
        editor.plot.replot()
        drag(editor, start, end)
        qtbot.waitUntil(lambda before=before: receiver.rois().rois["peak"] != before, timeout=DEADLINE)
        np.testing.assert_allclose(as_tuple(receiver.rois().rois["peak"]), found, atol=2)
    assert receiver.rois().rois["edge"] == EDGE


def test_a_click_chooses_a_region_and_only_it_has_handles(editor: Viewer) -> None:
    editor.regions.table.choose("edge")
    drag(editor, (120.0, 60.0), (120.0, 60.0))
    assert editor.regions.table.chosen_name() == "peak"
    assert {name: roi.isEditable() for name, roi in editor.regions.overlay.rois().items()} == {
        "peak": True,
        "edge": False,
    }


def test_name_and_place_are_typed_and_a_region_is_deleted(
    receiver: ReceiverClient, editor: Viewer, qtbot: Any
) -> None:
    table = editor.regions.table
    table.item(0, 0).setText("bragg")
    qtbot.waitUntil(lambda: list(receiver.rois().rois) == ["bragg", "edge"], timeout=DEADLINE)
    qtbot.waitUntil(lambda: table.names() == ["bragg", "edge"], timeout=DEADLINE)
    table.item(0, 3).setText("55")
    qtbot.waitUntil(lambda: receiver.rois().rois["bragg"].width == 55, timeout=DEADLINE)
    qtbot.waitUntil(lambda: drawn(editor)["bragg"] == (100, 50, 55, 30), timeout=DEADLINE)
    table.choose("edge")
    editor.regions._deleting.trigger()
    qtbot.waitUntil(lambda: list(receiver.rois().rois) == ["bragg"], timeout=DEADLINE)
    assert "edge" not in drawn(editor)


def test_a_refusal_is_a_sentence_and_nothing_has_changed(
    receiver: ReceiverClient, editor: Viewer, qtbot: Any
) -> None:
    table = editor.regions.table
    for column, text, sentence in (
        (0, "1 bad", "letters, digits and underscores"),
        (0, "edge", "edge is the name of another region already"),
        (1, "ten", "x of peak: 'ten' is not a whole number of pixels"),
        (3, "0", "region of interest peak"),
    ):
        before = table.item(0, column).text()
        table.item(0, column).setText(text)
        qtbot.waitUntil(lambda sentence=sentence: sentence in editor.regions.message(), timeout=DEADLINE)
        assert editor.regions.message().startswith("▲ ")
        qtbot.waitUntil(
            lambda column=column, before=before: table.item(0, column).text() == before, timeout=DEADLINE
        )
    assert receiver.rois().rois == {"peak": PEAK, "edge": EDGE}


@pytest.mark.slow
def test_kept_regions_are_there_after_a_restart(
    detector: Live, receiver: ReceiverClient, editor: Viewer, qtbot: Any
) -> None:
    editor.regions._keeping.trigger()
    qtbot.waitUntil(lambda: receiver.rois().kept, timeout=DEADLINE)
    qtbot.waitUntil(lambda: "Kept across restarts" in editor.regions.message(), timeout=DEADLINE)
    assert not editor.regions._keeping.isEnabled()
    detector.stop_receiver()
    qtbot.waitUntil(lambda: editor.banner.title() == "AWAY", timeout=DEADLINE)
    editor.regions._deleting.trigger()
    qtbot.waitUntil(lambda: "does not answer" in editor.regions.message(), timeout=DEADLINE)
    detector.start_receiver()
    assert receiver.rois().rois == {"peak": PEAK, "edge": EDGE}
    qtbot.waitUntil(lambda: editor.regions.table.names() == ["peak", "edge"], timeout=DEADLINE)


def test_the_curve_has_one_value_per_frame(
    detector: Live, receiver: ReceiverClient, editor: Viewer, qtbot: Any
) -> None:
    editor.regions.table.choose("edge")
    curve = editor.regions.curves.curve
    expected = ([*range(FRAMES)], [float(index) for index in range(FRAMES)])
    qtbot.waitUntil(lambda: curve.values() == expected, timeout=DEADLINE)
    editor.regions.curves.value.setCurrentText("mean")
    assert curve.values()[1] == [index / 4 for index in range(FRAMES)]
    series = editor.regions._history.series
    take(detector, receiver, qtbot)
    qtbot.waitUntil(
        lambda: editor.regions._history.series != series and len(curve.values()[0]) == FRAMES,
        timeout=DEADLINE,
    )


def test_a_hidden_list_asks_for_nothing(
    receiver: ReceiverClient, editor: Viewer, qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    rois, values = ReceiverClient.rois, ReceiverClient.roi_values
    monkeypatch.setattr(ReceiverClient, "rois", lambda self: asked.append("rois") or rois(self))
    monkeypatch.setattr(
        ReceiverClient, "roi_values", lambda self, *a, **k: asked.append("values") or values(self, *a, **k)
    )
    qtbot.waitUntil(lambda: "rois" in asked, timeout=DEADLINE)
    editor.show_regions.trigger()
    with editor.regions.link._condition:
        assert editor.regions.link._until_due() is None, "the thread sleeps until somebody wants something"
    assert drawn(editor) == {"peak": as_tuple(PEAK), "edge": as_tuple(EDGE)}
    assert not any(roi.isEditable() for roi in editor.regions.overlay.rois().values())


def test_a_closed_window_leaves_no_thread(editor: Viewer) -> None:
    assert any(thread.name == "penstock-regions" for thread in threading.enumerate())
    editor.close()
    assert not any(thread.name == "penstock-regions" for thread in threading.enumerate())


def test_it_fits_into_the_compact_view(
    detector: Live, receiver: ReceiverClient, qtbot: Any, tmp_path: Path
) -> None:
    take(detector, receiver, qtbot)
    view = LiveView(compact=True)
    qtbot.addWidget(view)
    view.set_receiver(detector.url)
    view.resize(620, 420)
    view.show()
    try:
        open_list(view, qtbot)
        qtbot.waitUntil(lambda: view.regions.table.text("edge", "Sum") == str(FRAMES - 1), timeout=DEADLINE)
        assert (view.width(), view.height()) == (620, 420)
        assert view.plot.height() > 150
        assert not view.regions.table.horizontalScrollBar().isVisible()
        assert not view.regions.curves.curve.isVisible()
    finally:
        view.stop()
        # silx draws what is posted, also to a plot that is deleted meanwhile.
        qtbot.waitUntil(lambda: not view.plot._getDirtyPlot(), timeout=DEADLINE)
