"""Files of real detectors in the window: their pixels, frame by frame, and each mark in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fabio
import h5py
import numpy as np
import numpy.typing as npt
import pytest
from fabio.cbfimage import CbfImage
from fabio.edfimage import EdfImage
from hdf5plugin import Bitshuffle
from silx.gui import qt

from penstock.cli._recordings.recorded import recorded
from penstock.codecs import bslz4
from penstock.gui import theme
from penstock.gui.live.app import Options, open_viewer
from penstock.gui.live.sources.file_source import FileSource
from penstock.gui.live.view import Viewer
from tests.data import CEO2, EIGER_V2, LAMBDA, recording

DEADLINE = 60_000
"""Milliseconds."""
Look = Callable[[Path], Viewer]
Pixels = npt.NDArray[Any]

HEADER = """# Detector: PILATUS 1M
# Pixel_size 172e-6 m x 172e-6 m
# Tau = 124.0e-09 s
# Count_cutoff 500000 counts
# Threshold_setting: 15000 eV
# Wavelength 0.4133 A
# Detector_distance 0.21143 m
# Beam_xy (498.18, 515.77) pixels"""
"""As a PILATUS has it; the cutoff is lower than the real one, so that some pixels are above it."""


@pytest.fixture
def look(qtbot: Any) -> Iterator[Look]:
    windows: list[Viewer] = []

    def opened(file: Path) -> Viewer:
        viewer = open_viewer(Options(sources=(FileSource(file),), rate=50.0))
        windows.append(viewer)
        qtbot.addWidget(viewer)
        viewer.start()
        qtbot.waitUntil(lambda: viewer.drawn() >= 1, timeout=DEADLINE)
        return viewer

    yield opened
    for window in windows:
        window.close()


def master(file: Path) -> tuple[Path, list[Pixels], Pixels]:
    """What a real EIGER has sent, as a master file and two data files like those of DECTRIS' file writer."""
    real = recorded(recording(EIGER_V2))
    rows, columns = real.shape
    frames = [
        bslz4.decompress(blob, rows * columns, np.dtype(real.dtype)).reshape(real.shape)
        for blob in real.frames
    ]
    with h5py.File(file, "w") as made:
        made.create_group("entry").attrs["NX_class"] = "NXentry"
        data = made.create_group("entry/data")
        data.attrs["NX_class"] = "NXdata"
        detector = made.create_group("entry/instrument/detector")
        detector.attrs["NX_class"] = "NXdetector"
        for name in ("x_pixel_size", "y_pixel_size"):
            detector[name] = real.config[name]
            detector[name].attrs["units"] = "m"
        special = detector.create_group("detectorSpecific")
        special["pixel_mask"] = real.tables["pixel_mask"]
        special["countrate_correction_count_cutoff"] = real.config["countrate_correction_count_cutoff"]
        for number, part in enumerate((real.frames[:6], real.frames[6:]), 1):
            name = f"{file.stem.removesuffix('_master')}_data_{number:06d}.h5"
            data[f"data_{number:06d}"] = h5py.ExternalLink(name, "/entry/data/data")
            with h5py.File(file.parent / name, "w") as one:
                stored = one.create_dataset(
                    "entry/data/data", (len(part), rows, columns), real.dtype, chunks=(1, rows, columns),
                    **Bitshuffle(cname="lz4"),
                )  # fmt: skip
                for place, blob in enumerate(part):
                    stored.id.write_direct_chunk((place, 0, 0), blob)
                stored.attrs["image_nr_low"] = 1 + 6 * (number - 1)
                stored.attrs["image_nr_high"] = 6 * (number - 1) + len(part)
    return file, frames, np.asarray(real.tables["pixel_mask"])


def shown(viewer: Viewer) -> Pixels:
    return np.asarray(viewer.plot.image().getData(copy=False))


def settle(qtbot: Any, viewer: Viewer) -> None:
    """Until what is in sight is on the screen."""
    qtbot.waitUntil(viewer.plot.is_current, timeout=DEADLINE)
    qt.QApplication.processEvents()
    qtbot.waitUntil(viewer.plot.is_current, timeout=DEADLINE)


