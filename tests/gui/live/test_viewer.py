"""The window, driven both ways: by a receiver and by its user."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from silx.gui import qt
from silx.gui.colors import Colormap

from penstock.gui import theme
from penstock.gui.live.plot.colour_bar import ColourBar
from penstock.gui.live.view import Viewer
from penstock.gui.words import clock
from penstock.receiver.models import Counts, Series
from penstock.receiver.validity.pixels import Flag
from tests.gui.live.stand_in import StandIn

Show = Callable[..., Viewer]
DEADLINE = 10_000
"""Milliseconds."""


def frame(seed: int = 0, shape: tuple[int, int] = (60, 80)) -> np.ndarray:
    """Counts around 100, a gap of -1 and a hot pixel."""
    image = np.random.default_rng(seed).poisson(100, shape).astype(np.int32)
    image[20:24] = -1
    image[0, 0] = 2_000_000
    return image


def hover(viewer: Viewer, row: int, column: int) -> str:
    """Move the mouse to the middle of a pixel; returns what the window reads there."""
    canvas = viewer.plot.getWidgetHandle()
    x, y = viewer.plot.dataToPixel(column + 0.5, row + 0.5)
    move = qt.QMouseEvent(
        qt.QEvent.MouseMove, qt.QPointF(x, y), qt.Qt.NoButton, qt.Qt.NoButton, qt.Qt.NoModifier
    )
    qt.QApplication.sendEvent(canvas, move)
    return viewer.pixel_text()


def colour_at(viewer: Viewer, row: int, column: int) -> str:
    """The colour on the screen, in the middle of a pixel of the detector."""
    x, y = viewer.plot.dataToPixel(column + 0.5, row + 0.5)
    return str(viewer.plot.grab().toImage().pixelColor(int(x), int(y)).name())


def pixels_of(viewer: Viewer) -> np.ndarray:
    return np.asarray(viewer.plot.image().getData(copy=False))


def test_the_picture_equals_the_frame_and_the_item_stays_the_same(
    qtbot: Any, receiver: StandIn, show: Show
) -> None:
    viewer = show(receiver.url)
    receiver.frame(frame(1), 0)
    qtbot.waitUntil(lambda: np.array_equal(pixels_of(viewer), frame(1)), timeout=DEADLINE)
    item = viewer.plot.image()

    receiver.frame(frame(2), 1)

    qtbot.waitUntil(lambda: np.array_equal(pixels_of(viewer), frame(2)), timeout=DEADLINE)
    assert viewer.plot.image() is item
    assert [image.getName() for image in viewer.plot.getAllImages()] == ["frame", "picture"]
    assert viewer.plot.getActiveImage() is item
    qtbot.waitUntil(lambda: viewer.readings.value("Frame on show", "Number") == "1", timeout=DEADLINE)
    assert viewer.readings.value("Frame on show", "Size") == "60 × 80"


def test_no_frame_is_asked_for_before_the_last_was_drawn(qtbot: Any, receiver: StandIn, show: Show) -> None:
    viewer = show(receiver.url)
    receiver.frame(frame(), 0)
    qtbot.waitUntil(lambda: viewer.drawn() == 1, timeout=DEADLINE)
    viewer._screen._idle.wait = lambda after: None  # type: ignore[method-assign]  # a loop that is never idle
    receiver.frame(frame(1), 1)
    qtbot.waitUntil(lambda: viewer.drawn() == 2, timeout=DEADLINE)
    asked = sum(path.startswith("/last_frame") for path in receiver.requests)

    for index in range(2, 6):
        receiver.frame(frame(index), index)
        receiver.run(counts=Counts(received=index))
        qtbot.waitUntil(
            lambda index=index: viewer.readings.value("Account", "Received") == str(index), timeout=DEADLINE
        )

    assert viewer.drawn() == 2
    assert sum(path.startswith("/last_frame") for path in receiver.requests) == asked


def test_invalid_pixels_are_masked_coloured_and_left_out_of_the_levels(
    qtbot: Any, receiver: StandIn, show: Show
) -> None:
    viewer = show(receiver.url)
    image = frame()
    image[5, 5] = 2**31 - 1
    receiver.frame(image, 0, saturation=1_000_000, underload=0)
    qtbot.waitUntil(lambda: viewer.drawn() == 1, timeout=DEADLINE)

    flags = viewer.plot.flags()
    assert flags is not None
    assert np.array_equal(flags == Flag.INVALID, image < 0)
    assert np.array_equal(flags == Flag.SATURATED, image >= 1_000_000)
    invalid, saturated = theme.current().invalid_pixel, theme.current().saturated_pixel
    qtbot.waitUntil(lambda: colour_at(viewer, 21, 3) == invalid, timeout=DEADLINE)
    assert colour_at(viewer, 5, 5) == saturated
    assert colour_at(viewer, 40, 40) not in (invalid, saturated)
    assert np.isnan(viewer.plot.image().getValueData(copy=False)[21, 3])
    low, high = viewer.plot.look.levels()
    assert 0 < low < 100 < high < 200

    viewer.controls.show_mask.trigger()

    first, *_, last = (qt.QColor(*row).name() for row in viewer.plot.look.colormap.getNColors(256))
    qtbot.waitUntil(lambda: colour_at(viewer, 21, 3) == first, timeout=DEADLINE)
    assert colour_at(viewer, 5, 5) == last


def test_gaps_between_modules_of_16_bits_are_no_saturated_pixels(
    qtbot: Any, receiver: StandIn, show: Show
) -> None:
    viewer = show(receiver.url)
    image = np.full((10, 8), 2**16 - 1, np.uint16)
    image[:4], image[6:] = 100, 120
    image[0, 0] = 2**16 - 1
    receiver.frame(image, 0, modules=[[0, 0, 4, 8], [6, 0, 4, 8]])
    qtbot.waitUntil(lambda: viewer.drawn() == 1, timeout=DEADLINE)

    flags = viewer.plot.flags()
    assert flags is not None
    assert (flags[4:6] == Flag.INVALID).all()
    assert np.argwhere(flags == Flag.SATURATED).tolist() == [[0, 0]]
    assert hover(viewer, 4, 2).endswith("no valid value")


def test_the_channel_to_show_is_chosen_where_a_frame_has_several(
    qtbot: Any, receiver: StandIn, show: Show
) -> None:
    viewer = show(receiver.url)
    both = np.stack([np.full((6, 8), 3, np.uint16), np.full((6, 8), 5, np.uint16)])
    names = ["threshold_1", "threshold_2"]
    receiver.frame(both, 0, channels=names)
    qtbot.waitUntil(lambda: pixels_of(viewer).shape == (12, 8), timeout=DEADLINE)
    box = viewer.controls.channel
    qtbot.waitUntil(box.isVisible, timeout=DEADLINE)
    assert [box.itemText(place) for place in range(box.count())] == ["all", *names]

    box.setCurrentText("threshold_2")
    qtbot.waitUntil(lambda: np.array_equal(pixels_of(viewer), both[1]), timeout=DEADLINE)
    receiver.frame(both + 1, 1, channels=names)
    qtbot.waitUntil(lambda: np.array_equal(pixels_of(viewer), both[1] + 1), timeout=DEADLINE)
    assert box.currentText() == "threshold_2"

    receiver.frame(both[0], 2)  # the next series has no channels
    qtbot.waitUntil(lambda: np.array_equal(pixels_of(viewer), both[0]), timeout=DEADLINE)
    qtbot.waitUntil(lambda: not box.isVisible(), timeout=DEADLINE)
    assert viewer.banner.title() != "REFUSED"


def test_colours_switch_between_linear_and_logarithmic(qtbot: Any, receiver: StandIn, show: Show) -> None:
    viewer = show(receiver.url)
    receiver.frame(np.zeros((8, 8), np.uint16), 0)
    qtbot.waitUntil(lambda: viewer.drawn() == 1, timeout=DEADLINE)

    viewer.controls.log_colours.trigger()

    assert viewer.plot.look.colormap.getNormalization() == Colormap.LOGARITHM
    assert viewer.controls.scale.currentText() == "log"
    assert viewer.plot.look.levels().low > 0
    viewer.controls.log_colours.trigger()
    assert viewer.plot.look.colormap.getNormalization() == Colormap.LINEAR
    assert viewer.controls.scale.currentText() == "lin"


def test_levels_follow_the_frames_only_while_autoscale_is_on(
    qtbot: Any, receiver: StandIn, show: Show
) -> None:
    viewer = show(receiver.url)
    receiver.frame(frame(), 0)
    qtbot.waitUntil(lambda: viewer.drawn() == 1, timeout=DEADLINE)
    levels = viewer.plot.look.levels()
    viewer.controls.autoscale.trigger()
    receiver.frame(frame() * 10, 1)
    qtbot.waitUntil(lambda: viewer.drawn() == 2, timeout=DEADLINE)
    assert viewer.plot.look.levels() == levels

    viewer.controls.autoscale.trigger()

    qtbot.waitUntil(lambda: viewer.plot.look.levels()[1] > 5 * levels[1], timeout=DEADLINE)


def test_the_user_chooses_the_colour_map(qtbot: Any, receiver: StandIn, show: Show) -> None:
    viewer = show(receiver.url)

    viewer.controls.palette_choice.setCurrentText("fire")

    assert viewer.plot.look.colormap.getName() == "hot"


def test_the_pixel_under_the_cursor_is_read_and_follows_the_frames(
    qtbot: Any, receiver: StandIn, show: Show
) -> None:
    viewer = show(receiver.url)
    receiver.frame(frame(1), 0)
    qtbot.waitUntil(lambda: viewer.drawn() == 1, timeout=DEADLINE)

    assert hover(viewer, 40, 30) == f"row 40   column 30   value {frame(1)[40, 30]}"

    receiver.frame(frame(2), 1, underload=0)
    qtbot.waitUntil(lambda: viewer.pixel_text().endswith(f"value {frame(2)[40, 30]}"), timeout=DEADLINE)

    assert hover(viewer, 21, 30) == "row 21   column 30   value -1   no valid value"


def test_a_picture_transferred_in_blocks_is_in_its_place_and_no_number_is_made_of_it(
    qtbot: Any, receiver: StandIn, show: Show
) -> None:
    viewer = show(receiver.url)
    viewer.controls.block.setValue(4)
    receiver.frame(frame(), 0)
    values = viewer.readings.value
    qtbot.waitUntil(lambda: values("Frame on show", "Size") == "15 × 20, blocks of 4", timeout=DEADLINE)

    assert pixels_of(viewer)[2, 10] == frame()[8:12, 40:44].max()
    assert hover(viewer, 9, 41) == "row 9   column 41   transferred in blocks: no value"
    assert viewer.plot.pixel_at(80.5, 1.0) is None
    viewer.save.save("block.npy")
    assert viewer.said().startswith("▲ block.npy is not written: this frame was transferred in blocks")
    assert not any("/downsample" in path for path in receiver.requests), "that is for all viewers"

    viewer.controls.block.setValue(1)
    qtbot.waitUntil(lambda: viewer.frame_on_show().downsample == 1, timeout=DEADLINE)
    assert hover(viewer, 9, 41) == f"row 9   column 41   value {frame()[9, 41]}"


def test_blobs_of_one_frame_are_drawn_one_below_the_other(qtbot: Any, receiver: StandIn, show: Show) -> None:
    viewer = show(receiver.url)
    modules = np.arange(2 * 6 * 5, dtype=np.uint16).reshape(2, 6, 5)

    receiver.frame(modules, 0)

    qtbot.waitUntil(lambda: np.array_equal(pixels_of(viewer), modules.reshape(12, 5)), timeout=DEADLINE)


def test_the_counts_are_shown_and_what_is_wrong_is_marked(qtbot: Any, receiver: StandIn, show: Show) -> None:
    counts = Counts(planned=1000, received=412, stored=411, corrupt=1, missing=2, pending=586)
    receiver.run(counts=counts, frame_rate=12.5, byte_rate=51.2e6, errors={"malformed": 3})

    viewer = show(receiver.url)

    qtbot.waitUntil(lambda: viewer.readings.value("Account", "Received") == "412", timeout=DEADLINE)
    values = viewer.readings.value
    assert values("Account", "Planned") == "1,000"
    assert values("Account", "Stored") == "411"
    assert values("Account", "Missing") == "▲ 2"
    assert values("Account", "Corrupt") == "▲ 1"
    assert values("Account", "Bad messages") == "0", "they came before this window"
    assert values("Rates", "Frames") == "12.5 /s"
    assert values("Rates", "Data") == "51.2 MB/s"
    assert values("Series", "File") == "scan-0007_sim-1.h5"
    assert values("Series", "Folder") == "/data/visitors/20250001/raw"
    assert viewer.banner.title() == "RUNNING"
    assert viewer.windowTitle() == "sim-1 – running – Penstock"


@pytest.mark.parametrize(
    ("filename", "state", "count"), [(None, "ended", "6"), ("/data/a.h5", "▲ incomplete", "▲ 6")]
)
def test_frames_that_were_not_triggered_are_a_loss_only_where_a_file_lacks_them(
    filename: str | None, state: str, count: str, qtbot: Any, receiver: StandIn, show: Show
) -> None:
    viewer = show(receiver.url)
    key = "delivered" if filename is None else "stored"
    receiver.say(
        series=Series(id="1", filename=filename, active=False, complete=False, reason="ended by stop"),
        counts=Counts(planned=9, received=3, not_triggered=6, **{key: 3}),
    )
    values = viewer.readings.value
    qtbot.waitUntil(lambda: values("Account", "Received") == "3", timeout=DEADLINE)
    assert (values("Series", "State"), values("Account", "Not triggered")) == (state, count)


def test_a_series_that_was_not_taken_is_no_live_view(qtbot: Any, receiver: StandIn, show: Show) -> None:
    viewer = show(receiver.url)
    series = Series(id="1", filename=None, active=False, complete=False, taken=False, reason="not taken: …")
    receiver.say(state="error", error="a.h5 exists", series=series)
    qtbot.waitUntil(lambda: viewer.banner.title() == "ERROR", timeout=DEADLINE)
    assert viewer.readings.value("Series", "File") == "none: not taken"
    assert viewer.readings.value("Series", "State").endswith("not taken")


def test_counts_that_the_window_never_had_are_dashes(qtbot: Any, receiver: StandIn, show: Show) -> None:
    receiver.down()
    viewer = show(receiver.url)
    names = ("Received", "Stored", "Missing", "Bad messages")

    def shows(*texts: str) -> None:
        values = viewer.readings.value
        qtbot.waitUntil(lambda: tuple(values("Account", name) for name in names) == texts, timeout=DEADLINE)

    qtbot.waitUntil(lambda: viewer.banner.title() == "AWAY", timeout=DEADLINE)
    shows("–", "–", "–", "–")
    assert viewer.readings.value("Rates", "Frames") == "–"
    assert viewer.readings.age() == "", "there is nothing that could be old"
    receiver.up()
    qtbot.waitUntil(lambda: viewer.banner.title() == "IDLE", timeout=DEADLINE)
    shows("–", "–", "–", "0")
    receiver.run(counts=Counts(planned=3))
    shows("0", "0", "0", "0")


def test_what_is_old_is_grey_and_says_of_when_it_is(qtbot: Any, receiver: StandIn, show: Show) -> None:
    viewer = show(receiver.url)
    receiver.run(counts=Counts(planned=9, received=4, missing=1), frame_rate=12.5)
    readings = viewer.readings
    qtbot.waitUntil(lambda: readings.value("Account", "Received") == "4", timeout=DEADLINE)

    def colour(group: str, name: str) -> str:
        return str(readings._values[f"{group}/{name}"].property("colour"))

    assert readings.age() == ""
    assert (colour("Account", "Received"), colour("Account", "Missing")) == (
        theme.current().text,
        theme.current().bad,
    )
    answered = time.time()
    receiver.down()
    qtbot.waitUntil(lambda: viewer.banner.title() == "AWAY", timeout=DEADLINE)

    for group, name in (
        ("Account", "Received"),
        ("Account", "Missing"),
        ("Rates", "Frames"),
        ("Series", "File"),
    ):
        assert colour(group, name) == theme.current().old
    assert colour("Rates", "Drawn here") == theme.current().text, "that is of this window, and new"
    assert readings.value("Account", "Received") == "4"
    said = re.fullmatch(r"Figures as of (\d\d:\d\d:\d\d), (\d+) s ago", readings.age())
    assert said is not None
    assert said[1] in {clock(answered + late) for late in range(-1, 3)}
    qtbot.waitUntil(lambda: readings.age().endswith(f", {int(said[2]) + 1} s ago"), timeout=DEADLINE)

    receiver.up()
    qtbot.waitUntil(lambda: viewer.banner.title() == "IDLE", timeout=DEADLINE)
    assert readings.age() == ""
    assert colour("Account", "Received") == theme.current().text


@pytest.mark.parametrize("logarithmic", [False, True])
@pytest.mark.parametrize(("low", "high"), [(101, 205), (30, 950), (3, 40_000)])
def test_the_colour_bar_has_no_tick_beyond_its_ends(
    low: int, high: int, logarithmic: bool, qtbot: Any, receiver: StandIn, show: Show
) -> None:
    viewer = show(receiver.url, logarithmic=logarithmic)
    receiver.frame(np.linspace(low, high, 6400).reshape(80, 80).astype(np.uint32), 0)
    qtbot.waitUntil(lambda: viewer.drawn() == 1, timeout=DEADLINE)
    (bar,) = viewer.findChildren(ColourBar)
    levels = viewer.plot.look.levels()
    least, most = viewer.levels.bins.range()
    assert set(levels) & set(bar.ticks()), "it has some"
    assert least <= min(bar.ticks()) and max(bar.ticks()) <= most


def test_bad_messages_are_those_of_the_series_on_show(qtbot: Any, receiver: StandIn, show: Show) -> None:
    receiver.say(errors={"malformed": 3})
    viewer = show(receiver.url)

    def shows(text: str) -> None:
        qtbot.waitUntil(lambda: viewer.readings.value("Account", "Bad messages") == text, timeout=DEADLINE)

    shows("0")
    receiver.run(errors={"malformed": 5})
    shows("▲ 2")
    assert receiver.status.series is not None
    receiver.say(series=replace(receiver.status.series, id="the next"))
    shows("0")


def test_an_error_is_shown_as_a_sentence_with_what_to_do(qtbot: Any, receiver: StandIn, show: Show) -> None:
    viewer = show(receiver.url)

    receiver.say(state="error", error="no space left on /data; free some")

    qtbot.waitUntil(lambda: viewer.banner.title() == "ERROR", timeout=DEADLINE)
    assert viewer.banner.text().startswith("No space left on /data; free some. To reset it: ")
    assert "reset" in viewer.banner.text()


def test_the_receivers_death_and_restart_are_survived_with_the_last_picture_kept(
    qtbot: Any, receiver: StandIn, show: Show
) -> None:
    viewer = show(receiver.url)
    receiver.run()
    receiver.frame(frame(1), 6)
    qtbot.waitUntil(lambda: viewer.drawn() == 1, timeout=DEADLINE)

    receiver.down()
    qtbot.waitUntil(lambda: viewer.banner.title() == "AWAY", timeout=DEADLINE)
    assert "away since" in viewer.banner.text()
    assert np.array_equal(pixels_of(viewer), frame(1))

    receiver.up()
    qtbot.waitUntil(lambda: viewer.banner.title() == "IDLE", timeout=DEADLINE)
    assert "before its restart" in viewer.banner.text()
    assert np.array_equal(pixels_of(viewer), frame(1))

    receiver.run()
    receiver.frame(frame(2), 0)
    qtbot.waitUntil(lambda: np.array_equal(pixels_of(viewer), frame(2)), timeout=DEADLINE)
    assert viewer.banner.title() == "RUNNING"


def test_a_paused_viewer_asks_for_no_frame_but_follows_the_counts(
    qtbot: Any, receiver: StandIn, show: Show
) -> None:
    viewer = show(receiver.url)
    receiver.frame(frame(1), 0)
    qtbot.waitUntil(lambda: viewer.drawn() == 1, timeout=DEADLINE)
    viewer.controls.pause.trigger()
    receiver.run(counts=Counts(received=1))
    qtbot.waitUntil(lambda: viewer.readings.value("Account", "Received") == "1", timeout=DEADLINE)
    asked = sum(path.startswith("/last_frame") for path in receiver.requests)

    receiver.frame(frame(2), 1)
    receiver.say(counts=Counts(received=2))

    qtbot.waitUntil(lambda: viewer.readings.value("Account", "Received") == "2", timeout=DEADLINE)
    assert sum(path.startswith("/last_frame") for path in receiver.requests) == asked
    viewer.controls.pause.trigger()
    qtbot.waitUntil(lambda: np.array_equal(pixels_of(viewer), frame(2)), timeout=DEADLINE)


def test_the_rate_is_set_from_the_tool_bar(qtbot: Any, receiver: StandIn, show: Show) -> None:
    viewer = show(receiver.url, rate=10.0)
    assert viewer.controls.rate.value() == 10.0

    viewer.controls.rate.setValue(2.5)

    assert viewer._feed.rate() == 2.5


def test_an_answer_that_breaks_the_feed_is_shown_and_not_swallowed(
    qtbot: Any, receiver: StandIn, show: Show, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    viewer = show(receiver.url)
    qtbot.waitUntil(lambda: viewer.banner.title() == "IDLE", timeout=DEADLINE)

    def broken(**_: Any) -> bool:
        raise KeyError("X-Penstock-Frame")

    monkeypatch.setattr(viewer._feed._follower, "step", broken)

    qtbot.waitUntil(lambda: viewer.banner.title() == "VIEWER FAULT", timeout=DEADLINE)
    assert "KeyError" in viewer.banner.text()
    assert "feed has ended" in caplog.text


def test_a_closed_window_leaves_no_thread(qtbot: Any, receiver: StandIn, show: Show) -> None:
    viewer = show(receiver.url)
    receiver.frame(frame(), 0)
    qtbot.waitUntil(lambda: viewer.drawn() == 1, timeout=DEADLINE)
    assert any(thread.name == "penstock-feed" for thread in threading.enumerate())

    viewer.close()

    assert not any(thread.name == "penstock-feed" for thread in threading.enumerate())


def test_a_window_closes_also_while_the_receiver_is_away(qtbot: Any, receiver: StandIn, show: Show) -> None:
    receiver.down()
    viewer = show(receiver.url)
    qtbot.waitUntil(lambda: viewer.banner.title() == "AWAY", timeout=DEADLINE)

    viewer.close()

    assert not viewer._feed.is_running()


def test_a_pixel_stays_square_when_the_window_is_resized(qtbot: Any, receiver: StandIn, show: Show) -> None:
    viewer = show(receiver.url)
    receiver.frame(frame(1), 0)
    qtbot.waitUntil(lambda: viewer.drawn() == 1, timeout=DEADLINE)

    def is_square() -> bool:
        (left, right), (top, bottom) = viewer.plot.getGraphXLimits(), viewer.plot.getGraphYLimits()
        _, _, width, height = viewer.plot.getPlotBoundsInPixels()
        return abs(width / (right - left) / (height / abs(bottom - top)) - 1) < 0.005

    qtbot.waitUntil(is_square, timeout=DEADLINE)
    for size in ((1900, 700), (900, 1000), (1280, 800)):
        viewer.resize(*size)
        qtbot.waitUntil(lambda width=size[0]: viewer.width() == width, timeout=DEADLINE)
        qtbot.waitUntil(is_square, timeout=DEADLINE)
        (left, right), (top, bottom) = viewer.plot.getGraphXLimits(), viewer.plot.getGraphYLimits()
        fits = (left, right) == (0, 80) or (top, bottom) == (0, 60)
        assert fits, "the whole image is as large as it can be"
