"""The plot of the viewer: images, spectra as curves, and colours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock.gui.live.drawing.levels import Scale
from penstock.gui.live.plot.image_plot import ImagePlot
from penstock.gui.live.regions import model
from penstock.gui.live.regions.model import colour
from penstock.gui.live.regions.overlay import Overlay
from penstock.receiver.client import LastFrame
from penstock.receiver.models import Rectangle

IMAGE = np.arange(4800, dtype=np.int32).reshape(60, 80)
SPECTRUM = np.bincount([100] * 500 + [300] * 20 + [511], minlength=512).astype("uint32")
COLOURS = np.zeros((60, 80, 3), "uint16")
DEADLINE = 10_000
"""Milliseconds."""
COLOURS[:30, :, 0], COLOURS[30:, :, 2] = 1000, 500


def frame(array: np.ndarray[Any, Any], interpretation: str, **keys: Any) -> LastFrame:
    return LastFrame(array, 0, "a", 2, keys.pop("downsample", 1), interpretation=interpretation, **keys)


@pytest.fixture
def plot(qtbot: Any) -> Any:
    shown = ImagePlot()
    qtbot.addWidget(shown)
    shown.resize(600, 400)
    shown.show()
    yield shown
    shown.stop()


def show(qtbot: Any, plot: ImagePlot, shown: LastFrame) -> None:
    """Returns once it is on the screen."""
    with qtbot.waitSignal(plot.shown, timeout=DEADLINE, check_params_cb=lambda frame: frame is shown):
        plot.show_frame(shown)


def test_a_spectrum_is_a_curve_over_its_channels(qtbot: Any, plot: ImagePlot) -> None:
    show(qtbot, plot, frame(IMAGE, "image"))
    show(qtbot, plot, frame(SPECTRUM, "spectrum"))
    channels, counts = plot.getCurve("spectrum").getData(copy=False)[:2]
    np.testing.assert_array_equal(channels, np.arange(512))
    np.testing.assert_array_equal(counts, SPECTRUM)
    assert not plot.image().isVisible()
    assert plot.getGraphXLimits() == (-0.5, 511.5)
    assert plot.getGraphYLimits()[1] == pytest.approx(525.0), "the scale follows the counts"
    assert (plot.getXAxis().getLabel(), plot.getYAxis().getLabel()) == ("channel", "counts")
    found = plot.pixel_at(300.5, 400.0)
    assert found is not None
    assert (found.column, found.value) == (300, 20)


def test_of_a_part_of_a_spectrum_the_channels_are_those_of_the_whole(qtbot: Any, plot: ImagePlot) -> None:
    show(qtbot, plot, frame(SPECTRUM[100::4], "spectrum", x=100, downsample=4))
    channels = plot.getCurve("spectrum").getData(copy=False)[0]
    assert (channels[0], channels[1], channels[-1]) == (100, 104, 508)


def test_the_counts_of_a_spectrum_can_be_logarithmic(qtbot: Any, plot: ImagePlot) -> None:
    show(qtbot, plot, frame(SPECTRUM, "spectrum"))
    plot.look.set_scale(Scale.LOG)
    assert plot.getYAxis().getScale() == "log"
    assert plot.getGraphYLimits() == pytest.approx((1.0, 525.0))
    show(qtbot, plot, frame(IMAGE, "image"))
    assert plot.getYAxis().getScale() == "linear", "the rows of an image are not"


def test_colours_are_shown_as_such(qtbot: Any, plot: ImagePlot) -> None:
    show(qtbot, plot, frame(COLOURS, "rgba-image"))
    drawn = plot.getImage("picture").getData(copy=False)
    assert drawn[0, 0].tolist() == [255, 0, 0, 255]
    assert drawn[-1, -1].tolist() == [0, 0, 127, 255]
    assert plot.frame_extent() == (80, 60)


def test_a_frame_that_is_made_again_before_it_was_drawn_is_shown_all_the_same(
    qtbot: Any, plot: ImagePlot
) -> None:
    for array in (IMAGE, IMAGE + 1):
        shown = frame(array, "image")
        with (
            qtbot.assertNotEmitted(plot.treated),
            qtbot.waitSignal(plot.shown, timeout=DEADLINE, check_params_cb=lambda one: one is shown),  # noqa: B023
        ):
            plot.show_frame(shown)
            plot.make_again()
            plot.make_again()
    with qtbot.assertNotEmitted(plot.shown), qtbot.waitSignal(plot.treated, timeout=DEADLINE):
        plot.make_again()
        plot.make_again()


def test_an_image_after_them_is_an_image_again(qtbot: Any, plot: ImagePlot) -> None:
    for before in (frame(SPECTRUM, "spectrum"), frame(COLOURS, "rgba-image")):
        show(qtbot, plot, before)
        show(qtbot, plot, frame(IMAGE, "image"))
        assert plot.image().isVisible()
        assert not any(item.isVisible() for item in plot.getItems() if item.getName() == "spectrum")
        assert plot.getYAxis().isInverted()
        (left, right), (top, bottom) = plot.getGraphXLimits(), plot.getGraphYLimits()
        assert left <= 0 and right >= 80 and top <= 0 and bottom >= 60


@pytest.mark.parametrize("known", ["before the first frame", "after it"])
def test_a_region_is_drawn_over_the_picture_and_stays_there(qtbot: Any, plot: ImagePlot, known: str) -> None:
    overlay = Overlay(plot)
    rows = model.rows([], {"peak": Rectangle(x=20, y=20, width=30, height=20)})
    if known == "before the first frame":
        overlay.show_rows(rows, editable=False)
    show(qtbot, plot, frame(IMAGE, "image"))
    if known == "after it":
        overlay.show_rows(rows, editable=False)
    show(qtbot, plot, frame(IMAGE + 1, "image"))

    def colours() -> set[str]:
        """Along its left edge, which is dashed."""
        (x, top), (_, bottom) = plot.dataToPixel(20, 22), plot.dataToPixel(20, 38)
        drawn, rows = plot.grab().toImage(), range(int(top), int(bottom))
        return {drawn.pixelColor(int(x) + aside, y).name() for aside in (-1, 0, 1) for y in rows}

    qtbot.waitUntil(lambda: colour(0) in colours(), timeout=DEADLINE)


@pytest.mark.parametrize("dtype", ["bool", "float16", ">u2"])
def test_images_of_every_type_have_levels(qtbot: Any, plot: ImagePlot, dtype: str) -> None:
    show(qtbot, plot, frame((IMAGE % 2).astype(dtype), "image"))
    assert plot.look.levels() == (0.0, 1.0)
    plot.grab()
    found = plot.pixel_at(1.5, 0.5)
    assert found is not None
    assert found.value == 1
