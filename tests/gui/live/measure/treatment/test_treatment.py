"""Last frames, background, masks and hot pixels: drawn, measured, and said above the picture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from fabio.cbfimage import CbfImage
from silx.gui import qt

from penstock.gui import theme
from penstock.gui.live.measure.counts.counting import counted
from penstock.gui.live.measure.treatment import image_io
from penstock.gui.live.measure.treatment.tab import CORNERS, NO_MASK, NO_RECTANGLE
from penstock.gui.live.measure.treatment.treatment import Combine, Treated, Treatment
from penstock.gui.live.regions.model import number
from penstock.gui.live.view import Viewer
from penstock.receiver.client import LastFrame
from penstock.receiver.models import Rectangle
from penstock.receiver.validity.pixels import Flag
from tests.gui.live.stand_in import StandIn
from tests.receiver.h5_file import picture, write_series

IMAGE = np.arange(4800, dtype=np.int32).reshape(60, 80)
PLACE = Rectangle(x=20, y=10, width=30, height=20)
DEADLINE = 10_000


def frame(array: np.ndarray, index: int = 0, **keys: Any) -> LastFrame:
    return LastFrame(array=array, frame=index, series="s", version=index, downsample=1, **keys)


def test_the_last_frames_are_averaged_added_or_the_greatest_of_them() -> None:
    for how, expected in ((Combine.MEAN, 3.0), (Combine.SUM, 9), (Combine.GREATEST, 5)):
        do = Treatment(combine=how, frames=3)
        for index, value in enumerate((9, 1, 3, 5)):
            whole = do.whole(frame(np.full((4, 6), value, np.uint16), index))
            assert whole.image.shape == (4, 6)
        assert isinstance(whole, Treated)
        assert (whole.combined, whole.image[0, 0]) == (3, expected)


def test_a_frame_counts_once_and_another_series_begins_anew() -> None:
    do = Treatment(combine=Combine.SUM, frames=5)
    one = frame(np.full((4, 6), 7, np.int32))
    for _ in range(3):
        assert do.whole(one).image[0, 0] == 7
    other = LastFrame(array=one.array, frame=0, series="t", version=9, downsample=1)
    assert do.whole(other).image[0, 0] == 7


def test_what_is_saturated_or_invalid_in_one_of_the_frames_is_so_in_what_is_made_of_them() -> None:
    do = Treatment(combine=Combine.MEAN, frames=2)
    first, second = np.full((2, 3), 5, np.int32), np.full((2, 3), 5, np.int32)
    first[0, 0], second[1, 1] = 1000, -1
    for index, array in enumerate((first, second)):
        whole = do.whole(frame(array, index, saturation=1000, underload=0))
        assert whole.flags.shape == (2, 3)
    assert whole.flags[0, 0] == Flag.SATURATED and whole.flags[1, 1] == Flag.INVALID
    assert whole.flag(0, 1) is Flag.GOOD


@pytest.mark.parametrize(
    ("known", "flags", "mean"),
    [
        ({}, [[0, 0], [0, 0]], 1.0),  # of (-4, -1, 2, 7)
        ({"underload": 0}, [[1, 1], [0, 0]], 4.5),
        ({"status": "partial"}, [[0, 1], [0, 0]], 5 / 3),
        ({"saturation": 7}, [[0, 0], [0, 2]], 1.0),  # it counts, and is marked
    ],
)
def test_averages_and_masked_frames_go_by_the_rule_of_each_frame(
    known: dict[str, Any], flags: list[list[int]], mean: float
) -> None:
    image = np.array([[-4, -1], [2, 7]], np.int32)
    for do in (Treatment(combine=Combine.MEAN, frames=2), Treatment(mask=np.zeros((2, 2), bool))):
        whole = do.whole(frame(image, 0, **known))
        assert whole.flags.tolist() == flags
        assert counted(whole, None).of().mean == mean
        good = np.array(flags) == Flag.GOOD
        assert sorted(whole.sample.tolist()) == sorted(image[good].tolist())
        assert (whole.drawn[good] == image[good]).all(), "values below 0 too"


def test_what_is_missing_of_a_partial_frame_is_missing_in_an_average() -> None:
    do = Treatment(combine=Combine.SUM, frames=2)
    assert counted(do.whole(frame(np.full((2, 2), 3, np.uint16), 0)), None).of().sum == 12
    missing = np.array([[False, True], [False, False]])
    part = frame(np.array([[4, 0], [4, 65535]], np.uint16), 1, status="partial", missing=missing)
    whole = do.whole(part)
    assert whole.flags.tolist() == [[0, 1], [0, 1]]
    assert counted(whole, None).of().sum == 14


def test_a_pixel_that_has_no_value_in_one_of_the_frames_is_not_measured_in_their_sum() -> None:
    do = Treatment(combine=Combine.SUM, frames=2)
    for index, pixels in enumerate(([-1, 3], [4, 5])):
        whole = do.whole(frame(np.array([pixels], np.int32), index, underload=0))
        figures = counted(whole, None).of()
    assert (figures.pixels, figures.left_out, figures.sum) == (1, 1, 8)


def test_a_background_is_subtracted_exactly_also_below_zero() -> None:
    background = np.full(IMAGE.shape, 100.0)
    whole = Treatment(background=background).whole(frame(IMAGE))
    assert np.array_equal(whole.image, IMAGE - 100.0)
    assert whole.drawn.min() == -100 and (whole.flags == Flag.GOOD).all()
    assert counted(whole, None).of().sum == (IMAGE - 100.0).sum()
    added = Treatment(background=background, combine=Combine.SUM, frames=2)
    for index in range(2):
        total = added.whole(frame(IMAGE, index)).image
    assert np.array_equal(total, 2 * IMAGE - 200.0), "from each of the frames"


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_where_a_background_has_no_number_the_picture_has_none(value: float) -> None:
    background = np.ones((4, 6), np.float32)
    background[1, 2] = value
    whole = Treatment(background=background).whole(frame(np.full((4, 6), 5, np.uint16)))
    assert np.argwhere(whole.flags == Flag.INVALID).tolist() == [[1, 2]]
    assert (whole.sample == 4).all() and whole.sample.size == 23
    figures = counted(whole, None).of()
    assert (figures.pixels, figures.sum) == (23, 92)


def test_masked_and_hot_pixels_are_left_out_of_drawing_and_counting() -> None:
    mask = np.zeros(IMAGE.shape, bool)
    mask[:10] = True
    whole = Treatment(mask=mask, hot=4000).whole(frame(IMAGE))
    left_out = mask | (IMAGE > 4000)
    assert np.array_equal(whole.gaps, left_out)
    for series_mask in (None, np.zeros(IMAGE.shape)):
        found = counted(whole, series_mask).of()
        assert (found.sum, found.left_out) == (IMAGE[~left_out].sum(), left_out.sum())


def test_of_several_images_each_is_masked() -> None:
    mask = np.zeros((4, 6), bool)
    mask[1, 2] = True
    whole = Treatment(mask=mask).whole(frame(np.ones((2, 4, 6), np.int32), channels=("a", "b")))
    assert np.argwhere(whole.gaps).tolist() == [[1, 2], [5, 2]]


def test_blocks_colours_and_other_sizes_stay_as_they_are() -> None:
    do = Treatment(mask=np.ones((4, 6), bool))
    blocks = LastFrame(array=np.ones((4, 6), np.int32), frame=0, series="s", version=0, downsample=2)
    colours = frame(np.ones((4, 6, 3), np.uint8), interpretation="rgba-image")
    for each in (blocks, colours, frame(np.ones((5, 6), np.int32))):
        assert not isinstance(do.whole(each), Treated)


@pytest.mark.parametrize("name", ["a.npy", "a.edf", "a.tif"])
def test_masks_and_backgrounds_are_kept_in_files(name: str, tmp_path: Path) -> None:
    mask = IMAGE % 7 == 0
    image_io.save(tmp_path / name, mask)
    assert np.array_equal(image_io.load(tmp_path / name) != 0, mask)
    image_io.save(tmp_path / name, IMAGE / 4)
    assert np.array_equal(image_io.load(tmp_path / name), IMAGE / 4)


def test_a_background_is_the_first_frame_that_is_stored_whole_nan_where_a_pixel_has_no_value(
    tmp_path: Path,
) -> None:
    with h5py.File(tmp_path / "others.h5", "w") as file:
        detector = file.create_group("entry/instrument/detector")
        detector["data"] = np.array([[[-4, -1, 2], [7, 8, 90]]], np.int32)
        detector["underload_value"], detector["saturation_value"] = -1, 90
        detector["pixel_mask"] = np.array([[0, 0, 0], [1, 0, 0]], np.uint32)
    found = image_io.load_background(tmp_path / "others.h5")
    np.testing.assert_array_equal(found, [[np.nan, -1, 2], [np.nan, 8, 90]])
    header = {"_array_data.header_convention": "PILATUS_1.2", "_array_data.header_contents": "# Tau = 0 s"}
    CbfImage(data=np.array([[-2, -1, 3]], np.int32), header=header).write(str(tmp_path / "pilatus.cbf"))
    found = image_io.load_background(tmp_path / "pilatus.cbf")
    np.testing.assert_array_equal(found, [[np.nan, np.nan, 3]])
    write_series(tmp_path / "own.h5", 4, lost=(0, 1))
    assert np.array_equal(image_io.load_background(tmp_path / "own.h5"), picture(2))
    with h5py.File(tmp_path / "none.h5", "w") as file:
        plot = file.create_group("plot")
        plot.attrs["NX_class"], plot.attrs["signal"] = "NXdata", "data"
        plot["data"], plot["data_status"] = np.zeros((3, 4, 6), np.uint16), np.array([0, 6, 0], np.uint8)
    words = r"none\.h5 has no frame that is stored whole \(2 missing, 1 partial\): take another file"
    for load in (image_io.load_background, image_io.load_mask):
        with pytest.raises(ValueError, match=words):
            load(tmp_path / "none.h5")


def test_a_file_of_another_kind_is_refused_with_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"ends with no \.npy, \.edf or \.tif: give it one of them"):
        image_io.save(tmp_path / "a.png", IMAGE)
    np.save(tmp_path / "a.npy", np.arange(5))
    with pytest.raises(ValueError, match="has no image of rows and columns"):
        image_io.load(tmp_path / "a.npy")


# -- in the window -----------------------------------------------------------------------------------


@pytest.fixture
def viewer(qtbot: Any, receiver: StandIn, show: Callable[..., Viewer]) -> Viewer:
    opened = show(receiver.url)
    opened.show_measure.setChecked(True)
    opened.measure.tabs.setCurrentWidget(opened.measure.treatment)
    receiver.frame(IMAGE, 0)
    qtbot.waitUntil(lambda: opened.drawn() == 1, timeout=DEADLINE)
    return opened


def wait_for(qtbot: Any, viewer: Viewer, words: str) -> None:
    qtbot.waitUntil(lambda: viewer.measure.treated.whole() == words, timeout=DEADLINE)


def test_the_strip_says_what_was_done_and_the_cursor_reads_it(
    qtbot: Any, receiver: StandIn, viewer: Viewer
) -> None:
    tab, strip = viewer.measure.treatment, viewer.measure.treated
    assert not strip.isVisible()
    tab.combine.setCurrentText(Combine.MEAN.value)
    wait_for(qtbot, viewer, "Average of the last 1 frame shown")
    receiver.frame(IMAGE + 10, 1)
    wait_for(qtbot, viewer, "Average of the last 2 frames shown")
    assert strip.isVisible()
    pixel = viewer.plot.pixel_at(3.5, 2.5)
    assert pixel is not None and pixel.value == IMAGE[2, 3] + 5
    viewer.measure.tabs.setCurrentWidget(viewer.measure.figures)
    total = number(float(IMAGE.sum() + 5 * IMAGE.size))
    qtbot.waitUntil(lambda: viewer.measure.figures.value("Frame", "Sum") == total, timeout=DEADLINE)
    tab.combine.setCurrentText(Combine.NOTHING.value)
    qtbot.waitUntil(lambda: not strip.isVisible(), timeout=DEADLINE)
    assert viewer.drawn() == 2, "a frame that is made again is no other frame"


def test_a_rectangle_is_masked_grey_saved_and_loaded(qtbot: Any, viewer: Viewer, tmp_path: Path) -> None:
    tab = viewer.measure.treatment
    tab.button("mask rectangle").click()
    assert tab.says() == f"▲ {NO_RECTANGLE}"
    viewer.measure.rectangle.set_place(PLACE)
    tab.button("mask rectangle").click()
    wait_for(qtbot, viewer, "600 pixels masked here")
    x, y = viewer.plot.dataToPixel(40.5, 22.5)
    grey = qt.QColor(theme.current().invalid_pixel).name()

    def is_grey() -> bool:
        seen = viewer.plot.getWidgetHandle().grab().toImage()
        return bool(seen.pixelColor(round(x), round(y)).name() == grey)

    qtbot.waitUntil(is_grey, timeout=DEADLINE)
    tab.save_mask(tmp_path / "mask.edf")
    qtbot.waitUntil(lambda: tab.says() == f"Saved as {tmp_path / 'mask.edf'}", timeout=DEADLINE)
    tab.button("unmask rectangle").click()
    wait_for(qtbot, viewer, "")
    tab.load_mask(tmp_path / "mask.edf")
    wait_for(qtbot, viewer, "600 pixels masked here")
    assert tab.says() == "Mask mask.edf: 600 pixels are left out."
    np.save(tmp_path / "small.npy", np.ones((3, 4), np.uint8))
    tab.load_mask(tmp_path / "small.npy")
    words = "▲ Mask small.npy has 3 × 4 pixels, the frame 60 × 80: it is not applied."
    qtbot.waitUntil(lambda: tab.says() == words, timeout=DEADLINE)
    (tmp_path / "words.npy").write_text("hello")
    tab.load_mask(tmp_path / "words.npy")
    words = "▲ Not done: words.npy is no array of NumPy, or is damaged"
    qtbot.waitUntil(lambda: tab.says() == words, timeout=DEADLINE)
    tab.load_mask(tmp_path / "nowhere.npy")
    qtbot.waitUntil(lambda: tab.says().startswith("▲ Not done: "), timeout=DEADLINE)
    tab.button("no mask").click()
    wait_for(qtbot, viewer, "")
    tab.save_mask(tmp_path / "mask.npy")
    assert tab.says() == "▲ There is no mask yet: draw or load one."


def click(viewer: Viewer, row: float, column: float, *, twice: bool = False) -> None:
    """Move the mouse to a place in the picture, and click there."""
    canvas = viewer.plot.getWidgetHandle()
    at = qt.QPointF(*viewer.plot.dataToPixel(column, row))
    once = [
        (qt.QEvent.MouseButtonPress, qt.Qt.LeftButton, qt.Qt.LeftButton),
        (qt.QEvent.MouseButtonRelease, qt.Qt.LeftButton, qt.Qt.NoButton),
    ]
    again = [(qt.QEvent.MouseButtonDblClick, qt.Qt.LeftButton, qt.Qt.LeftButton), once[1]] if twice else []
    for kind, button, buttons in [(qt.QEvent.MouseMove, qt.Qt.NoButton, qt.Qt.NoButton), *once, *again]:
        qt.QApplication.sendEvent(canvas, qt.QMouseEvent(kind, at, button, buttons, qt.Qt.NoModifier))


def test_what_a_polygon_of_clicks_has_inside_is_masked_and_the_next_one_joins_it(
    qtbot: Any, viewer: Viewer
) -> None:
    tab = viewer.measure.treatment
    for corners, words in (
        ([(10, 20), (10, 30), (25, 30), (25, 20)], "150 pixels masked here"),
        ([(40, 50), (40, 60), (45, 60), (45, 50)], "200 pixels masked here"),
    ):
        qtbot.mouseClick(tab.button("mask polygon"), qt.Qt.LeftButton)
        assert viewer.plot.getInteractiveMode()["mode"] == "draw"
        assert tab.says() == CORNERS
        for corner in corners[:-1]:
            click(viewer, *corner)
        click(viewer, *corners[-1], twice=True)
        wait_for(qtbot, viewer, words)
        qtbot.waitUntil(lambda: viewer.plot.getInteractiveMode()["mode"] != "draw", timeout=DEADLINE)
    mask = tab.treatment().mask
    assert mask is not None and mask[10:25, 20:30].all() and mask[40:45, 50:60].all()
    assert tab.polygon.shape() is None


@pytest.mark.parametrize("name", ["mask.npy", "mask.edf", "mask.tif"])
def test_a_mask_goes_through_a_file_that_is_chosen(
    name: str, qtbot: Any, viewer: Viewer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = str(tmp_path / name)
    for dialog in ("getSaveFileName", "getOpenFileName"):
        monkeypatch.setattr(qt.QFileDialog, dialog, lambda *_: (chosen, ""))
    tab = viewer.measure.treatment
    viewer.measure.rectangle.set_place(PLACE)
    tab.button("mask rectangle").click()
    mask = tab.treatment().mask
    qtbot.mouseClick(tab.button("save mask"), qt.Qt.LeftButton)
    qtbot.waitUntil(lambda: tab.says() == f"Saved as {chosen}", timeout=DEADLINE)
    tab.button("no mask").click()
    wait_for(qtbot, viewer, "")
    qtbot.mouseClick(tab.button("load mask"), qt.Qt.LeftButton)
    wait_for(qtbot, viewer, "600 pixels masked here")
    assert np.array_equal(tab.treatment().mask, mask)


def test_of_a_file_of_frames_its_own_mask_is_loaded(qtbot: Any, viewer: Viewer, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "run_master.h5", "w") as file:
        file["entry/data/data_000001"] = np.ones((3, *IMAGE.shape), np.uint16)
        file["entry/instrument/detector/pixel_mask"] = np.eye(*IMAGE.shape, dtype=np.uint32)
    viewer.measure.treatment.load_mask(tmp_path / "run_master.h5")
    wait_for(qtbot, viewer, "60 pixels masked here")


def test_the_mask_of_the_series_is_taken(qtbot: Any, receiver: StandIn, viewer: Viewer) -> None:
    tab = viewer.measure.treatment
    qtbot.waitUntil(viewer.measure.facts.has_looked_for_mask, timeout=DEADLINE)
    tab.button("mask of the series").click()
    assert tab.says() == f"▲ {NO_MASK}"


def test_what_is_shown_becomes_the_background(qtbot: Any, receiver: StandIn, viewer: Viewer) -> None:
    tab = viewer.measure.treatment
    tab.button("take what is shown").click()
    wait_for(qtbot, viewer, "Minus background of frame 0")
    receiver.frame(IMAGE + 3, 1)
    qtbot.waitUntil(lambda: viewer.drawn() == 2, timeout=DEADLINE)
    pixel = viewer.plot.pixel_at(3.5, 2.5)
    assert pixel is not None and pixel.value == 3
    receiver.frame(np.zeros((20, 30), np.int32), 2)
    wait_for(qtbot, viewer, "▲ The background of 60 × 80 pixels is not applied: the frame has 20 × 30")
    tab.hot.setChecked(True)
    wait_for(
        qtbot, viewer, "▲ The background of 60 × 80 pixels is not applied: the frame has 20 × 30. "
        "Pixels above 100,000 left out",
    )  # fmt: skip


def test_hot_pixels_do_not_warn(qtbot: Any, receiver: StandIn, viewer: Viewer) -> None:
    receiver.frame(IMAGE, 1, saturation=4700)
    qtbot.waitUntil(viewer.measure.saturation.isVisible, timeout=DEADLINE)
    tab = viewer.measure.treatment
    tab.threshold.setValue(4699)
    tab.hot.setChecked(True)
    wait_for(qtbot, viewer, "Pixels above 4,699 left out")
    qtbot.waitUntil(lambda: not viewer.measure.saturation.isVisible(), timeout=DEADLINE)
