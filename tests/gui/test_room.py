"""The picture has the room: how much of a window is picture, and what may not take it away."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

pytest.importorskip("silx.gui.plot", reason="the windows need the extra gui")

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.live.app import Options, open_window
from penstock.gui.live.receiver_source import ReceiverSource
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

        def begin(size: tuple[int, int], device: StandInDevice) -> DetectorPanel:
            layout = qt.QSettings(str(tmp_path / "panel.conf"), qt.QSettings.IniFormat)
            window = Window(lambda name: DetectorModel(name, device), layout)
            stack.callback(window.close)
            qtbot.addWidget(window)
            panel = window.open("sim/det/1")
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