def zoom(qtbot: Any, viewer: Viewer, row: int, column: int, half: int) -> None:
    """Drag a rectangle of so many pixels around a place, with the mouse."""
    settle(qtbot, viewer)
    canvas = viewer.plot.getWidgetHandle()
    corners = (column - half, row - half), (column + half, row + half)
    start, end = (qt.QPointF(*viewer.plot.dataToPixel(*corner, check=False)) for corner in corners)

    def send(kind: int, point: qt.QPointF, button: int, buttons: int) -> None:
        qt.QApplication.sendEvent(canvas, qt.QMouseEvent(kind, point, button, buttons, qt.Qt.NoModifier))

    send(qt.QEvent.MouseMove, start, qt.Qt.NoButton, qt.Qt.NoButton)
    send(qt.QEvent.MouseButtonPress, start, qt.Qt.LeftButton, qt.Qt.LeftButton)
    send(qt.QEvent.MouseMove, end, qt.Qt.NoButton, qt.Qt.LeftButton)
    send(qt.QEvent.MouseButtonRelease, end, qt.Qt.LeftButton, qt.Qt.NoButton)
    settle(qtbot, viewer)


def marks(viewer: Viewer, rows: slice, columns: slice) -> Pixels:
    """What the screen has at the middle of each of these pixels: "saturated", "invalid" or "count"."""
    colours = theme.current()
    kinds = {colours.saturated_pixel: "saturated", colours.invalid_pixel: "invalid"}
    seen = viewer.plot.getWidgetHandle().grab().toImage()

    def mark(row: int, column: int) -> str:
        x, y = viewer.plot.dataToPixel(column + 0.5, row + 0.5)
        return kinds.get(seen.pixelColor(int(x), int(y)).name(), "count")

    across = range(columns.start, columns.stop)
    return np.array([[mark(row, column) for column in across] for row in range(rows.start, rows.stop)])


def expected(saturated: Pixels, invalid: Pixels) -> Pixels:
    return np.where(invalid, "invalid", np.where(saturated, "saturated", "count"))


def check_marks(qtbot: Any, viewer: Viewer, at: Pixels, saturated: Pixels, invalid: Pixels) -> set[str]:
    """Zoom to a place, and compare the marks of all pixels around it; return which kinds there were."""
    row, column = (int(min(max(each, 12), size - 12)) for each, size in zip(at, saturated.shape, strict=True))
    viewer.picture_tools.whole.trigger()
    zoom(qtbot, viewer, row, column, 12)
    part = slice(row - 8, row + 8), slice(column - 8, column + 8)
    wanted = expected(saturated[part], invalid[part])
    assert np.array_equal(marks(viewer, *part), wanted)
    return set(wanted.ravel().tolist())


def check_top(viewer: Viewer) -> None:
    """Row 0 is above the last one, column 0 on the left."""
    rows, columns = shown(viewer).shape
    (left, top), (right, bottom) = viewer.plot.dataToPixel(0, 0), viewer.plot.dataToPixel(columns, rows)
    assert top < bottom and left < right


def step_through(qtbot: Any, viewer: Viewer, frames: list[Pixels]) -> None:
    """Press the right key until the last frame, and look at each."""
    viewer.past.bar.slider.setFocus()
    for index, frame in enumerate(frames):
        if index:
            qtbot.keyClick(viewer.past.bar.slider, qt.Qt.Key_Right)
        qtbot.waitUntil(
            lambda index=index: viewer.frame_on_show().frame == index, timeout=DEADLINE  # type: ignore[union-attr]
        )  # fmt: skip
        assert np.array_equal(shown(viewer), frame), index


