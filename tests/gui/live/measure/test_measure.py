"""Figures of the frame and of a rectangle in it, as the user draws and reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from silx.gui import qt

from penstock.cli.main import main
from penstock.gui import theme
from penstock.gui.live.measure.counts.counting import BLOCKS, COLOURS, MASKED, UNMASKED
from penstock.gui.live.measure.counts.figures_tab import SOME, UNCOUNTED
from penstock.gui.live.regions.model import number
from penstock.gui.live.sources.feed import Feed
from penstock.gui.live.sources.file_source import FileSource
from penstock.gui.live.view import LiveView, Viewer
from penstock.receiver.models import Rectangle
from penstock.receiver.validity.pixels import Flag
from tests.gui.live.stand_in import StandIn
from tests.receiver.processes import DEADLINE as SECONDS
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer, pixels

DEADLINE = 10_000
IMAGE = np.arange(4800, dtype=np.int32).reshape(60, 80)
PLACE = Rectangle(x=20, y=10, width=30, height=20)
PART = IMAGE[10:30, 20:50]


def measured(qtbot: Any, receiver: StandIn, show: Callable[..., Viewer], image: Any = IMAGE) -> Viewer:
    """A viewer with its measuring tools, and the first frame."""
    viewer = show(receiver.url)
    viewer.show_measure.trigger()
    receiver.frame(image, 0, saturation=4000)
    qtbot.waitUntil(lambda: viewer.drawn() == 1, timeout=DEADLINE)
    return viewer


def drag(qtbot: Any, viewer: LiveView, first: tuple[float, float], last: tuple[float, float]) -> None:
    """Press, move and release in the picture; places are in detector pixels."""
    canvas = viewer.plot.getWidgetHandle()
    start, end = (
        qt.QPoint(*(round(at) for at in viewer.plot.dataToPixel(*place))) for place in (first, last)
    )
    qtbot.mousePress(canvas, qt.Qt.LeftButton, pos=start)
    move = qt.QMouseEvent(
        qt.QEvent.MouseMove, qt.QPointF(end), qt.Qt.NoButton, qt.Qt.LeftButton, qt.Qt.NoModifier
    )
    qt.QApplication.sendEvent(canvas, move)
    qtbot.mouseRelease(canvas, qt.Qt.LeftButton, pos=end)


def test_figures_of_the_frame_are_there_before_any_series(
    qtbot: Any, receiver: StandIn, show: Callable[..., Viewer]
) -> None:
    viewer = measured(qtbot, receiver, show)
    shown = viewer.measure.figures
    qtbot.waitUntil(lambda: shown.value("Frame", "Sum") == "11,517,600", timeout=DEADLINE)
    assert shown.value("Frame", "Mean") == "2,399.5"
    assert shown.value("Frame", "Maximum") == "4,799"
    assert shown.value("Frame", "At") == "row 59, column 79"
    assert shown.value("Frame", "Saturated") == "▲ 800"
    assert shown.value("Rectangle", "Sum") == "–"
    qtbot.waitUntil(lambda: shown.says() == UNMASKED, timeout=DEADLINE)


def test_a_rectangle_is_drawn_moved_and_removed_and_its_figures_follow(
    qtbot: Any, receiver: StandIn, show: Callable[..., Viewer]
) -> None:
    viewer = measured(qtbot, receiver, show)
    shown, tool = viewer.measure.figures, viewer.measure.rectangle
    viewer.draw_rectangle.trigger()
    assert shown.draw.isChecked()
    drag(qtbot, viewer, (10.2, 5.1), (40.3, 25.2))
    qtbot.waitUntil(lambda: tool.place() is not None, timeout=DEADLINE)
    place = tool.place()
    assert place is not None and not viewer.draw_rectangle.isChecked()
    part = IMAGE[place.y : place.y + place.height, place.x : place.x + place.width]
    qtbot.waitUntil(lambda: shown.value("Rectangle", "Sum") == number(int(part.sum())), timeout=DEADLINE)
    tool.shape().setGeometry(origin=(20.2, 9.8), size=(30, 20))
    qtbot.waitUntil(lambda: shown.value("Rectangle", "Sum") == number(int(PART.sum())), timeout=DEADLINE)
    assert tool.place() == PLACE
    receiver.frame(IMAGE + 1, 1)
    expected = number(int(PART.sum()) + PART.size)
    qtbot.waitUntil(lambda: shown.value("Rectangle", "Sum") == expected, timeout=DEADLINE)
    shown.remove.click()
    qtbot.waitUntil(lambda: shown.value("Rectangle", "Sum") == "–", timeout=DEADLINE)
    assert not shown.region.isEnabled() and not shown.to_centroid.isEnabled()


def test_masked_pixels_are_left_out_and_it_is_said(
    qtbot: Any, receiver: StandIn, show: Callable[..., Viewer]
) -> None:
    receiver.mask = np.zeros(IMAGE.shape, np.uint32)
    receiver.mask[10:12] = 1
    viewer = measured(qtbot, receiver, show)
    shown = viewer.measure.figures
    viewer.measure.rectangle.set_place(PLACE)
    expected = number(int(IMAGE[12:30, 20:50].sum()))
    qtbot.waitUntil(lambda: shown.value("Rectangle", "Sum") == expected, timeout=DEADLINE)
    assert (shown.value("Rectangle", "Pixels"), shown.value("Rectangle", "Left out")) == ("540", "60")
    assert shown.says() == MASKED


def test_what_the_series_mask_leaves_out_is_grey_takes_no_part_and_warns_of_nothing(
    qtbot: Any, receiver: StandIn, show: Callable[..., Viewer]
) -> None:
    image = IMAGE.copy()
    image[40:44, 40:44] = 9000  # hot pixels, which the mask knows
    receiver.mask = np.zeros(IMAGE.shape, np.uint32)
    receiver.mask[40:44, 40:44] = 16
    viewer = show(receiver.url)
    receiver.frame(image, 0, saturation=9000)

    def colour() -> str:
        x, y = viewer.plot.dataToPixel(42, 42)
        return str(viewer.plot.getWidgetHandle().grab().toImage().pixelColor(round(x), round(y)).name())

    qtbot.waitUntil(lambda: colour() == theme.current().invalid_pixel, timeout=DEADLINE)
    assert not viewer.measure.isVisible() and viewer.drawn() == 1
    qtbot.waitUntil(lambda: not viewer.measure.saturation.isVisible(), timeout=DEADLINE)
    assert viewer.plot.look.levels()[1] < 9000
    pixel = viewer.plot.pixel_at(42.5, 42.5)
    assert pixel is not None and (pixel.value, pixel.flag) == (9000, Flag.INVALID)

    image[0, 0] = 9000
    receiver.frame(image, 1, saturation=9000)
    qtbot.waitUntil(lambda: viewer.drawn() == 2, timeout=DEADLINE)
    viewer.measure.figures.allowed.setValue(0)
    words = "▲ 1 pixel is saturated: attenuate the beam or expose shorter"
    qtbot.waitUntil(lambda: viewer.measure.saturation.whole() == words, timeout=DEADLINE)


def test_a_picture_that_the_command_takes_has_the_mask(qtbot: Any, tmp_path: Path) -> None:
    file, picture = tmp_path / "hot.h5", tmp_path / "hot.png"
    with h5py.File(file, "w") as made:
        made["entry/instrument/detector/data"] = np.full((2, 60, 80), 7, np.uint16)
        made["entry/instrument/detector/pixel_mask"] = np.ones((60, 80), np.uint32)
    assert main(["view", str(file), "--screenshot", str(picture)]) == 0
    image = qt.QImage(str(picture))
    middle = image.pixelColor(400, image.height() // 2)
    assert middle.name() == theme.current().invalid_pixel


def test_of_a_frame_in_blocks_no_number_is_made_and_the_rectangle_is_fetched_whole(
    qtbot: Any, receiver: StandIn, show: Callable[..., Viewer]
) -> None:
    viewer = show(receiver.url)
    viewer.show_measure.trigger()
    viewer.controls.block.setValue(4)
    receiver.frame(IMAGE, 0)
    shown = viewer.measure.figures
    qtbot.waitUntil(lambda: viewer.drawn() >= 1 and viewer.plot.whole().is_reduced, timeout=DEADLINE)
    viewer.measure.rectangle.set_place(PLACE)
    qtbot.waitUntil(lambda: shown.value("Rectangle", "Sum") == number(int(PART.sum())), timeout=DEADLINE)
    assert shown.value("Rectangle", "At") == "row 29, column 49"
    assert shown.value("Frame", "Sum") == "–"
    assert shown.says() == f"▲ {BLOCKS}"


def test_a_block_that_the_mask_leaves_out_as_a_whole_is_no_saturated_one(
    qtbot: Any, receiver: StandIn, show: Callable[..., Viewer]
) -> None:
    image = np.zeros(IMAGE.shape, np.uint16)
    image[40:44, 40:44] = 65535  # in 16 bits it may be a count
    receiver.mask = np.zeros(IMAGE.shape, np.uint32)
    receiver.mask[40:44, 40:44] = 1
    viewer = show(receiver.url)
    viewer.controls.block.setValue(4)
    receiver.frame(image, 0)
    banner = viewer.measure.saturation
    qtbot.waitUntil(viewer.measure.facts.has_looked_for_mask, timeout=DEADLINE)
    qtbot.waitUntil(lambda: banner.whole() == UNCOUNTED, timeout=DEADLINE)
    found = viewer.plot.flags()
    assert found is not None and np.argwhere(found).tolist() == [[10, 10]]
    assert found[10, 10] == Flag.INVALID
    receiver.mask[43, 43] = 0
    receiver.run()
    receiver.frame(image, 1, series="other")
    qtbot.waitUntil(lambda: banner.whole() == SOME, timeout=DEADLINE)


def test_colours_and_spectra_are_not_counted(
    qtbot: Any, receiver: StandIn, show: Callable[..., Viewer]
) -> None:
    viewer = measured(qtbot, receiver, show)
    shown = viewer.measure.figures
    qtbot.waitUntil(lambda: shown.value("Frame", "Sum") != "–", timeout=DEADLINE)
    receiver.frame(np.zeros((60, 80, 3), np.uint8), 1, interpretation="rgba-image")
    qtbot.waitUntil(lambda: shown.says() == f"▲ {COLOURS}", timeout=DEADLINE)
    assert shown.value("Frame", "Sum") == "–"
    receiver.frame(np.arange(100, dtype=np.int32), 2, interpretation="spectrum")
    qtbot.waitUntil(lambda: viewer.drawn() == 3, timeout=DEADLINE)
    assert shown.value("Frame", "Sum") == "–"


def test_a_banner_warns_of_saturated_pixels_also_while_nobody_measures(
    qtbot: Any, receiver: StandIn, show: Callable[..., Viewer]
) -> None:
    viewer = show(receiver.url)
    receiver.frame(IMAGE, 0, saturation=4780)
    banner = viewer.measure.saturation
    qtbot.waitUntil(banner.isVisible, timeout=DEADLINE)
    words = "▲ 20 pixels are saturated, more than 10: attenuate the beam or expose shorter"
    assert banner.whole() == words
    viewer.measure.figures.allowed.setValue(20)
    assert not banner.isVisible()
    viewer.measure.figures.allowed.setValue(0)
    assert banner.whole() == "▲ 20 pixels are saturated: attenuate the beam or expose shorter"
    receiver.frame(IMAGE, 1, saturation=5000)
    qtbot.waitUntil(lambda: not banner.isVisible(), timeout=DEADLINE)


def test_of_a_frame_in_blocks_it_is_said_that_saturated_pixels_are_not_counted(
    qtbot: Any, receiver: StandIn, show: Callable[..., Viewer]
) -> None:
    viewer = show(receiver.url)
    banner = viewer.measure.saturation
    receiver.frame(IMAGE, 0, saturation=4799)
    qtbot.waitUntil(lambda: viewer.drawn() == 1, timeout=DEADLINE)
    assert not banner.isVisible(), "one is allowed"
    viewer.controls.block.setValue(4)
    qtbot.waitUntil(lambda: banner.whole() == SOME and banner.isVisible(), timeout=DEADLINE)
    receiver.frame(IMAGE, 1, saturation=5000)
    qtbot.waitUntil(lambda: banner.whole() == UNCOUNTED, timeout=DEADLINE)
    assert banner.isVisible()
    viewer.show_regions.trigger()
    viewer.regions.curves.with_shown.setChecked(True)
    receiver.frame(IMAGE, 2, saturation=5000)
    reading = f"▲ Frames shown: t{BLOCKS[1:]}"
    qtbot.waitUntil(lambda: viewer.regions.curves.reading() == reading, timeout=DEADLINE)
    viewer.controls.block.setValue(1)
    qtbot.waitUntil(lambda: not banner.isVisible(), timeout=DEADLINE)


def test_a_window_of_its_own_comes_and_goes_with_the_picture(qtbot: Any, receiver: StandIn) -> None:
    view = LiveView(compact=True)
    qtbot.addWidget(view)
    view.set_receiver(receiver.url)
    view.show()
    view.show_measure.trigger()
    qtbot.waitUntil(view.measure.isVisible, timeout=DEADLINE)
    qtbot.waitUntil(lambda: view.measure.windowTitle() == "Measure – sim-1", timeout=DEADLINE)
    view.hide()
    assert not view.measure.isVisible()
    view.show()
    qtbot.waitUntil(view.measure.isVisible, timeout=DEADLINE)
    view.show_measure.trigger()
    view.hide()
    view.show()
    assert not view.measure.isVisible(), "it was closed"
    view.stop()


def test_a_window_of_its_own_stays_above_the_one_around_the_picture(qtbot: Any) -> None:
    view = LiveView(compact=True)
    around = qt.QMainWindow()
    qtbot.addWidget(around)
    around.setCentralWidget(view)
    around.show()
    view.show_measure.trigger()
    qtbot.waitUntil(view.measure.isVisible, timeout=DEADLINE)
    assert view.measure.windowHandle().transientParent() is around.windowHandle()
    view.stop()


def test_what_a_window_measures_is_thrown_away_with_it(qtbot: Any, receiver: StandIn) -> None:
    view = LiveView(compact=True)
    view.set_receiver(receiver.url)
    view.show()
    view.show_measure.trigger()
    assert view.measure.isFloating(), "beside other widgets the picture needs its room"
    receiver.frame(IMAGE, 0)
    shown = view.measure.figures
    qtbot.waitUntil(lambda: shown.value("Frame", "Sum") == "11,517,600", timeout=DEADLINE)
    threads = [view.measure.worker._thread, view.measure.asker._thread]
    view.deleteLater()
    qtbot.waitUntil(lambda: not any(thread and thread.is_alive() for thread in threads), timeout=DEADLINE)


# -- against a receiver ----------------------------------------------------------------------------

GEOMETRY = {
    "beam_center_x": 3.0, "beam_center_y": 7.0, "distance": 0.2, "x_pixel_size": 75e-6,
    "y_pixel_size": 75e-6, "incident_wavelength": 1.0,
}  # fmt: skip


@pytest.fixture
def modules(tmp_path: Path) -> Iterator[tuple[ReceiverProcess, list[Streamer]]]:
    """A receiver of two modules of 4 x 6 pixels, one above the other with a gap of 6 rows between them."""
    streamers = [Streamer() for _ in range(2)]
    source = {"endpoints": [streamer.endpoint for streamer in streamers], "join": "modules"}
    rois = {"both": {"x": 1, "y": 2, "width": 4, "height": 10}}
    receiver = ReceiverProcess(
        tmp_path, streamers[0].endpoint, source, transforms=[{"type": "assemble"}], rois=rois
    )
    receiver.connected()
    yield receiver, streamers
    receiver.close()
    for streamer in streamers:
        streamer.close()


@pytest.mark.parametrize(
    "masked",
    [pytest.param(True, id="masks-and-gaps"), pytest.param(False, id="gaps-only", marks=pytest.mark.slow)],
)
def test_the_sum_of_a_rectangle_is_that_of_the_receivers_region_of_the_same_pixels(
    qtbot: Any, masked: bool, modules: tuple[ReceiverProcess, list[Streamer]], show: Callable[..., Viewer]
) -> None:
    receiver, streamers = modules
    masks = [np.zeros((4, 6), int) for _ in streamers]
    masks[0][3, 2] = 2
    for place, streamer in enumerate(streamers):
        metadata: dict[str, Any] = {"x": 0, "y": 10 * place, **GEOMETRY}
        if masked:
            metadata["pixel_mask"] = masks[place].tolist()
        streamer.start(str(receiver.root / "a.h5"), metadata, series="a", frames=1, trigger_mode="SOFTWARE")
        streamer.frame(0, pixels(place))
    receiver.received(1)
    (expected,) = receiver.client.roi_values(0, 1, wait=SECONDS).values["both"].sum
    viewer = show(receiver.client.url)
    viewer.show_measure.trigger()
    qtbot.waitUntil(lambda: viewer.drawn() >= 1, timeout=DEADLINE)
    viewer.measure.rectangle.set_place(Rectangle(x=1, y=2, width=4, height=10))
    shown = viewer.measure.figures
    qtbot.waitUntil(lambda: shown.says() == MASKED, timeout=DEADLINE)
    qtbot.waitUntil(lambda: shown.value("Rectangle", "Sum") == number(expected), timeout=DEADLINE)
    assert shown.value("Rectangle", "Left out") == ("25" if masked else "24")
    tab = viewer.measure.beam_tab
    assert (tab.x.text(), tab.y.text(), tab.distance.text()) == ("3.00", "7.00", "200")
    assert (tab.energy.text(), tab.says()) == ("12,398.4", "")


def test_a_file_is_measured_like_what_a_receiver_has(qtbot: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    mask = np.zeros(IMAGE.shape, np.uint32)
    mask[10:12] = 1
    with h5py.File(path, "w") as file:
        detector = file.create_group("entry/instrument/detector")
        for group, kind in (
            (file["entry"], "NXentry"), (file["entry/instrument"], "NXinstrument"), (detector, "NXdetector"),
        ):  # fmt: skip
            group.attrs["NX_class"] = kind
        detector["data"] = IMAGE[np.newaxis]
        detector["pixel_mask"] = mask
        for name, value, unit in (
            ("beam_center_x", 20.5, "pixel"), ("beam_center_y", 30.25, "pixel"), ("distance", 0.1, "m"),
            ("x_pixel_size", 1e-4, "m"), ("y_pixel_size", 1e-4, "m"),
        ):  # fmt: skip
            detector[name] = value
            detector[name].attrs["units"] = unit
    view = LiveView(Feed(FileSource(path)), memory=None)
    qtbot.addWidget(view)
    view.show()
    view.show_measure.setChecked(True)
    try:
        qtbot.waitUntil(lambda: view.drawn() == 1, timeout=DEADLINE)
        view.measure.rectangle.set_place(PLACE)
        shown, tab = view.measure.figures, view.measure.beam_tab
        expected = number(int(IMAGE[12:30, 20:50].sum()))
        qtbot.waitUntil(lambda: shown.value("Rectangle", "Sum") == expected, timeout=DEADLINE)
        qtbot.waitUntil(lambda: (tab.x.text(), tab.distance.text()) == ("20.50", "100"), timeout=DEADLINE)
        assert "wavelength" in tab.says()
    finally:
        view.stop()


def test_negative_values_are_measured_and_drawn_unless_they_are_below_the_underload_value(
    qtbot: Any, receiver: StandIn, show: Callable[..., Viewer]
) -> None:
    viewer = measured(qtbot, receiver, show)
    image = np.array([[-40, -10], [20, 70]], np.int32).repeat(30, 0).repeat(40, 1)
    image[0, 0] = -2_000  # of which no percentile hears
    shown, look = viewer.measure.figures, viewer.plot.look
    for index, known in enumerate(({}, {"underload": 0}), 1):
        receiver.frame(image, index, **known)
        # 1,200 pixels of each, but for one of the first.
        left_out, total, mean = ("2,400", "108,000", "45") if known else ("0", "46,040", "9.59167")
        qtbot.waitUntil(lambda total=total: shown.value("Frame", "Sum") == total, timeout=DEADLINE)
        assert (shown.value("Frame", "Left out"), shown.value("Frame", "Mean")) == (left_out, mean)
        assert shown.value("Frame", "Maximum") == "70"
        qtbot.waitUntil(lambda index=index: viewer.drawn() == index + 1, timeout=DEADLINE)
        assert look.levels() == ((20, 70) if known else (-40, 70))
        x, y = viewer.plot.dataToPixel(60, 15)
        colour = viewer.plot.getWidgetHandle().grab().toImage().pixelColor(round(x), round(y)).name()
        assert (colour == theme.current().invalid_pixel) is bool(known)
        pixel = viewer.plot.pixel_at(60, 15)
        assert pixel is not None
        assert (pixel.value, pixel.flag) == (-10, Flag.INVALID if known else Flag.GOOD)
