"""The window before a real receiver, fed by a real streamer."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import fabio
import numpy as np
import pytest
from silx.gui import qt

from penstock.cli.main import main
from penstock.gui.live.sources.receiver_source import TIMEOUT
from penstock.gui.live.view import Viewer
from penstock.receiver.validity.pixels import Flag
from penstock.streamer.simulated import patterns
from tests.data import recording
from tests.gui.live.taking import Live, live

DEADLINE = 30_000
"""Milliseconds."""


@pytest.fixture(scope="module")
def beamline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp("live")
    with live(folder, SensorWidth=120, SensorHeight=90, PixelType="uint16") as running:
        yield running


def test_the_series_is_followed_to_its_last_frame_and_counted(
    qtbot: Any, beamline: Live, show: Callable[..., Viewer]
) -> None:
    viewer = show(beamline.url)
    qtbot.waitUntil(lambda: viewer.banner.title() == "IDLE", timeout=DEADLINE)
    file = beamline.folder / "first.h5"

    beamline.take(20, str(file), Pattern="gradient")

    qtbot.waitUntil(lambda: viewer.readings.value("Series", "State") == "complete", timeout=DEADLINE)
    qtbot.waitUntil(lambda: viewer.readings.value("Frame on show", "Number") == "19", timeout=DEADLINE)
    assert np.array_equal(viewer.plot.image().getData(copy=False), patterns.gradient((90, 120), "uint16", 19))
    assert viewer.readings.value("Account", "Stored") == "20"
    assert viewer.readings.value("Account", "Missing") == "0"
    assert viewer.readings.value("Series", "File") == "first.h5"
    assert "complete, 20 of 20 frames" in viewer.banner.text()


@pytest.mark.slow
def test_the_receivers_restart_is_survived(qtbot: Any, beamline: Live, show: Callable[..., Viewer]) -> None:
    viewer = show(beamline.url)
    beamline.take(3)
    qtbot.waitUntil(lambda: viewer.readings.value("Frame on show", "Number") == "2", timeout=DEADLINE)

    beamline.stop_receiver()
    qtbot.waitUntil(lambda: viewer.banner.title() == "AWAY", timeout=DEADLINE)
    beamline.start_receiver()
    qtbot.waitUntil(lambda: viewer.banner.title() == "IDLE", timeout=DEADLINE)
    beamline.take(5)

    qtbot.waitUntil(lambda: viewer.readings.value("Frame on show", "Number") == "4", timeout=DEADLINE)
    assert np.array_equal(viewer.plot.image().getData(copy=False), patterns.gradient((90, 120), "uint16", 4))


@contextmanager
def stopped(beamline: Live) -> Iterator[None]:
    """The receiver's processes do nothing from here to the end of the block, as before a disk that hangs."""
    pid = beamline.receiver.pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    pids = (pid, *map(int, children))
    try:
        for each in pids:
            os.kill(each, signal.SIGSTOP)
        yield
    finally:
        for each in pids:
            os.kill(each, signal.SIGCONT)


