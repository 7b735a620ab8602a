"""The picture has the room: how much of a window is picture, and what may not take it away."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import combinations
from typing import Any

import numpy as np
import pytest

pytest.importorskip("silx.gui.plot", reason="the windows need the extra gui")

from silx.gui import qt

from penstock.gui import first_place, theme
from penstock.gui.first_place import on_screen
from penstock.gui.live.app import Options, open_window
from penstock.gui.live.sources.receiver_source import ReceiverSource
from penstock.gui.live.view import LiveView
from penstock.gui.model.detector import DetectorModel
from penstock.gui.panel.detector_panel import DetectorPanel
from penstock.gui.panel.window import FIRST_SIZE, Window
from penstock.receiver.models import Counts
from tests.gui.live.stand_in import StandIn, stand_in
from tests.gui.model.stand_in import StandInDevice

DEADLINE = 60_000
"""Milliseconds."""
IMAGE = np.arange(514 * 1030, dtype=np.uint32).reshape(514, 1030) % 1000
Open = Callable[..., DetectorPanel]


def share(view: LiveView) -> float:
    """Which part of its window's pixels is within the axes of the picture."""
    _, _, width, height = view.plot.getPlotBoundsInPixels()
    window = view.window()
    return float(width * height / (window.width() * window.height()))


@pytest.fixture
def receiver() -> Iterator[StandIn]:
    with stand_in() as server:
        server.run(counts=Counts(planned=1000, received=1))
        server.frame(IMAGE, 0)
        yield server


@pytest.fixture
def opened(qtbot: Any, receiver: StandIn, tmp_path: Any) -> Iterator[Open]:
    """Opens the panel's window over a detector with this receiver, with a frame on show."""
    theme.apply(qt.QApplication.instance(), theme.DARK)
    with ExitStack() as stack:

        def begin(size: tuple[int, int] | None, device: StandInDevice) -> DetectorPanel:
            layout = qt.QSettings(str(tmp_path / "panel.conf"), qt.QSettings.IniFormat)
            window = Window(lambda name: DetectorModel(name, device), layout)
            stack.callback(window.close)
            qtbot.addWidget(window)
            panel = window.open("sim/det/1")
            if size is not None:
                window.resize(*size)
            window.show()
            device.appear(ReceiverUrl=receiver.url)
            qtbot.waitUntil(lambda: panel.view().here, timeout=DEADLINE)
            panel.live.set_receiver(receiver.url)
            qtbot.waitUntil(lambda: panel.live.drawn() >= 1, timeout=DEADLINE)
            return panel

        yield begin


@pytest.mark.parametrize(
    ("size", "least"), [(FIRST_SIZE, 0.19), ((960, 600), 0.065), ((1280, 800), 0.20), ((1920, 1040), 0.35)]
)
def test_the_panel_gives_the_picture_the_room(size: tuple[int, int], least: float, opened: Open) -> None:
    panel = opened(size, StandInDevice())
    assert (panel.window().width(), panel.window().height()) == size
    assert share(panel.live) >= least


def test_the_viewer_gives_the_picture_the_room(qtbot: Any, receiver: StandIn) -> None:
    window = open_window(Options(sources=(ReceiverSource.at(receiver.url),)))
    qtbot.addWidget(window)
    window.show()
    (view,) = window.views()
    qtbot.waitUntil(lambda: view.drawn() >= 1, timeout=DEADLINE)
    assert window.width() <= 1280 and window.height() <= 800 - 40, "with its title bar on a small screen"
    assert share(view) >= 0.42
    window.close()


LAPTOP = qt.QRect(0, 0, 1366, 728)
"""A screen of 1366 x 768 pixels less a task bar."""


@pytest.fixture
def laptop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_place, "room", lambda widget: LAPTOP)


def put(window: qt.QWidget) -> qt.QRect:
    """Put a window into the screen's corner, below its title bar, and return where it is."""
    window.move(0, 30)
    return on_screen(window)


def test_the_panel_is_whole_on_a_small_screen_and_the_measuring_tools_leave_its_picture_free(
    qtbot: Any, laptop: None, opened: Open
) -> None:
    device = StandInDevice()
    panel = opened(None, device)
    assert LAPTOP.contains(put(panel.window()))
    device.say(State="FAULT", LastSeries=json.dumps({"series": "s", "verdict": "5 of 1,000 frames stored."}))
    qtbot.waitUntil(lambda: panel.view().last is not None and len(panel._log.entries()) > 1, timeout=DEADLINE)

    live, rows = panel.live, panel._log.findChild(qt.QTableView)
    last = rows.visualRect(rows.model().index(rows.model().rowCount() - 1, 0))
    assert rows.viewport().rect().contains(last), "the newest line of the log"
    parts = [on_screen(each) for each in (panel.actions_bar, live.controls, live.plot, panel.series, rows)]
    assert all(LAPTOP.contains(part) for part in parts)
    assert not any(one.intersects(other) for one, other in combinations(parts, 2))

    live.show_measure.trigger()
    qtbot.waitUntil(live.measure.isVisible, timeout=DEADLINE)
    tools = on_screen(live.measure)
    assert LAPTOP.contains(tools)
    assert tools.width() >= live.measure.minimumSizeHint().width()
    assert not any(tools.intersects(on_screen(each)) for each in (live.controls, live.caption, live.plot))
    live.measure.move(7, 8)
    live.show_measure.trigger()
    live.show_measure.trigger()
    assert live.measure.pos() == qt.QPoint(7, 8), "it is where the user has put it"


