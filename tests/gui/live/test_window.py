"""Several pictures in one window: tabs, tiles, the wall; files that are opened and dropped."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from silx.gui import qt

from penstock.gui import theme
from penstock.gui.live.app import Options, open_window, run
from penstock.gui.live.drawing.levels import Scale
from penstock.gui.live.regions.model import Row
from penstock.gui.live.sources.file_source import FileSource
from penstock.gui.live.sources.receiver_source import ReceiverSource
from penstock.gui.live.view import LiveView
from penstock.gui.live.window import Window
from penstock.receiver.models import Counts, Rectangle
from tests.gui.live.stand_in import StandIn
from tests.receiver.h5_file import write_series

DEADLINE = 60_000
"""Milliseconds."""
IMAGE = np.arange(4800, dtype=np.int32).reshape(60, 80)
Open = Callable[..., Window]


@pytest.fixture
def opened(qtbot: Any) -> Iterator[Open]:
    windows: list[Window] = []

    def make(*sources: Any, **options: Any) -> Window:
        window = open_window(Options(sources=sources, **options))
        windows.append(window)
        qtbot.addWidget(window)
        window.resize(1280, 800)
        window.show()
        return window

    yield make
    for window in windows:
        window.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_series(tmp_path / "scan.h5", 8, lost=(2,))
    return tmp_path / "scan.h5"


def all_drawn(qtbot: Any, window: Window) -> None:
    qtbot.waitUntil(lambda: all(view.drawn() >= 1 for view in window.views()), timeout=DEADLINE)


def press(qtbot: Any, window: Window, key: int, modifier: int = qt.Qt.NoModifier) -> None:
    """Press a key, as the keyboard does: whoever has the focus gets it."""
    qtbot.keyClick(window.windowHandle(), key, modifier)


def drop(view: LiveView, *paths: Path) -> None:
    """Let go of files over a view."""
    data = qt.QMimeData()
    data.setUrls([qt.QUrl.fromLocalFile(str(path)) for path in paths])
    place = qt.QPoint(40, 40)
    enter = qt.QDragEnterEvent(place, qt.Qt.CopyAction, data, qt.Qt.LeftButton, qt.Qt.NoModifier)
    qt.QApplication.sendEvent(view, enter)
    assert enter.isAccepted()
    event = qt.QDropEvent(qt.QPointF(place), qt.Qt.CopyAction, data, qt.Qt.LeftButton, qt.Qt.NoModifier)
    qt.QApplication.sendEvent(view, event)


def test_one_picture_has_no_tabs_and_a_dropped_file_is_one_more(
    qtbot: Any, opened: Open, receiver: StandIn, file: Path
) -> None:
    receiver.frame(IMAGE, 0)
    window = opened(ReceiverSource.at(receiver.url))
    all_drawn(qtbot, window)
    assert not window.tabs.tabBar().isVisible()

    drop(window.views()[0], file)

    all_drawn(qtbot, window)
    qtbot.waitUntil(lambda: window.windowTitle() == "scan.h5 – file – Penstock", timeout=DEADLINE)
    assert window.tabs.tabBar().isVisible() and window.current() is window.views()[1]
    assert window.tabs.tabText(0) == "sim-1 – idle"
    drop(window.views()[0], file)
    assert len(window.views()) == 2, "it is on show already"
    qtbot.keyClick(window, qt.Qt.Key_W, qt.Qt.ControlModifier)
    assert len(window.views()) == 1 and window.isVisible()


def test_tiles_show_all_of_them_and_give_the_picture_the_room(
    qtbot: Any, opened: Open, receiver: StandIn, file: Path
) -> None:
    receiver.frame(IMAGE, 0)
    window = opened(ReceiverSource.at(receiver.url), FileSource(file), tiles=True)
    all_drawn(qtbot, window)
    assert [view.isVisible() for view in window.views()] == [True, True]
    assert not any(view.readings.isVisible() for view in window.views())
    assert all(view.plot.width() > 350 for view in window.views())
    assert [view.banner.text().partition(": ")[0] for view in window.views()] == ["sim-1", "scan.h5"]
    assert not any(view.figures.isVisible() for view in window.views()), "there is no room for them"

    qtbot.keyClick(window, qt.Qt.Key_F12)

    assert [view.isVisible() for view in window.views()] == [True, False]
    assert window.views()[0].readings.isVisible() and window.views()[0].figures.isVisible()
    assert not window.views()[0].banner.text().startswith("sim-1: ")


def test_a_tab_that_was_never_in_front_does_not_say_that_it_reads(
    qtbot: Any, opened: Open, receiver: StandIn, file: Path
) -> None:
    window = opened(ReceiverSource.at(receiver.url), FileSource(file))
    assert window.tabs.tabText(1) == "scan.h5"
    window.tabs.setCurrentIndex(1)
    qtbot.waitUntil(lambda: window.tabs.tabText(1) == "scan.h5 – file", timeout=DEADLINE)


def test_the_place_of_no_tile_is_of_the_windows_colour(qtbot: Any, opened: Open, file: Path) -> None:
    window = opened(*[FileSource(file)] * 3, tiles=True)
    all_drawn(qtbot, window)
    place = window.rect().bottomRight() - qt.QPoint(100, 100)
    ground = window.palette().color(qt.QPalette.Window).name()
    assert window.grab().toImage().pixelColor(place).name() == ground
    window.toggle_tiles()
    window.toggle_tiles()
    assert window.grab().toImage().pixelColor(place).name() == ground

    window.add(window._make(str(file)))

    seen = [
        each for each in window._grid_page.children() if isinstance(each, qt.QWidget) and each.isVisible()
    ]
    assert set(seen) == set(window.views()), "nothing covers a tile"


def test_the_address_is_there_as_a_whole_or_not_at_all(qtbot: Any, opened: Open, receiver: StandIn) -> None:
    theme.apply(qt.QApplication.instance(), theme.DARK)
    window = opened(ReceiverSource.at(receiver.url))
    address = window.current()._status.address
    qtbot.waitUntil(lambda: address.text() == receiver.url, timeout=DEADLINE)
    for width in (900, 1300):
        window.resize(width, 700)
        qtbot.waitUntil(
            lambda width=width: (
                address.text() == (receiver.url if width > 1000 else "")
                and address.width() >= address.sizeHint().width()
                and address.geometry().right() <= width
            ),
            timeout=DEADLINE,
        )


def test_the_cross_of_a_tab_closes_it(qtbot: Any, opened: Open, receiver: StandIn, file: Path) -> None:
    window = opened(ReceiverSource.at(receiver.url), FileSource(file))
    (_, second) = window.views()

    window.tabs.tabBar().tabButton(0, qt.QTabBar.RightSide).click()

    assert window.views() == [second]


@pytest.mark.parametrize(
    ("content", "frame", "why"),
    [
        ("text", None, " is neither HDF5 nor an image that is read here"),
        ("numbers", None, ": There are no images here, but one value per frame: motor."),
        ("images", 8, "there is no frame 8 in scan.h5; the last is 7"),
        ("images", 2, "frame 2 is missing: it never arrived"),
    ],
)
def test_a_picture_that_can_never_come_is_given_up_at_once(
    qtbot: Any, tmp_path: Path, content: str, frame: int | None, why: str
) -> None:
    path = tmp_path / "scan.h5"
    if content == "text":
        path.write_text("some text")
    elif content == "numbers":
        with h5py.File(path, "w") as written:
            written["motor"] = np.arange(10.0)
    else:
        write_series(path, 8, lost=(2,))
    said: list[str] = []

    options = Options(sources=(FileSource(path),), frame=frame, screenshot=tmp_path / "window.png")
    found = run(options, waits=said.append)

    assert found is not None and found.startswith("no picture: ") and why in found
    assert said == [], "it is said once"
    assert not (tmp_path / "window.png").exists()


def test_the_wall_has_nothing_but_pictures_states_and_counts(
    qtbot: Any, opened: Open, receiver: StandIn, file: Path
) -> None:
    receiver.run(counts=Counts(planned=100, received=12))
    receiver.frame(IMAGE, 11)
    window = opened(ReceiverSource.at(receiver.url), FileSource(file))
    qtbot.waitUntil(lambda: window.views()[0].drawn() >= 1, timeout=DEADLINE)

    qtbot.keyClick(window, qt.Qt.Key_F11)

    all_drawn(qtbot, window)
    assert window.isFullScreen()
    first, second = window.views()
    assert first.plate.text() == "sim-1 · RUNNING · 12 of 100"
    assert second.plate.text() == "scan.h5 · FILE · 8"
    for view in (first, second):
        assert view.plate.isVisible() and view.plot.isVisible()
        for part in (
            view.banner,
            view.caption,
            view.past.bar,
            view.controls,
            view.statusBar(),
        ):
            assert not part.isVisible()
    qtbot.keyClick(window, qt.Qt.Key_Escape)
    assert not window.isFullScreen() and first.past.bar.isVisible() and first.banner.isVisible()
    assert not first.plate.isVisible()


def test_a_wall_has_no_docks_also_of_what_is_remembered_and_they_are_back_after_it(
    qtbot: Any, opened: Open, receiver: StandIn
) -> None:
    def parts(view: LiveView) -> list[qt.QWidget]:
        return [view.regions, view.measure, view.levels, view.controls, view.statusBar()]

    receiver.frame(IMAGE, 0)
    before = opened(ReceiverSource.at(receiver.url))
    all_drawn(qtbot, before)
    before.views()[0].show_regions.setChecked(True)
    before.views()[0].show_measure.setChecked(True)
    before.close()

    window = opened(ReceiverSource.at(receiver.url))
    window.toggle_wall()
    (view,) = window.views()
    qtbot.waitUntil(lambda: view.drawn() >= 1 and view.show_regions.isChecked(), timeout=DEADLINE)
    assert not any(part.isVisible() for part in parts(view))
    for key in (qt.Qt.Key_R, qt.Qt.Key_G, qt.Qt.Key_B, qt.Qt.Key_H):
        press(qtbot, window, key)
    view.controls.log_colours.toggle()  # and now it is kept
    assert not any(part.isVisible() for part in parts(view))
    window.leave_wall()
    assert [part.isHidden() for part in parts(view)] == [False] * 5
    window.toggle_wall()
    assert not any(part.isVisible() for part in parts(view))
    window.close()

    again = opened(ReceiverSource.at(receiver.url))
    all_drawn(qtbot, again)
    assert not again.views()[0].regions.isHidden() and not again.views()[0].measure.isHidden()


def toggles(view: LiveView) -> dict[int, Callable[[], bool]]:
    """What each key without a modifier switches in the view of a file, and whether it is on."""
    look = view.plot.look
    return {
        qt.Qt.Key_L: lambda: look.scale() is Scale.LOG, qt.Qt.Key_A: look.is_autoscale,
        qt.Qt.Key_H: view.levels.isVisible, qt.Qt.Key_M: look.is_mask_shown,
        qt.Qt.Key_G: lambda: not view.measure.isHidden(),
        qt.Qt.Key_B: view.draw_rectangle.isChecked, qt.Qt.Key_Space: view.controls.pause.isChecked,
        qt.Qt.Key_P: view.past.bar.play.isChecked,
    }  # fmt: skip


def act(qtbot: Any, window: Window, view: LiveView, where: str) -> None:
    """All keys of the how-to pages, typed where the focus is."""
    for key, is_on in toggles(view).items():
        before = is_on()
        press(qtbot, window, key)
        assert is_on() is not before, f"{chr(key)} with the focus on {where}"
        press(qtbot, window, key)
        assert is_on() is before, f"{chr(key)} twice with the focus on {where}"
    view.past.go(0)
    for key, index in ((qt.Qt.Key_Right, 1), (qt.Qt.Key_PageDown, 7), (qt.Qt.Key_Left, 6)):
        press(qtbot, window, key)
        assert view.past._index == index, f"{key:#x} with the focus on {where}"


@pytest.mark.slow
def test_keys_act_at_once_and_wherever_the_focus_is(qtbot: Any, opened: Open, file: Path) -> None:
    window = opened(FileSource(file), FileSource(file))
    window.activateWindow()
    view = window.views()[0]
    qtbot.waitUntil(lambda: view.drawn() >= 1, timeout=DEADLINE)
    act(qtbot, window, view, "what has it first")
    controls, bar = view.controls, view.past.bar
    for widget in (controls.scale, controls.more, view.plot, bar.slider, bar.live, view.colour_bar):
        widget.setFocus()
        act(qtbot, window, view, type(widget).__name__)

    bar.number.setFocus()
    bar.number.selectAll()
    for key in (qt.Qt.Key_4, qt.Qt.Key_Left, qt.Qt.Key_L, qt.Qt.Key_0):
        press(qtbot, window, key)
    assert bar.number.text() == "04" and view.past._index == 6, "the field has the keys while one types"
    press(qtbot, window, qt.Qt.Key_Backspace)
    press(qtbot, window, qt.Qt.Key_Return)
    assert view.past._index == 4
    act(qtbot, window, view, "the slider, after a number was typed")

    press(qtbot, window, qt.Qt.Key_Tab, qt.Qt.ControlModifier)
    other = window.views()[1]
    qtbot.waitUntil(lambda: other.drawn() >= 1, timeout=DEADLINE)
    act(qtbot, window, other, "another tab")


def test_the_arrows_move_in_the_table_that_has_the_focus(qtbot: Any, opened: Open, receiver: StandIn) -> None:
    receiver.run(counts=Counts(planned=9, received=9))
    receiver.frame(IMAGE, 8)
    window = opened(ReceiverSource.at(receiver.url))
    window.activateWindow()
    all_drawn(qtbot, window)
    (view,) = window.views()
    press(qtbot, window, qt.Qt.Key_R)
    assert not view.regions.isHidden()
    table = view.regions.table
    place = Rectangle(x=0, y=0, width=2, height=2)
    table.show_rows([Row("peak", place, 9, 3, 5, 1), Row("ground", place, 4, 1, 1, 0)])
    table.setFocus()
    table.setCurrentCell(0, 1)
    press(qtbot, window, qt.Qt.Key_Right)
    press(qtbot, window, qt.Qt.Key_Down)
    assert (table.currentRow(), table.currentColumn()) == (1, 2) and view.past.is_live()
    press(qtbot, window, qt.Qt.Key_Space)
    assert view.controls.pause.isChecked()


def test_a_tile_that_is_hidden_asks_for_no_frames(
    qtbot: Any, opened: Open, receiver: StandIn, file: Path
) -> None:
    receiver.frame(IMAGE, 0)
    window = opened(FileSource(file), ReceiverSource.at(receiver.url))
    qtbot.waitUntil(lambda: window.views()[0].drawn() >= 1, timeout=DEADLINE)
    assert not any(path.startswith("/last_frame") for path in receiver.requests)
    qtbot.keyClick(window, qt.Qt.Key_Tab, qt.Qt.ControlModifier)
    all_drawn(qtbot, window)


def test_a_closed_window_leaves_no_thread(qtbot: Any, opened: Open, file: Path) -> None:
    window = opened(FileSource(file), FileSource(file), tiles=True)
    all_drawn(qtbot, window)
    window.close()
    names = {thread.name for thread in threading.enumerate()}
    assert not names & {"penstock-feed", "penstock-past", "penstock-painter"}


@pytest.mark.slow
def test_a_tab_whose_receiver_hangs_is_closed_at_once_and_released_later(
    qtbot: Any, opened: Open, file: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as hangs:
        url = f"http://127.0.0.1:{hangs.getsockname()[1]}"
        window = opened(FileSource(file), ReceiverSource.at(url))
        qtbot.waitUntil(lambda: window.views()[0].drawn() >= 1, timeout=DEADLINE)
        closed = window.views()[1]
        qtbot.keyClick(window, qt.Qt.Key_Tab, qt.Qt.ControlModifier)
        qtbot.waitUntil(lambda: window.current() is closed and closed.is_running(), timeout=DEADLINE)
        with hangs.accept()[0]:  # it asks, and is not answered
            ended: list[bool] = []
            closed.destroyed.connect(lambda: ended.append(True))

            window.close_current()

            assert closed.is_running() and not closed.isVisible()
            assert [view.windowTitle().partition(" ")[0] for view in window.views()] == ["scan.h5"]
            qtbot.waitUntil(lambda: bool(ended), timeout=DEADLINE)


def test_a_failure_inside_is_said_and_ends_nothing(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said: list[str] = []

    def fails() -> None:
        shown = (each for each in qt.QApplication.topLevelWidgets() if each.isVisible())
        window = next(each for each in shown if isinstance(each, Window))
        qt.QTimer.singleShot(0, lambda: said.append(window.failure.text()))
        raise ValueError("of a day in May")

    picture = tmp_path / "window.png"
    assert run(Options(sources=(FileSource(file),), screenshot=picture), ready=fails) is None
    assert said and said[0].startswith("The viewer had an internal error (ValueError: of a day in May)")
    assert picture.exists()
    assert "Traceback" in capsys.readouterr().err


def test_a_picture_of_tabs_waits_for_the_one_in_front(file: Path, tmp_path: Path) -> None:
    picture = tmp_path / "window.png"
    behind = FileSource(tmp_path / "not-there.h5")

    assert run(Options(sources=(FileSource(file), behind), screenshot=picture)) is None
    assert picture.exists()


def test_a_picture_of_tiles_waits_for_each_of_them(file: Path, tmp_path: Path) -> None:
    picture = tmp_path / "window.png"
    beside = FileSource(tmp_path / "not-there.h5")

    why = run(Options(sources=(FileSource(file), beside), tiles=True, screenshot=picture))

    assert why is not None and "not-there.h5" in why
    assert not picture.exists()
