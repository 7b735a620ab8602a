"""No spot vanishes: each single bright pixel of a large frame is to be seen in the window's own pixels."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from silx.gui import qt

from penstock.gui import theme
from penstock.gui.live.drawing.blocks import Reduction
from penstock.gui.live.drawing.levels import Scale
from penstock.gui.live.plot.image_plot import ImagePlot
from penstock.gui.live.view import LiveView, Viewer
from penstock.receiver.client import LastFrame
from tests.gui.live.spots import NO_COUNT, SHAPE, scene, seen
from tests.gui.live.stand_in import StandIn

DEADLINE = 20_000
"""Milliseconds."""


@pytest.fixture(scope="module")
def spots() -> Any:
    return scene()


@pytest.fixture
def plot(qtbot: Any) -> Iterator[ImagePlot]:
    shown = ImagePlot()
    qtbot.addWidget(shown)
    shown.look.set_levels(0, 4000)
    yield shown
    shown.stop()


def wait_drawn(qtbot: Any, plot: ImagePlot) -> None:
    """Until what is in sight now is on the screen, and the screen has its size."""
    qtbot.waitUntil(lambda: plot.isVisible() and plot.is_current(), timeout=DEADLINE)
    qt.QApplication.processEvents()
    qtbot.waitUntil(plot.is_current, timeout=DEADLINE)


def put_on(qtbot: Any, plot: ImagePlot, frame: LastFrame, size: tuple[int, int]) -> None:
    plot.resize(*size)
    plot.show()
    with qtbot.waitSignal(plot.shown, timeout=DEADLINE):
        plot.show_frame(frame)
    wait_drawn(qtbot, plot)


@pytest.mark.parametrize("dtype", NO_COUNT)
def test_every_spot_is_seen_beside_gaps_and_dead_pixels_of_each_type(
    qtbot: Any, plot: ImagePlot, dtype: str
) -> None:
    what = scene(dtype)
    put_on(qtbot, plot, what.frame, (611, 432))
    assert seen(plot, what.spots) == len(what.spots)


def test_every_spot_is_seen_at_every_size_of_the_window(qtbot: Any, plot: ImagePlot, spots: Any) -> None:
    put_on(qtbot, plot, spots.frame, (320, 240))
    found = {}
    for size in ((321, 240), (400, 301), (533, 702), (640, 480), (777, 555), (901, 900), (1600, 1000)):
        plot.resize(*size)
        wait_drawn(qtbot, plot)
        found[size] = seen(plot, spots.spots)
    assert found == dict.fromkeys(found, len(spots.spots))


@pytest.mark.parametrize("scale", [Scale.LOG, Scale.SQRT, Scale.ASINH])
def test_every_spot_is_seen_on_every_scale(qtbot: Any, plot: ImagePlot, spots: Any, scale: Scale) -> None:
    plot.look.set_scale(scale)
    put_on(qtbot, plot, spots.frame, (500, 380))
    assert seen(plot, spots.spots) == len(spots.spots)


def test_a_spot_that_is_averaged_away_is_not_counted(qtbot: Any, plot: ImagePlot, spots: Any) -> None:
    plot.look.set_reduction(Reduction.MEAN)
    put_on(qtbot, plot, spots.frame, (500, 380))
    # Those with no count around them have nobody to be averaged with.
    assert seen(plot, spots.spots) < len(spots.spots) / 2


def test_what_is_zoomed_into_is_seen_too_down_to_the_pixels_themselves(
    qtbot: Any, plot: ImagePlot, spots: Any
) -> None:
    put_on(qtbot, plot, spots.frame, (640, 480))
    for width in (1500, 700, 90):
        plot.setLimits(300, 300 + width, 210, 210 + 0.75 * width)
        wait_drawn(qtbot, plot)
        (left, right), (top, bottom) = plot.getGraphXLimits(), plot.getGraphYLimits()
        inside = [
            (row, column)
            for row, column in spots.spots
            if top + 1 < row < bottom - 2 and left + 1 < column < right - 2
        ]
        assert inside
        assert seen(plot, inside) == len(inside)


def test_every_spot_is_seen_full_screen_and_in_a_panel(
    qtbot: Any, receiver: StandIn, show: Callable[..., Viewer], spots: Any
) -> None:
    receiver.run()
    receiver.frame(spots.frame.array, 7)
    viewer = show(receiver.url)
    viewer.plot.look.set_levels(0, 4000)
    compact = LiveView(compact=True)
    qtbot.addWidget(compact)
    compact.resize(820, 370)  # of a panel of 1280 x 800
    compact.plot.look.set_levels(0, 4000)
    compact.set_receiver(receiver.url)
    compact.show()
    viewer.resize(1920, 1080)
    for view in (viewer, compact):
        qtbot.waitUntil(lambda view=view: view.drawn() > 0, timeout=DEADLINE)
        wait_drawn(qtbot, view.plot)
        assert seen(view.plot, spots.spots) == len(spots.spots)
    compact.stop()


@pytest.mark.slow
@pytest.mark.parametrize("ratio", ["1.5", "2"])
def test_a_screen_with_more_pixels_shows_them_all(ratio: str) -> None:
    environment = {**os.environ, "QT_SCALE_FACTOR": ratio, "QT_QPA_PLATFORM": "offscreen"}
    argv = [sys.executable, "-P", "-c", "from tests.gui.live.spots import main; main()"]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (os.getcwd(), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=60, check=True)
    found, there, taken = done.stdout.split()
    assert (found, float(taken)) == (there, float(ratio))


def test_a_saturated_pixel_marks_its_block_and_one_without_a_count_only_an_empty_one(
    qtbot: Any, plot: ImagePlot
) -> None:
    image = np.full(SHAPE, 3, np.uint32)
    image[1000, 1000] = 1_000_000  # saturated
    image[300:310, 300:310] = 2**32 - 1
    image[600, 600] = 2**32 - 1  # alone in its block
    put_on(qtbot, plot, LastFrame(image, 0, "a", 2, 1, saturation=500_000), (500, 500))
    grabbed = plot.grab().toImage()

    def colours(row: int, column: int) -> set[str]:
        x, y = (int(place) for place in plot.dataToPixel(column + 0.5, row + 0.5))
        return {grabbed.pixelColor(x + dx, y + dy).name() for dx in (-1, 0, 1) for dy in (-1, 0, 1)}

    assert theme.current().saturated_pixel in colours(1000, 1000)
    assert theme.current().invalid_pixel in colours(305, 305)
    assert theme.current().invalid_pixel not in colours(600, 600)


def test_row_0_is_on_top(qtbot: Any, plot: ImagePlot) -> None:
    image = np.zeros(SHAPE, np.uint32)
    image[0] = image[:, 0] = 5000
    put_on(qtbot, plot, LastFrame(image, 0, "a", 2, 1), (500, 500))
    top, bottom = plot.dataToPixel(1000, 0)[1], plot.dataToPixel(1000, SHAPE[0])[1]
    assert top < bottom
    assert seen(plot, [(0, 1000), (1000, 0), (2069, 0)]) == 3
    assert seen(plot, [(2069, 1000), (1000, 2166)]) == 0
