"""The plot of the viewer: images, spectra as curves, and colours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock.gui.live.image_plot import ImagePlot
from penstock.receiver.client import LastFrame

IMAGE = np.arange(4800, dtype=np.int32).reshape(60, 80)
SPECTRUM = np.bincount([100] * 500 + [300] * 20 + [511], minlength=512).astype("uint32")
COLOURS = np.zeros((60, 80, 3), "uint16")
COLOURS[:30, :, 0], COLOURS[30:, :, 2] = 1000, 500


def frame(array: np.ndarray[Any, Any], interpretation: str, **keys: Any) -> LastFrame:
    return LastFrame(array, 0, "a", 2, keys.pop("downsample", 1), interpretation=interpretation, **keys)


@pytest.fixture
def plot(qtbot: Any) -> Any:
    shown = ImagePlot()
    qtbot.addWidget(shown)
    shown.resize(600, 400)
    shown.show()
    return shown


def test_a_spectrum_is_a_curve_over_its_channels(plot: ImagePlot) -> None:
    plot.show_frame(frame(IMAGE, "image"))
    plot.show_frame(frame(SPECTRUM, "spectrum"))
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


def test_of_a_part_of_a_spectrum_the_channels_are_those_of_the_whole(plot: ImagePlot) -> None:
    plot.show_frame(frame(SPECTRUM[100::4], "spectrum", x=100, downsample=4))
    channels = plot.getCurve("spectrum").getData(copy=False)[0]
    assert (channels[0], channels[1], channels[-1]) == (100, 104, 508)


def test_the_counts_of_a_spectrum_can_be_logarithmic(plot: ImagePlot) -> None:
    plot.show_frame(frame(SPECTRUM, "spectrum"))
    plot.set_logarithmic(True)
    assert plot.getYAxis().getScale() == "log"
    assert plot.getGraphYLimits() == pytest.approx((1.0, 525.0))
    plot.show_frame(frame(IMAGE, "image"))
    assert plot.getYAxis().getScale() == "linear", "the rows of an image are not"


def test_colours_are_shown_as_such(plot: ImagePlot) -> None:
    plot.show_frame(frame(COLOURS, "rgba-image"))
    shown = plot.getImage("colours").getData(copy=False)
    assert shown[0, 0].tolist() == [255, 0, 0]
    assert shown[59, 79].tolist() == [0, 0, 127]
    assert plot.frame_extent() == (80, 60)


def test_an_image_after_them_is_an_image_again(plot: ImagePlot) -> None:
    for before in (frame(SPECTRUM, "spectrum"), frame(COLOURS, "rgba-image")):
        plot.show_frame(before)
        plot.show_frame(frame(IMAGE, "image"))
        assert plot.image().isVisible()
        assert not any(
            item.isVisible() for item in plot.getItems() if item.getName() in ("spectrum", "colours")
        )
        assert plot.getYAxis().isInverted()
        (left, right), (top, bottom) = plot.getGraphXLimits(), plot.getGraphYLimits()
        assert left <= 0 and right >= 80 and top <= 0 and bottom >= 60


@pytest.mark.parametrize("dtype", ["bool", "float16", ">u2"])
def test_images_of_every_type_have_levels(plot: ImagePlot, dtype: str) -> None:
    plot.show_frame(frame((IMAGE % 2).astype(dtype), "image"))
    assert plot.colours().getVRange() == (0.0, 1.0)
    plot.grab()
    found = plot.pixel_at(1.5, 0.5)
    assert found is not None
    assert found.value == 1