def test_a_receiver_that_hangs_stalls_no_window_and_the_picture_can_still_be_read(
    qtbot: Any, beamline: Live, show: Callable[..., Viewer]
) -> None:
    viewer = show(beamline.url)
    viewer.show_measure.setChecked(True)
    viewer.show_regions.setChecked(True)
    beamline.take(3, Pattern="gradient")
    qtbot.waitUntil(lambda: viewer.readings.value("Frame on show", "Number") == "2", timeout=DEADLINE)
    beats = [time.monotonic()]
    clock = qt.QTimer()
    clock.timeout.connect(lambda: beats.append(time.monotonic()))

    with stopped(beamline):
        clock.start(10)
        viewer.past.bar.slider.setValue(0)
        viewer.past.go(0)  # asks the receiver, too
        qtbot.waitUntil(lambda: viewer.banner.title() == "AWAY", timeout=DEADLINE)
        canvas, place = viewer.plot.getWidgetHandle(), viewer.plot.dataToPixel(7.5, 5.5)
        at = qt.QPointF(*place)
        move = qt.QMouseEvent(qt.QEvent.MouseMove, at, qt.Qt.NoButton, qt.Qt.NoButton, qt.Qt.NoModifier)
        qt.QApplication.sendEvent(canvas, move)
        assert viewer.pixel_text().startswith("row 5   column 7   value ")
        clock.stop()
    # A window that waited for the answer would have stood still for as long as it takes to give up.
    assert max(after - before for before, after in pairwise(beats)) < TIMEOUT / 2
    qtbot.waitUntil(lambda: viewer.banner.title() == "IDLE", timeout=DEADLINE)
    viewer.past.go_live()
    beamline.take(5)
    qtbot.waitUntil(lambda: viewer.readings.value("Frame on show", "Number") == "4", timeout=DEADLINE)


def test_the_command_takes_a_picture_of_the_window(
    beamline: Live, tmp_path: Path, qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    beamline.take(2)
    picture = tmp_path / "window.png"

    status = main(["view", beamline.url, "--screenshot", str(picture), "--log", "--downsample", "2"])

    assert status == 0
    image = qt.QImage(str(picture))
    assert (image.width(), image.height()) == (1240, 760)


@pytest.mark.slow
def test_a_picture_that_never_comes_is_given_up_with_the_reason(
    tmp_path: Path, qtbot: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "window.png"

    with live(tmp_path) as without_frames:
        status = main(["view", without_frames.url, "--screenshot", str(picture), "--deadline", "1"])

    assert status == 2
    assert not picture.exists()
    assert "0 of 1 frame came from" in capsys.readouterr().err


@pytest.mark.slow
def test_the_rings_of_a_real_detector_are_on_the_screen(
    qtbot: Any, tmp_path: Path, show: Callable[..., Viewer]
) -> None:
    file = recording("CeO2_Pilatus1M.tif")
    expected = np.asarray(fabio.open(str(file)).data)
    with live(tmp_path) as beamline:
        viewer = show(beamline.url, logarithmic=True)

        beamline.take(1, str(tmp_path / "rings.h5"), Pattern="recording", Recording=str(file))

        qtbot.waitUntil(lambda: viewer.drawn() == 1, timeout=DEADLINE)
        assert np.array_equal(viewer.plot.image().getData(copy=False), expected)
        assert not (viewer.plot.flags() == Flag.INVALID).any(), "a Simulator says of no value that it is none"
        brightness = _brightness_by_radius(viewer, expected >= 0)

    # The strongest ring of CeO2 stands out of what is between it and the next, as drawn.
    assert brightness[154:160].max() > 1.15 * np.median(brightness[100:150])
    assert brightness[154:160].max() > 1.15 * np.median(brightness[165:178])


def _brightness_by_radius(viewer: Viewer, beside_gaps: np.ndarray) -> np.ndarray:
    """Mean brightness of the picture as drawn, by distance from the beam in detector pixels."""
    image = viewer.plot.grab().toImage().convertToFormat(qt.QImage.Format_Grayscale8)
    data = image.constBits().asarray(image.bytesPerLine() * image.height())
    drawn = np.array(data, np.uint8).reshape(image.height(), image.bytesPerLine())
    (left, top), (right, bottom) = viewer.plot.dataToPixel(0, 0), viewer.plot.dataToPixel(100, 100)
    good = beside_gaps & (viewer.plot.flags() == Flag.GOOD)
    row, column = np.nonzero(good)
    x = (left + (column + 0.5) * (right - left) / 100).astype(int)
    y = (top + (row + 0.5) * (bottom - top) / 100).astype(int)
    radius = np.hypot(row - 531, column - 487).astype(int)
    return np.bincount(radius, drawn[y, x]) / np.maximum(np.bincount(radius), 1)
