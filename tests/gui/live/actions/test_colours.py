"""The tools beside the picture: levels on the histogram, what is remembered, and when the loop is idle."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from silx.gui import qt

from penstock.gui.live.drawing.blocks import Reduction
from penstock.gui.live.drawing.levels import Levels, Percentiles, Scale, histogram
from penstock.gui.live.plot.colour_bar import ColourBar
from penstock.gui.live.plot.histogram import LevelsTool
from penstock.gui.live.plot.look import Look
from penstock.gui.live.plot.screen import Idle
from penstock.gui.live.sources.source import IMAGES, Content
from penstock.gui.live.view import LiveView, Viewer
from tests.gui.live.stand_in import StandIn

IMAGE = np.random.default_rng(3).poisson(100, (60, 80)).astype(np.int32)
DEADLINE = 10_000
"""Milliseconds."""


@pytest.fixture
def tool(qtbot: Any) -> LevelsTool:
    look = Look()
    look.follow(Levels(80, 130))
    shown = LevelsTool(look)
    qtbot.addWidget(shown)
    shown.resize(88, 400)
    shown.show_histogram(histogram(IMAGE.ravel(), look.levels()))
    shown.show()
    return shown


def drag(qtbot: Any, tool: LevelsTool, level: float, to: float) -> None:
    """Drag the line at this count to that one."""
    bins = tool.bins
    start, end = (qt.QPoint(40, round(bins.row(value))) for value in (level, to))
    qtbot.mousePress(bins, qt.Qt.LeftButton, pos=start)
    move = qt.QMouseEvent(
        qt.QEvent.MouseMove, qt.QPointF(end), qt.Qt.NoButton, qt.Qt.LeftButton, qt.Qt.NoModifier
    )
    qt.QApplication.sendEvent(bins, move)
    qtbot.mouseRelease(bins, qt.Qt.LeftButton, pos=end)


def test_a_level_is_dragged_and_stays(qtbot: Any, tool: LevelsTool) -> None:
    look = tool.bins._look
    drag(qtbot, tool, 130, 110)
    assert look.levels().high == pytest.approx(110, abs=1)
    assert look.levels().low == 80
    assert not look.is_autoscale()
    drag(qtbot, tool, 80, 90)
    assert look.levels().low == pytest.approx(90, abs=1)


def test_no_level_is_dragged_past_the_other_one_and_none_from_far_away(qtbot: Any, tool: LevelsTool) -> None:
    look = tool.bins._look
    drag(qtbot, tool, 80, 140)
    assert look.levels() == (80, 130)
    drag(qtbot, tool, 105, 120)  # in the middle between the two
    assert look.levels() == (80, 130)


def test_a_level_is_typed_and_what_is_no_number_changes_nothing(qtbot: Any, tool: LevelsTool) -> None:
    look = tool.bins._look
    for text, expected in (("2,500", 2500), ("many", 2500), ("10", 2500)):  # the last is below the other
        tool.high.selectAll()
        qtbot.keyClicks(tool.high, text)
        qtbot.keyClick(tool.high, qt.Qt.Key_Return)
        assert look.levels() == (80, expected)
        assert tool.high.text() == "2,500"


def test_a_level_that_was_not_typed_stays_as_it_is_with_all_its_digits(qtbot: Any, tool: LevelsTool) -> None:
    look = tool.bins._look
    look.set_levels(0, 123456.7)
    tool.low.selectAll()
    qtbot.keyClicks(tool.low, "0.5")
    qtbot.keyClick(tool.low, qt.Qt.Key_Return)
    assert look.levels() == (0.5, 123456.7)


@pytest.mark.parametrize("scale", Scale)
def test_a_place_on_the_histogram_is_that_of_its_count(qtbot: Any, scale: Scale) -> None:
    look = Look()
    look.set_scale(scale)
    look.set_levels(80, 130)
    tool = LevelsTool(look)
    qtbot.addWidget(tool)
    tool.resize(88, 400)
    tool.show_histogram(histogram(IMAGE.ravel(), look.levels(), scale))
    for count in (80.0, 100.0, 130.0):
        assert tool.bins.value(tool.bins.row(count)) == pytest.approx(count)
    assert tool.bins.row(130) < tool.bins.row(80), "the greatest is on top"
    assert not tool.grab().isNull()


@pytest.mark.parametrize("scale", Scale)
def test_a_count_is_at_the_same_height_on_the_histogram_and_on_the_colour_bar_beside_it(
    qtbot: Any, scale: Scale
) -> None:
    look = Look()
    look.set_scale(scale)
    look.set_levels(80, 130)
    both = qt.QWidget()
    qtbot.addWidget(both)
    tool = LevelsTool(look, both)
    bar = ColourBar(look, tool.bins, both)
    row = qt.QHBoxLayout(both)
    row.addWidget(tool)
    row.addWidget(bar)
    both.resize(200, 500)
    both.show()
    tool.show_histogram(histogram(IMAGE.ravel(), look.levels(), scale))

    def from_the_top(part: Any, count: float) -> float:
        return float(part.row(count) + part.mapTo(both, qt.QPoint(0, 0)).y())

    for count in (80.0, 100.0, 130.0, *bar.ticks()):
        assert from_the_top(bar, count) == pytest.approx(from_the_top(tool.bins, count))
    assert {80.0, 130.0} < set(bar.ticks())
    image = bar.grab().toImage()
    first, *_, last = (qt.QColor(*colour).name() for colour in look.colormap.getNColors(256))
    at = [image.pixelColor(12, round(bar.row(count))).name() for count in (70, 100, 140)]
    assert (at[0], at[2]) == (first, last) and at[1] not in (first, last)

    tool.hide()

    assert (bar.ticks()[-1], bar.ticks()[0]) == (80, 130), "the bar alone has no room for what is beyond"
    image = bar.grab().toImage()
    assert bar.row(130) < 20 and bar.row(80) > bar.height() - 20
    assert image.pixelColor(12, round(bar.row(130)) + 40).name() != last


def test_the_window_draws_with_what_is_chosen(
    qtbot: Any, receiver: StandIn, show: Callable[..., Viewer]
) -> None:
    viewer = show(receiver.url)
    receiver.frame(IMAGE, 0)
    qtbot.waitUntil(lambda: viewer.drawn() == 1, timeout=DEADLINE)
    assert viewer.levels.bins.histogram() is not None
    assert viewer.levels.isVisible()
    viewer.controls.percentiles.setCurrentText("0 – 100 %")
    qtbot.waitUntil(lambda: viewer.plot.look.levels() == (IMAGE.min(), IMAGE.max()), timeout=DEADLINE)
    for scale in Scale:
        viewer.controls.scale.setCurrentText(scale.label)
        qtbot.waitUntil(viewer.plot.is_current, timeout=DEADLINE)
        assert viewer.plot.look.scale() is scale
    assert not viewer.controls.log_colours.isChecked()
    viewer.controls.reduction.setCurrentText("mean")
    assert viewer.plot.look.reduction() is Reduction.MEAN
    viewer.show_histogram.trigger()
    assert not viewer.levels.isVisible()


def test_a_picture_that_was_begun_before_another_scale_was_chosen_sets_no_levels_that_it_cannot_have() -> (
    None
):
    look = Look()
    look.set_scale(Scale.LOG)
    look.follow(Levels(0.0, 1.0))  # of an empty frame in linear colours, which comes late
    assert look.levels() == (0.1, 1.0)
    look.set_scale(Scale.SQRT)
    look.follow(Levels(-4.0, 1.0))
    assert look.levels() == (0.0, 1.0)


def test_colours_scale_and_tools_are_remembered_for_each_detector(
    qtbot: Any, receiver: StandIn, show: Callable[..., Viewer]
) -> None:
    viewer = show(receiver.url)
    qtbot.waitUntil(lambda: viewer.banner.title() == "IDLE", timeout=DEADLINE)
    look = viewer.plot.look
    look.set_scale(Scale.SQRT)
    look.set_colours("fire")
    look.set_percentiles(Percentiles(5, 95))
    look.set_mask_shown(False)
    look.set_levels(7, 70)
    viewer.figures.trigger()
    viewer.show_histogram.trigger()
    viewer.resize(1100, 700)
    qtbot.waitUntil(lambda: viewer.width() == 1100, timeout=DEADLINE)
    viewer.close()

    again = show(receiver.url)
    qtbot.waitUntil(lambda: again.banner.title() == "IDLE", timeout=DEADLINE)
    look = again.plot.look
    assert (look.scale(), look.colours(), look.percentiles()) == (Scale.SQRT, "fire", (5, 95))
    assert (look.levels(), look.is_autoscale(), look.is_mask_shown()) == ((7, 70), False, False)
    assert not again.figures.isChecked() and not again.show_histogram.isChecked()
    assert (again.width(), again.height()) == (1100, 700)

    compact = LiveView(compact=True)
    qtbot.addWidget(compact)
    compact.set_receiver(receiver.url)
    compact.start()
    qtbot.waitUntil(lambda: compact.plot.look.scale() is Scale.SQRT, timeout=DEADLINE)
    assert not compact.figures.isChecked(), "tools are those of its form"
    compact.stop()

    receiver.say(detector="another")
    other = show(receiver.url)
    qtbot.waitUntil(lambda: other.windowTitle().startswith("another"), timeout=DEADLINE)
    assert (other.plot.look.scale(), other.plot.look.colours()) == (Scale.LIN, "viridis")


def test_a_size_that_was_kept_at_a_larger_screen_fits_on_this_one(
    qtbot: Any, receiver: StandIn, show: Callable[..., Viewer]
) -> None:
    viewer = show(receiver.url)
    qtbot.waitUntil(lambda: viewer.banner.title() == "IDLE", timeout=DEADLINE)
    first, room = viewer.size(), viewer.screen().availableSize()
    viewer.resize(room.width() + 2000, room.height() + 1500)
    qtbot.waitUntil(lambda: viewer.width() == room.width() + 2000, timeout=DEADLINE)
    viewer.close()

    again = show(receiver.url)
    with qtbot.waitSignal(again.restored, timeout=DEADLINE):
        pass
    assert again.size() == room.expandedTo(first)


def test_what_the_command_asks_for_counts_more_than_what_is_remembered(
    qtbot: Any, receiver: StandIn, show: Callable[..., Viewer]
) -> None:
    viewer = show(receiver.url)
    qtbot.waitUntil(lambda: viewer.banner.title() == "IDLE", timeout=DEADLINE)
    viewer.plot.look.set_colours("fire")
    viewer.close()
    again = show(receiver.url, colours="gray", logarithmic=True)
    with qtbot.waitSignal(again.restored, timeout=DEADLINE):
        pass
    assert (again.plot.look.colours(), again.plot.look.scale()) == ("gray", Scale.LOG)


def test_the_next_frame_waits_for_an_idle_loop_as_long_as_the_last_one_took(qtbot: Any) -> None:
    called: list[float] = []
    idle = Idle(lambda: called.append(time.monotonic()))
    began = time.monotonic()
    idle.wait(0.15)
    qtbot.waitUntil(lambda: bool(called), timeout=DEADLINE)
    assert called[0] - began >= 0.15


def test_a_loop_that_is_never_idle_does_not_wait_for_ever(qtbot: Any) -> None:
    called: list[bool] = []
    busy = qt.QTimer()
    busy.timeout.connect(lambda: time.sleep(0.05))  # work
    busy.start(0)
    idle = Idle(lambda: called.append(True))
    idle.wait(0.0)
    qtbot.waitUntil(lambda: bool(called), timeout=DEADLINE)
    busy.stop()


def test_a_source_without_images_says_what_it_has() -> None:
    found = Content(curves=("spectrum",), scalars=("temperature", "current"))
    assert (
        found.sentence()
        == "There are no images here, but curves: spectrum; one value per frame: temperature, current."
    )
    assert IMAGES.images
