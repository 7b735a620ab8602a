"""Levels are those of the drawn picture: of the whole frame as this window draws it, wherever one zooms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("silx.gui.plot", reason="the viewer needs the extra gui")

from penstock.gui.live.drawing import levels as levels_module
from penstock.gui.live.drawing import whole as whole_module
from penstock.gui.live.drawing.blocks import Reduction, Span, all_of
from penstock.gui.live.drawing.levels import Levels, Percentiles, Scale
from penstock.gui.live.drawing.picture import Picture, Port, Style, draw
from penstock.gui.live.drawing.whole import Whole
from penstock.gui.live.memory import Memory
from penstock.gui.live.plot.image_plot import ImagePlot
from penstock.gui.live.view import LiveView
from penstock.receiver.client import LastFrame

DEADLINE = 20_000
"""Milliseconds."""
HOME = (4, 5)
"""Rows and columns of the screen: blocks of 3 × 2 pixels."""
PARTS = {
    "whole": Port(all_of(12, 4), all_of(10, 5)),
    "zoomed": Port(Span(3, 6, 0, 3, 3.0, 1.0), Span(0, 4, 0, 4, 0.0, 1.0)),
    "far": Port(Span(0, 12, 7, 2, 0.0, 6.0), Span(0, 10, 7, 2, 0.0, 5.0)),
    "nothing": None,
}


def counts() -> np.ndarray[Any, Any]:
    """Of each block one pixel has its number, from 1 to 20, and all others have 0."""
    image = np.zeros((12, 10), np.uint16)
    image[1::3, 1::2] = np.arange(1, 21).reshape(HOME)
    return image


def frame(array: np.ndarray[Any, Any], **keys: Any) -> LastFrame:
    return LastFrame(array, 0, "a", 1, 1, **keys)


def style(percentiles: tuple[float, float], reduction: Reduction = Reduction.GREATEST) -> Style:
    return Style(
        table=np.zeros((256, 4), np.uint8), scale=Scale.LIN, levels=Levels(0.0, 1.0),
        percentiles=Percentiles(*percentiles), reduction=reduction, marks={},
    )  # fmt: skip


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize(
    ("reduction", "percentiles", "expected"),
    [
        (Reduction.GREATEST, (10, 90), (2, 19)),  # of 20 blocks 18 are below 19
        (Reduction.GREATEST, (0, 100), (0, 20)),
        (Reduction.GREATEST, (50, 100), (10, 20)),
        (Reduction.MEAN, (10, 90), (2 / 6, 18 / 6)),  # of six pixels one has a count
        (Reduction.MEAN, (10, 100), (2 / 6, 20)),  # the greatest pixel, whatever is drawn
    ],
)
def test_levels_are_percentiles_of_the_blocks_of_the_whole_frame_whatever_is_in_sight(
    part: str, reduction: Reduction, percentiles: tuple[float, float], expected: tuple[float, float]
) -> None:
    drawn = draw(Whole(frame(counts())), PARTS[part], style(percentiles, reduction), HOME)
    assert drawn.levels == pytest.approx(expected)
    assert drawn.histogram is not None
    assert drawn.histogram.counts[0] >= 100, "it is one of pixels: nearly all have none"


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)])
def test_an_image_without_pixels_is_an_empty_picture(shape: tuple[int, int]) -> None:
    drawn = draw(Whole(frame(np.zeros(shape))), None, style((0, 100)), HOME)
    assert drawn.colours.size == 0 and drawn.histogram is None and drawn.port is None


def test_pixels_without_a_value_and_saturated_ones_have_no_part_in_the_levels() -> None:
    image = counts()
    image[0, 0], image[9, 8], image[10, 8] = 65_535, 60_000, 59_999
    drawn = draw(Whole(frame(image, saturation=60_000.0)), None, style((0, 100)), HOME)
    assert drawn.levels == (0, 59_999), "beside a saturated one, in its block, is the greatest that is good"
    drawn = draw(Whole(frame(image, saturation=60_000.0)), None, style((10, 90)), HOME)
    assert drawn.levels == (2, 19), "the block with the saturated one, the last, is left out: 18 of 19"


def test_the_frame_is_reduced_once_where_all_of_it_is_in_sight(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[tuple[int, int]] = []
    reduce = whole_module.reduce

    def noted(image: Any, rows: Span, columns: Span, **keys: Any) -> Any:
        done.append((rows.size, columns.size))
        return reduce(image, rows, columns, **keys)

    monkeypatch.setattr(whole_module, "reduce", noted)
    whole = Whole(frame(counts()))
    draw(whole, PARTS["whole"], style((10, 90)), HOME)
    assert done == [HOME]
    draw(whole, PARTS["whole"], style((5, 95)), HOME)
    assert done == [HOME], "nor again for other colours"
    draw(whole, PARTS["zoomed"], style((5, 95)), HOME)
    assert done == [HOME, (3, 4)], "nor for another part of it"


@pytest.mark.parametrize("part", PARTS)
def test_of_a_large_frame_levels_are_those_of_some_rows_of_blocks_whatever_is_in_sight(
    part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(levels_module, "LEVEL_PIXELS", 40)  # of 120 pixels, so that it is each third row
    monkeypatch.setattr(levels_module, "LEVEL_ROWS", 1)
    done: list[int] = []
    reduce = whole_module.reduce

    def noted(image: Any, rows: Span, columns: Span, **keys: Any) -> Any:
        if rows.is_all(12) and columns.is_all(10):
            done.append(keys["every"])
        return reduce(image, rows, columns, **keys)

    monkeypatch.setattr(whole_module, "reduce", noted)
    whole = Whole(frame(counts()))
    drawn = draw(whole, PARTS[part], style((20, 80)), HOME)
    assert drawn.levels == (6, 10), "the second row of blocks has 6 to 10, of which four are below 10"
    assert draw(whole, PARTS[part], style((0, 100)), HOME).levels == (0, 20), "of all pixels"
    assert drawn.extremes == ((0, 20), False)
    expected = {"whole": [1], "far": [1, 3]}.get(part, [3])  # far off all is in sight too, in other blocks
    assert done == expected, "once, and all of it only where all is in sight"

    image = counts()
    image[3:6] = 65_535  # no value: the others have 1 to 5 and 11 to 20
    image[11, 9] = 60_000
    drawn = draw(Whole(frame(image, saturation=60_000.0)), PARTS[part], style((10, 90)), HOME)
    assert drawn.levels == (2, 19), "of all blocks, where these rows have none: 12 of 14 are below 19"
    assert drawn.extremes == ((0, 20), True)


@pytest.fixture
def plot(qtbot: Any) -> Any:
    shown = ImagePlot()
    qtbot.addWidget(shown)
    shown.show()
    yield shown
    shown.stop()


def drawn_of(plot: ImagePlot) -> Picture:
    picture = plot._picture.picture()
    assert picture is not None
    return picture


def show(qtbot: Any, plot: ImagePlot, shown: LastFrame) -> None:
    """Returns once it is on the screen, as large as the window is."""
    with qtbot.waitSignal(plot.shown, timeout=DEADLINE, check_params_cb=lambda frame: frame is shown):
        plot.show_frame(shown)
    qtbot.waitUntil(plot.is_current, timeout=DEADLINE)


@pytest.mark.parametrize("keeps_ratio", [True, False])
@pytest.mark.parametrize("shape", [(2167, 2070), (514, 1030), (300, 4000), (90, 90)])
def test_it_is_known_how_large_the_whole_frame_would_be(
    qtbot: Any, plot: ImagePlot, shape: tuple[int, int], keeps_ratio: bool
) -> None:
    plot.setKeepDataAspectRatio(keeps_ratio)
    plot.show_frame(frame(np.zeros(shape, np.uint8)))
    for width, height in ((374, 331), (374, 480), (522, 777), (1003, 640)):
        plot.resize(width, height)
        qtbot.waitUntil(lambda width=width: plot.width() == width, timeout=DEADLINE)
        plot.resetZoom()
        port = plot.port()
        assert port is not None
        assert plot.home() == (port.rows.size, port.columns.size)
        plot.setLimits(20, 60, 10, 40)
        assert plot.home() == (port.rows.size, port.columns.size), "where one has zoomed in"


def test_noise_is_not_the_brightest_colour_and_levels_stay_where_one_zooms_in(
    qtbot: Any, plot: ImagePlot
) -> None:
    image = np.random.default_rng(3).poisson(2, (2181, 2074)).astype(np.uint32)
    image[1000, 1300] = 900
    plot.resize(460, 420)  # some 40 pixels share one of the screen, as of 16 million in a large window
    show(qtbot, plot, frame(image))
    levels, colours = plot.look.levels(), drawn_of(plot).colours
    brightest = (colours == plot.look.colormap.getNColors(256)[-1]).all(-1)
    assert 0 < brightest.mean() <= 0.02
    assert image.size / brightest.size > 30

    plot.setLimits(200, 300, 200, 280)
    qtbot.waitUntil(plot.is_current, timeout=DEADLINE)
    assert plot.look.levels() == levels

    plot.take_levels()
    assert not plot.look.is_autoscale()
    assert plot.look.levels() == (0, 9), "with a mean of 2, 99.89 % of pixels are below 8, 99.98 % below 9"
    show(qtbot, plot, frame(image + 5))
    assert plot.look.levels() == (0, 9), "they stay"

    plot.look.set_autoscale(True)
    qtbot.waitUntil(lambda: plot.look.levels().low == levels.low + 5, timeout=DEADLINE)
    plot.look.set_percentiles(Percentiles(0, 100))
    qtbot.waitUntil(lambda: plot.look.levels() == (5, 905), timeout=DEADLINE)


def images(path: Path, high: int) -> Path:
    Image.fromarray(np.full((40, 50), high, np.uint16)).save(path)
    return path


@pytest.fixture
def view(qtbot: Any, tmp_path: Path) -> Any:
    shown = LiveView(memory=Memory("window"))
    qtbot.addWidget(shown)
    shown.resize(900, 700)
    shown.show()
    yield shown
    shown.stop()


def open_file(qtbot: Any, view: LiveView, path: Path) -> None:
    with qtbot.waitSignal(view.plot.shown, timeout=DEADLINE):
        view.open_file(str(path))
    qtbot.waitUntil(lambda: view.frame_on_show() is not None and view.plot.is_current(), timeout=DEADLINE)


def named(path: Path, value: int) -> Path:
    """A file of another program, whose images are called "data"."""
    import h5py

    with h5py.File(path, "w") as file:
        data = file.create_group("entry/measurement")
        data.attrs["NX_class"], data.attrs["signal"] = "NXdata", "data"
        data["data"] = np.full((1, 40, 50), value, np.int32)
    return path


@pytest.mark.parametrize("make", [named, images], ids=["called data", "without a name"])
def test_levels_of_one_file_are_not_those_of_another(
    qtbot: Any, view: LiveView, tmp_path: Path, make: Any
) -> None:
    suffix = ".h5" if make is named else ".tif"
    one, other = make(tmp_path / f"one{suffix}", 7), make(tmp_path / f"other{suffix}", 7000)
    open_file(qtbot, view, one)
    view.plot.look.set_levels(3, 30)
    open_file(qtbot, view, other)
    assert view.plot.look.is_autoscale()
    qtbot.waitUntil(lambda: view.plot.look.levels() == (7000, 7001), timeout=DEADLINE)


def test_levels_of_a_file_are_remembered_for_this_file(qtbot: Any, view: LiveView, tmp_path: Path) -> None:
    one = named(tmp_path / "one.h5", 7)
    open_file(qtbot, view, one)
    view.plot.look.set_levels(3, 30)
    for path, expected in ((one, (3, 30)), (named(tmp_path / "other.h5", 7000), (7000, 7001))):
        again = LiveView(memory=Memory("window"))
        qtbot.addWidget(again)
        again.show()
        open_file(qtbot, again, path)
        qtbot.waitUntil(
            lambda again=again, expected=expected: again.plot.look.levels() == expected, timeout=DEADLINE
        )
        again.stop()


def test_the_window_says_the_least_and_the_greatest_count_and_has_the_key(
    qtbot: Any, view: LiveView, tmp_path: Path
) -> None:
    image = np.full((900, 1200), 3, np.uint16)
    image[1, 1], image[800, 1001] = 0, 1900
    Image.fromarray(image).save(tmp_path / "a.tif")
    open_file(qtbot, view, tmp_path / "a.tif")
    value = lambda: view.readings.value("Frame on show", "Counts")  # noqa: E731
    qtbot.waitUntil(lambda: value() == "0 to 1,900", timeout=DEADLINE)
    assert view.levels.bins.beyond() == ("▴ 1,900", "▾ 0")
    assert view.levels_in_sight in view.controls.more.menu().actions()
    view.plot.setLimits(600, 640, 300, 320)
    qtbot.waitUntil(view.plot.is_current, timeout=DEADLINE)
    view.levels_in_sight.trigger()
    assert view.plot.look.levels() == (3, 4) and not view.plot.look.is_autoscale()
    view.controls.autoscale.trigger()  # still zoomed in, where the next pixel is not in sight
    image[800, 1002] = 65_535
    Image.fromarray(image).save(tmp_path / "b.tif")
    open_file(qtbot, view, tmp_path / "b.tif")
    qtbot.waitUntil(lambda: value() == "0 to saturated", timeout=DEADLINE)
