"""Slider, keys and play: over a file, over a receiver's series, and over what the window itself keeps."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin
import numpy as np
import pytest
from silx.gui import qt

from penstock.gui.live.app import Options, open_viewer
from penstock.gui.live.past.past import Kept
from penstock.gui.live.sources.file_source import FileSource
from penstock.gui.live.sources.receiver_source import ReceiverSource
from penstock.gui.live.sources.source import WHOLE, Away, Part, Refused
from penstock.gui.live.view import Viewer
from penstock.receiver.client import LastFrame
from penstock.receiver.validity.pixels import Flag
from penstock.streamer.simulated import patterns
from tests.gui.live.taking import Live, live
from tests.receiver.conftest import receiver, start_receiver, streamer
from tests.receiver.h5_file import picture, write_series
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer

pytestmark = pytest.mark.slow

__all__ = ["receiver", "start_receiver", "streamer"]

DEADLINE = 60_000
"""Milliseconds."""
Show = Callable[[Any], Viewer]


@pytest.fixture
def look(qtbot: Any) -> Iterator[Show]:
    """Opens windows over any source, and closes them when the test ends."""
    windows: list[Viewer] = []

    def opened(source: Any) -> Viewer:
        viewer = open_viewer(Options(sources=(source,), rate=50.0))
        windows.append(viewer)
        qtbot.addWidget(viewer)
        viewer.start()
        qtbot.waitUntil(lambda: viewer.drawn() >= 1, timeout=DEADLINE)
        return viewer

    yield opened
    for window in windows:
        window.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_series(tmp_path / "scan.h5", 40, lost=(4, 5, 6, 30), corrupt=(12,))
    return tmp_path / "scan.h5"


@pytest.fixture(scope="module")
def beamline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp("past")
    with live(folder, SensorWidth=60, SensorHeight=40, PixelType="uint16") as running:
        yield running


def on_show(viewer: Viewer) -> int:
    frame = viewer.frame_on_show()
    assert frame is not None
    return frame.frame


def until(qtbot: Any, viewer: Viewer, index: int) -> None:
    qtbot.waitUntil(lambda: on_show(viewer) == index, timeout=DEADLINE)


def press(qtbot: Any, viewer: Viewer, key: int, modifier: int = qt.Qt.NoModifier) -> None:
    viewer.activateWindow()
    viewer.past.bar.slider.setFocus()
    qtbot.keyClick(viewer.past.bar.slider, key, modifier)


def test_a_file_opens_on_its_first_frame_and_the_slider_goes_to_any_other(
    qtbot: Any, look: Show, file: Path
) -> None:
    viewer = look(FileSource(file))
    bar = viewer.past.bar
    assert on_show(viewer) == 0 and not bar.live.isVisible()
    assert (bar.slider.minimum(), bar.slider.maximum()) == (0, 39)

    x, y = bar.slider.place(25), bar.slider.height() // 2
    qtbot.mouseClick(bar.slider, qt.Qt.LeftButton, pos=qt.QPoint(x, y))

    until(qtbot, viewer, 25)
    assert np.array_equal(viewer.plot.image().getData(copy=False), picture(25))
    assert viewer.caption.text() == "frame 25 · scan.h5"
    assert bar.status() == "stored" and bar.number.value() == 25


def test_a_file_of_one_frame_has_no_slider(qtbot: Any, look: Show, tmp_path: Path) -> None:
    for frames in (1, 2):
        write_series(tmp_path / f"{frames}.h5", frames)
        viewer = look(FileSource(tmp_path / f"{frames}.h5"))
        qtbot.waitUntil(
            lambda viewer=viewer, frames=frames: viewer.past.bar.isVisible() == (frames > 1), timeout=DEADLINE
        )
        viewer.set_form("tile")
        viewer.set_form("whole")
        assert viewer.past.bar.isVisible() == (frames > 1)


def test_keys_go_one_on_ten_on_to_the_ends_and_from_gap_to_gap(qtbot: Any, look: Show, file: Path) -> None:
    viewer = look(FileSource(file))
    for key, modifier, index in (
        (qt.Qt.Key_Right, qt.Qt.NoModifier, 1), (qt.Qt.Key_PageDown, qt.Qt.NoModifier, 11),
        (qt.Qt.Key_Left, qt.Qt.NoModifier, 10), (qt.Qt.Key_End, qt.Qt.ControlModifier, 39),
        (qt.Qt.Key_PageUp, qt.Qt.NoModifier, 29), (qt.Qt.Key_Home, qt.Qt.ControlModifier, 0),
    ):  # fmt: skip
        press(qtbot, viewer, key, modifier)
        until(qtbot, viewer, index)
    for direction, index in ((qt.Qt.Key_Right, 4), (qt.Qt.Key_Right, 12), (qt.Qt.Key_Left, 4)):
        press(qtbot, viewer, direction, qt.Qt.ControlModifier)
        qtbot.waitUntil(lambda index=index: viewer.past.bar.number.value() == index, timeout=DEADLINE)


def test_a_frame_is_typed_by_its_index(qtbot: Any, look: Show, file: Path) -> None:
    viewer = look(FileSource(file))
    number = viewer.past.bar.number
    number.setFocus()
    number.selectAll()
    qtbot.keyClicks(number, "33")
    qtbot.keyClick(number, qt.Qt.Key_Return)
    until(qtbot, viewer, 33)


def test_all_gaps_are_marked_on_the_slider_each_with_its_fate(qtbot: Any, look: Show, file: Path) -> None:
    viewer = look(FileSource(file))
    bar = viewer.past.bar
    assert [fate for _, _, fate in bar.slider.marks()] == ["missing", "corrupt", "missing"]
    assert bar.note() == "5 frames are lost or not whole"
    shot = bar.slider.grab().toImage()
    bad = qt.QColor(viewer._theme.fates["missing"]).name()
    column = {shot.pixelColor(bar.slider.place(30), y).name() for y in range(shot.height())}
    assert bad in column and bar.slider.fate_near(bar.slider.place(12)) == "corrupt"

    viewer.past.go(5)

    qtbot.waitUntil(lambda: bar.note() == "▲ Frame 5 is missing: it never arrived", timeout=DEADLINE)
    assert on_show(viewer) == 0 and bar.status() == "missing", "the picture is the one before, and says so"


def test_play_asks_for_the_next_when_the_last_is_drawn_and_never_for_two(
    qtbot: Any, look: Show, file: Path
) -> None:
    source = FileSource(file)
    asked: list[int] = []
    under_way = threading.Semaphore(1)
    real = source.frame

    def counted(index: int, part: Part = WHOLE) -> LastFrame:
        assert under_way.acquire(blocking=False), "two requests at the same time"
        try:
            assert not asked or on_show(viewer) == asked[-1], "the last one is not on the screen yet"
            asked.append(index)
            return real(index, part)
        finally:
            under_way.release()

    viewer = look(source)
    source.frame = counted  # type: ignore[method-assign]

    press(qtbot, viewer, qt.Qt.Key_P)

    qtbot.waitUntil(lambda: not viewer.past.bar.is_playing(), timeout=60_000)
    until(qtbot, viewer, 39)
    assert asked == [index for index in range(1, 40) if index not in (4, 5, 6, 12, 30)]


def test_the_one_saturated_frame_of_many_is_found(qtbot: Any, look: Show, tmp_path: Path) -> None:
    stack = np.zeros((2000, 8, 8), np.uint16)
    stack[1234, 3, 4] = 65535
    with h5py.File(tmp_path / "many.h5", "w") as file:
        file["frames"] = stack
    viewer = look(FileSource(tmp_path / "many.h5"))

    press(qtbot, viewer, qt.Qt.Key_F3)

    until(qtbot, viewer, 1234)
    press(qtbot, viewer, qt.Qt.Key_F3)
    bar = viewer.past.bar
    qtbot.waitUntil(
        lambda: bar.note() == "▲ No frame from 1,235 to 1,999 has a saturated pixel", timeout=DEADLINE
    )
    assert on_show(viewer) == 1234


def test_frames_that_cannot_be_read_are_not_said_to_have_no_saturated_pixel(
    qtbot: Any, look: Show, tmp_path: Path
) -> None:
    counts = np.random.default_rng(1).poisson(7, (6, 100, 100)).astype(np.uint16)
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        stored = file.create_dataset(
            "frames", data=counts, chunks=(1, 100, 100), **hdf5plugin.Bitshuffle(cname="lz4")
        )
        chunk = stored.id.get_chunk_info(3)
    content = bytearray(path.read_bytes())
    content[chunk.byte_offset + 12 : chunk.byte_offset + chunk.size] = bytes([255]) * (chunk.size - 12)
    path.write_bytes(content)
    viewer = look(FileSource(path))

    press(qtbot, viewer, qt.Qt.Key_F3)

    words = "▲ No frame from 1 to 5 has a saturated pixel; 1 of them could not be read"
    qtbot.waitUntil(lambda: viewer.past.bar.note() == words, timeout=DEADLINE)


def test_a_saturated_frame_is_found_also_while_frames_come_in_blocks(
    qtbot: Any, look: Show, receiver: ReceiverProcess, streamer: Streamer
) -> None:
    series = streamer.start(str(receiver.root / "a.h5"), frames=6)
    for number in range(6):
        frame = np.full((12, 16), number, np.uint16)
        frame[5, 5] = 65535 if number == 4 else 0
        streamer.frame(number, frame)
    streamer.end(reason="complete", triggered=6, sent=6)
    receiver.ended(series)
    viewer = look(ReceiverSource.at(receiver.client.url))
    viewer.controls.block.setValue(4)
    viewer.past.go(0)
    qtbot.waitUntil(lambda: on_show(viewer) == 0 and viewer.plot.whole().is_reduced, timeout=DEADLINE)

    press(qtbot, viewer, qt.Qt.Key_F3)

    until(qtbot, viewer, 4)
    assert viewer.plot.whole().flag(5, 5) == Flag.SATURATED, "and is shown whole"


def test_a_frame_of_a_receivers_last_series_is_fetched_and_live_goes_back(
    qtbot: Any, beamline: Live, look: Show
) -> None:
    viewer = look_at(beamline, look, 12, "past.h5")
    until(qtbot, viewer, 11)
    assert viewer.past.bar.live.isChecked() and viewer.past.is_live()

    viewer.past.bar.slider.setValue(3)

    until(qtbot, viewer, 3)
    expected = patterns.gradient((40, 60), "uint16", 3)
    assert np.array_equal(viewer.plot.image().getData(copy=False), expected)
    assert not viewer.past.bar.live.isChecked()
    press(qtbot, viewer, qt.Qt.Key_End)
    until(qtbot, viewer, 11)
    assert viewer.past.is_live()


def test_of_a_live_series_the_frames_that_the_window_has_shown_are_there(
    qtbot: Any, beamline: Live, look: Show
) -> None:
    viewer = look_at(beamline, look, 1, "before.h5")

    beamline.take(60, "", Pattern="gradient")

    qtbot.waitUntil(lambda: viewer.readings.value("Series", "State") == "complete", timeout=DEADLINE)
    until(qtbot, viewer, 59)
    kept, bar = viewer.past.kept.indices(), viewer.past.bar
    assert kept[-1] == 59 and (bar.slider.minimum(), bar.slider.maximum()) == (kept[0], 59)
    last = f"last {len(kept)} frames are" if len(kept) > 1 else "last frame is"
    assert bar.note() == f"In no file: the {last} kept here"
    viewer.past.go(kept[0])
    until(qtbot, viewer, kept[0])
    expected = patterns.gradient((40, 60), "uint16", kept[0])
    assert np.array_equal(viewer.plot.image().getData(copy=False), expected)


def test_a_frame_of_the_series_before_is_not_given_a_status_in_the_next_one(
    qtbot: Any, beamline: Live, look: Show
) -> None:
    viewer = look_at(beamline, look, 12, "long.h5")
    viewer.past.go(8)
    qtbot.waitUntil(lambda: viewer.past.bar.status() == "stored", timeout=DEADLINE)
    until(qtbot, viewer, 8)

    beamline.take(3, str(beamline.folder / "short.h5"), Pattern="gradient")

    qtbot.waitUntil(lambda: viewer.readings.value("Series", "File") == "short.h5", timeout=DEADLINE)
    qtbot.waitUntil(lambda: viewer.readings.value("Series", "State") == "complete", timeout=DEADLINE)
    assert viewer.caption.text().startswith("frame 8 ·") and "long.h5" in viewer.caption.text()
    bar = viewer.past.bar
    assert bar.status() == "of the series before"
    shot = bar.slider.grab().toImage()
    inks = {shot.pixelColor(x, shot.height() // 2 - 8).name() for x in range(shot.width())}
    assert bar.number.text() == "" and len(inks) == 1, "there is no handle above the groove"
    with qtbot.assertNotEmitted(bar.asked):
        bar.number.setFocus()  # and away: nobody has typed a number
        bar.slider.setFocus()
    press(qtbot, viewer, qt.Qt.Key_Left)
    until(qtbot, viewer, 2)
    qtbot.waitUntil(lambda: viewer.past.bar.status() == "stored", timeout=DEADLINE)
    assert "short.h5" in viewer.caption.text()


def test_what_is_kept_has_a_bound_and_the_oldest_goes_first() -> None:
    kept = Kept(capacity=3 * 64)
    kept.begin("a")
    for index in range(5):
        kept.keep(frame_of(index))
    kept.keep(frame_of(9, downsample=2))
    assert kept.indices() == [2, 3, 4] and kept.nearest(0) == 2
    kept.begin("b")
    kept.keep(frame_of(7))
    assert kept.indices() == [], "of another series"


def test_busy_is_waited_for_and_said_and_is_no_error(qtbot: Any, look: Show, file: Path) -> None:
    source = FileSource(file)
    real, busy, free = source.frame, threading.Event(), threading.Event()

    def frame(index: int, part: Part = WHOLE) -> LastFrame:
        if not free.is_set():
            busy.set()
            raise Refused("the next turn is more than 5 s away", "busy", 0.05)
        return real(index, part)

    viewer = look(source)
    source.frame = frame  # type: ignore[method-assign]
    bar = viewer.past.bar

    viewer.past.go(7)

    qtbot.waitUntil(
        lambda: bar.note() == "Waiting for the receiver's turn to read frame 7 …", timeout=DEADLINE
    )
    assert busy.is_set() and viewer.banner.kind() not in ("error", "fault")
    free.set()
    until(qtbot, viewer, 7)
    assert "▲" not in bar.note()


def test_while_a_series_runs_the_gaps_that_the_window_met_are_so_far(
    qtbot: Any, look: Show, file: Path
) -> None:
    source = Running(file)
    viewer = look(source)
    bar = viewer.past.bar
    assert bar.slider.marks() == []
    for index in (5, 12):
        viewer.past.go(index)
        qtbot.waitUntil(lambda: "▲" in bar.note(), timeout=DEADLINE)
    viewer.past.go(13)
    until(qtbot, viewer, 13)
    assert bar.note() == "2 frames are lost or not whole so far"
    assert viewer.caption.text() == "frame 13 · scan.h5 · not the newest frame"

    source.running = False
    source.reload()

    qtbot.waitUntil(lambda: bar.note() == "5 frames are lost or not whole", timeout=DEADLINE)


def test_a_file_without_images_says_what_it_has(qtbot: Any, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "powder.h5", "w") as file:
        result = file.create_group("result")
        result.attrs["NX_class"], result.attrs["signal"] = "NXdata", "intensity"
        result["intensity"], result["q"] = np.arange(9.0), np.arange(9.0)
    viewer = open_viewer(Options(sources=(FileSource(tmp_path / "powder.h5"),)))
    qtbot.addWidget(viewer)
    viewer.start()
    says = "There are no images here, but curves: result/intensity; one value per frame: result/q."
    qtbot.waitUntil(lambda: viewer.banner.text() == says, timeout=DEADLINE)
    assert viewer.banner.title() == "NO IMAGES"
    assert says in [label.text() for label in viewer.findChildren(qt.QLabel) if label.isVisible()]
    assert not viewer.past.bar.slider.isEnabled() or not viewer.past.bar.isVisible()
    viewer.close()


def test_a_file_that_cannot_be_read_is_said_and_read_once_it_can_be(qtbot: Any, tmp_path: Path) -> None:
    path = tmp_path / "later.h5"
    path.write_text("some text")
    viewer = open_viewer(Options(sources=(FileSource(path),)))
    qtbot.addWidget(viewer)
    viewer.start()
    qtbot.waitUntil(lambda: viewer.banner.title() == "NOT READ", timeout=DEADLINE)
    assert viewer.banner.text().startswith(f"{path} is neither HDF5 nor an image")
    path.unlink()
    write_series(path, 3)
    qtbot.waitUntil(lambda: viewer.drawn() == 1, timeout=DEADLINE)
    assert (
        viewer.banner.text()
        == "3 frames of 6 × 8, uint16, /entry/instrument/sim/data; the series is complete."
    )
    viewer.close()


def test_which_images_of_a_file_are_on_show_is_chosen_and_reload_keeps_the_frame(
    qtbot: Any, look: Show, tmp_path: Path
) -> None:
    path = tmp_path / "two.h5"
    with h5py.File(path, "w") as file:
        file["one"], file["two"] = np.zeros((4, 3, 5), np.uint8), np.full((6, 3, 5), 7, np.uint8)
    viewer = look(FileSource(path))
    viewer.past.go(2)
    until(qtbot, viewer, 2)
    images = viewer.controls.images
    assert [images.itemText(place) for place in range(images.count())] == ["one", "two"]

    images.setCurrentText("two")

    counts = viewer.plot.image()
    qtbot.waitUntil(lambda: bool((counts.getData(copy=False) == 7).all()), timeout=DEADLINE)
    assert on_show(viewer) == 2 and viewer.past.bar.slider.maximum() == 5
    path.unlink()
    with h5py.File(path, "w") as file:
        file["one"], file["two"] = np.zeros((4, 3, 5), np.uint8), np.full((6, 3, 5), 9, np.uint8)
    press(qtbot, viewer, qt.Qt.Key_F5)
    qtbot.waitUntil(lambda: bool((counts.getData(copy=False) == 9).all()), timeout=DEADLINE)
    assert on_show(viewer) == 2


def test_a_file_that_is_gone_when_it_is_read_again_is_said_to_be_until_it_is_back(
    qtbot: Any, look: Show, tmp_path: Path
) -> None:
    path = tmp_path / "some.h5"
    with h5py.File(path, "w") as file:
        file["one"] = np.zeros((4, 3, 5), np.uint8)
    viewer = look(FileSource(path))
    viewer.past.go(2)
    until(qtbot, viewer, 2)
    path.rename(tmp_path / "away.h5")

    press(qtbot, viewer, qt.Qt.Key_F5)

    qtbot.waitUntil(lambda: viewer.banner.title() == "NOT READ", timeout=DEADLINE)
    source = viewer._feed.source()
    for _ in range(3):
        with pytest.raises(Away, match=r"some\.h5 does not exist"):
            source.status()
    assert "The picture is the last that was read" in viewer.banner.text() and on_show(viewer) == 2
    (tmp_path / "away.h5").rename(path)
    qtbot.waitUntil(lambda: viewer.banner.title() == "FILE", timeout=DEADLINE)


def test_the_name_of_a_file_is_said_as_it_is(qtbot: Any, look: Show, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "some.h5", "w") as file:
        file["one"] = np.zeros((4, 3, 5), np.uint8)
    viewer = look(FileSource(tmp_path / "some.h5"))
    viewer.past.go(7)
    said = "▲ There is no frame 7 in some.h5; the last is 3"
    qtbot.waitUntil(lambda: viewer.past.bar.note() == said, timeout=DEADLINE)


def test_a_hidden_window_plays_no_further(qtbot: Any, look: Show, file: Path) -> None:
    viewer = look(FileSource(file))
    viewer.past.bar.play.trigger()
    viewer.hide()
    assert not viewer.past.bar.is_playing()


def test_a_closed_window_leaves_no_thread(qtbot: Any, look: Show, file: Path) -> None:
    viewer = look(FileSource(file))
    viewer.past.go(3)
    until(qtbot, viewer, 3)
    viewer.close()
    assert not any(thread.name == "penstock-past" for thread in threading.enumerate())


class Running(FileSource):
    """A file that poses as a receiver whose series runs: everything but the account of the others is real."""

    is_file = False
    running = True

    def status(self, seen: int | None = None, wait: float = 0.0) -> Any:
        status = super().status(seen, wait)
        state = "running" if self.running else "idle"
        series = type(status.series)(**{**vars(status.series), "active": self.running})
        return type(status)(**{**vars(status), "state": state, "series": series})


def look_at(beamline: Live, look: Show, frames: int, name: str) -> Viewer:
    """A window that was open while a series was taken."""
    filename = str(beamline.folder / name) if name else ""
    beamline.take(frames, filename, Pattern="gradient")
    return look(ReceiverSource.at(beamline.url))


def frame_of(index: int, downsample: int = 1) -> LastFrame:
    return LastFrame(np.zeros((8, 8), np.uint8), index, "a", 1, downsample)