@pytest.mark.parametrize("kind", ["tif", "cbf", "edf"])
def test_rings_of_a_pilatus_lie_right_with_its_gaps_and_what_is_saturated(
    kind: str, qtbot: Any, look: Look, tmp_path: Path
) -> None:
    real = recording(CEO2)
    pixels, file = np.asarray(fabio.open(str(real)).data), real
    if kind == "cbf":
        file = tmp_path / "ceo2.cbf"
        header = {"_array_data.header_convention": "PILATUS_1.2", "_array_data.header_contents": HEADER}
        CbfImage(data=pixels, header=header).write(str(file))
    elif kind == "edf":
        file = tmp_path / "ceo2.edf"
        EdfImage(data=pixels).write(str(file))
    viewer = look(file)

    step_through(qtbot, viewer, [pixels])
    check_top(viewer)
    saturated = pixels >= (500_000 if kind == "cbf" else 1_097_223)
    gap = np.argwhere((pixels < 0) & (np.arange(len(pixels))[:, None] > 100))[0]
    invalid = (pixels < 0) & (kind != "edf")  # which says nothing of its detector: -1 may be a value
    assert ("invalid" in check_marks(qtbot, viewer, gap, saturated, invalid)) is (kind != "edf")
    if kind == "cbf":
        assert "saturated" in check_marks(qtbot, viewer, np.argwhere(saturated)[0], saturated, invalid)
    facts = viewer.measure.facts
    if kind == "edf":
        assert viewer.measure.beam_tab.x.text() == ""
        return
    qtbot.waitUntil(lambda: facts.geometry() is not None, timeout=DEADLINE)
    assert viewer.measure.beam_tab.x.text() == "498.18" and viewer.measure.beam_tab.y.text() == "515.77"
    assert ("Not known" in viewer.measure.beam_tab.says()) is (kind == "tif"), "that TIFF has no wavelength"


def test_a_real_eigers_master_file_is_stepped_through_over_its_data_files(
    qtbot: Any, look: Look, tmp_path: Path
) -> None:
    file, frames, mask = master(tmp_path / "run_master.h5")
    viewer = look(file)
    check_top(viewer)
    step_through(qtbot, viewer, frames)
    last = frames[-1]
    invalid = (last == np.iinfo(last.dtype).max) | (mask != 0)
    for place in (np.argwhere(mask == 1)[1000], np.argwhere(mask == 4)[0], np.argwhere(mask == 16)[0]):
        assert "invalid" in check_marks(qtbot, viewer, place, last >= 2_943_293, invalid)


@pytest.mark.parametrize("name", LAMBDA)
def test_a_lambdas_modules_are_stepped_through_and_what_its_mask_leaves_out_is_grey(
    name: str, qtbot: Any, look: Look
) -> None:
    file = recording(name)
    with h5py.File(file, locking=False) as read:  # as the viewer opens it, which may still have it
        frames = list(read["entry/instrument/detector/data"][()])
        mask = read["entry/instrument/detector/pixel_mask"][0]
    viewer = look(file)
    check_top(viewer)
    step_through(qtbot, viewer, frames)
    qtbot.waitUntil(lambda: viewer.measure.facts.mask(mask.shape) is not None, timeout=DEADLINE)
    last, invalid = frames[-1], (frames[-1] < 0) | (mask != 0)
    hot = np.argwhere((last >= 4095) & (mask != 0))[0]
    assert "invalid" in check_marks(qtbot, viewer, hot, last >= 4095, invalid)
    good = int(((last >= 4095) & (mask == 0)).sum())
    assert viewer.measure.saturation.isVisible() is (good > viewer.measure.figures.allowed.value())


def test_saturated_pixels_that_a_lambdas_mask_leaves_out_are_not_found(qtbot: Any, look: Look) -> None:
    file = recording(LAMBDA[0])
    with h5py.File(file, locking=False) as read:  # as the viewer opens it, which may still have it
        frames, mask = (read[f"entry/instrument/detector/{name}"][()] for name in ("data", "pixel_mask"))
    assert (frames >= 4095).any((1, 2)).all() and not ((frames >= 4095) & (mask == 0)).any()
    viewer = look(file)
    qtbot.waitUntil(lambda: viewer.measure.facts.mask(mask.shape[1:]) is not None, timeout=DEADLINE)
    viewer.past.bar.slider.setFocus()
    qtbot.keyClick(viewer.past.bar.slider, qt.Qt.Key_F3)
    words = "▲ No frame from 1 to 9 has a saturated pixel"
    qtbot.waitUntil(lambda: viewer.past.bar.note() == words, timeout=DEADLINE)