def test_the_viewer_is_whole_on_a_small_screen(qtbot: Any, laptop: None, receiver: StandIn) -> None:
    window = open_window(Options(sources=(ReceiverSource.at(receiver.url),)))
    qtbot.addWidget(window)
    window.show()
    (view,) = window.views()
    qtbot.waitUntil(lambda: view.drawn() >= 1, timeout=DEADLINE)
    view.show_measure.trigger()
    qtbot.waitUntil(view.measure.isVisible, timeout=DEADLINE)
    assert LAPTOP.contains(put(window))
    parts = [
        on_screen(each)
        for each in (view.banner, view.controls, view.plot, view.past.bar, view.measure, view.statusBar())
    ]
    assert all(LAPTOP.contains(part) for part in parts)
    assert not any(one.intersects(other) for one, other in combinations(parts, 2))
    window.close()


SCREEN = qt.QRect(0, 0, 2000, 1000)


@pytest.mark.parametrize(
    ("window", "place"),
    [
        (qt.QRect(300, 100, 800, 600), (1100, 100, 760, 300)),  # to the right
        (qt.QRect(1000, 100, 800, 600), (240, 100, 760, 300)),  # to the left
        (qt.QRect(600, 100, 800, 600), (600, 700, 760, 300)),  # below
        (qt.QRect(600, 100, 800, 800), (600, 700, 760, 300)),  # over what is below the picture
        (qt.QRect(600, 200, 800, 800), (600, 800, 760, 200)),  # the same, with less room
        (qt.QRect(600, 300, 800, 700), (600, 820, 760, 180)),  # over the picture's edge
    ],
)
def test_tools_are_beside_what_they_are_about(window: qt.QRect, place: tuple[int, ...]) -> None:
    about = qt.QRect(window.left(), window.top(), 800, 600)
    tools = qt.QRect(window.left(), window.top(), 800, 30)
    found = first_place.beside(qt.QSize(760, 300), qt.QSize(700, 180), SCREEN, window, about, tools)
    assert (found.x(), found.y(), found.width(), found.height()) == place


def edges(panel: DetectorPanel) -> dict[str, tuple[int, ...]]:
    """Where what can be pressed, and the picture, is in the window."""
    live, origin = panel.live, qt.QPoint(0, 0)
    widgets: dict[str, qt.QWidget] = {
        "plot": live.plot, "slider": live.past.bar.slider, "number": live.past.bar.number,
        "newest": live.past.bar.live, "tools": live.controls, "bar": live.colour_bar,
        "more": live.controls.more, "series": panel.series, "log": panel._log,
    }  # fmt: skip
    return {
        name: (each.mapTo(panel, origin).x(), each.mapTo(panel, origin).y(), each.width(), each.height())
        for name, each in widgets.items()
    }


@pytest.mark.parametrize("width", [960, 1280, 1920])
def test_nothing_moves_while_a_series_runs(width: int, qtbot: Any, opened: Open, receiver: StandIn) -> None:
    device = StandInDevice()
    panel = opened((width, 760), device)
    live = panel.live
    before = edges(panel)

    device.say(State="RUNNING", nFramesPlanned=1000, nFramesStored=5, SeriesId="s")
    receiver.frame(IMAGE, 700, saturation=900)  # what is said of it, and its figures, are longer
    qtbot.waitUntil(live.measure.saturation.isVisible, timeout=DEADLINE)
    live.plot.pixel.emit(live.plot.pixel_at(1000.5, 500.5))
    receiver.frame(IMAGE, 701)
    qtbot.waitUntil(lambda: not live.measure.saturation.isVisible(), timeout=DEADLINE)
    live.copy.trigger()
    assert live.said() == "The picture is in the clipboard."
    device.say(State="FAULT", LastSeries=json.dumps({"series": "s", "verdict": "5 of 1,000 frames stored."}))
    qtbot.waitUntil(lambda: panel.view().last is not None, timeout=DEADLINE)

    assert edges(panel) == before


@pytest.mark.parametrize("width", [960, 1280, 1920])
def test_all_tools_are_in_one_line_and_the_rest_is_behind_more(width: int, opened: Open) -> None:
    controls = opened((width, 760), StandInDevice()).live.controls
    shown = [controls.widgetForAction(action) for action in controls.actions() if action.isVisible()]
    assert controls.more in shown
    for tool in shown:
        assert tool.isVisible()
        assert controls.rect().contains(tool.geometry()), tool.text()
        if isinstance(tool, qt.QToolButton):  # a tool without words has a tip
            assert tool.toolTip()
            assert tool.width() >= tool.sizeHint().width()


def test_the_filter_of_the_log_says_what_it_is(opened: Open) -> None:
    log = opened((960, 760), StandInDevice())._log
    field = log.filter
    option = qt.QStyleOptionFrame()
    field.initStyleOption(option)
    room = field.style().subElementRect(qt.QStyle.SE_LineEditContents, option, field).width() - 4
    assert field.fontMetrics().horizontalAdvance(field.placeholderText()) <= room
    for button in (*log.kinds.values(), log.save_as):
        assert button.width() >= button.sizeHint().width() and log.rect().contains(button.geometry())


def test_the_warning_is_short_where_there_is_little_room(qtbot: Any, opened: Open, receiver: StandIn) -> None:
    live = opened((960, 760), StandInDevice()).live
    receiver.frame(IMAGE, 1, saturation=900)
    banner = live.measure.saturation
    qtbot.waitUntil(banner.isVisible, timeout=DEADLINE)
    count = int((IMAGE >= 900).sum())
    whole = f"▲ {count:,} pixels are saturated, more than 10: attenuate the beam or expose shorter"
    assert banner.whole() == banner.toolTip() == whole
    shorter = {f"▲ {count:,} pixels saturated", f"▲ {count:,} saturated"}
    qtbot.waitUntil(lambda: banner.text() in shorter, timeout=DEADLINE)
    assert banner.fontMetrics().horizontalAdvance(banner.text()) <= banner.contentsRect().width()
