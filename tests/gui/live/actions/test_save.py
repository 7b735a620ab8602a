"""What leaves the window: picture, counts, clipboard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fabio
import h5py
import numpy as np
import pytest
from silx.gui import qt

from penstock.gui.live.app import Options, open_viewer
from penstock.gui.live.plot.portrait import LEAST
from penstock.gui.live.sources.file_source import FileSource
from penstock.gui.live.view import Viewer

DEADLINE = 60_000
"""Milliseconds."""
COUNTS = np.arange(4 * 30 * 40, dtype=np.uint32).reshape(4, 30, 40)


@pytest.fixture
def viewer(qtbot: Any, tmp_path: Path) -> Iterator[Viewer]:
    with h5py.File(tmp_path / "scan-0007.h5", "w") as file:
        file["frames"] = COUNTS
    window = open_viewer(Options(sources=(FileSource(tmp_path / "scan-0007.h5"),)))
    qtbot.addWidget(window)
    window.start()
    qtbot.waitUntil(lambda: window.drawn() == 1, timeout=DEADLINE)
    window.past.go(2)
    qtbot.waitUntil(lambda: window.drawn() == 2, timeout=DEADLINE)
    yield window
    window.close()


def saved(qtbot: Any, viewer: Viewer, folder: Path, suffix: str) -> Path:
    """Save by the key, under the name that the window proposes with another suffix."""
    proposed: list[Path] = []

    def answer(begin: str) -> str:
        proposed.append(folder / Path(begin).with_suffix(suffix).name)
        return str(proposed[0])

    viewer.save.ask = answer
    viewer.activateWindow()
    viewer.plot.setFocus()
    qtbot.keyClick(viewer.plot, qt.Qt.Key_S, qt.Qt.ControlModifier)
    qtbot.waitUntil(lambda: viewer.said() == f"Saved {proposed[0]}.", timeout=DEADLINE)
    return proposed[0]


def test_the_picture_is_saved_as_it_is_seen_with_file_and_frame_in_its_name(
    qtbot: Any, viewer: Viewer, tmp_path: Path
) -> None:
    path = saved(qtbot, viewer, tmp_path, ".png")
    assert path.name == "scan-0007_frame000002.png"
    picture, seen = pixels(qt.QImage(str(path))), pixels(viewer.plot.grab().toImage())
    (left, top), (right, bottom) = (
        (round(value) for value in viewer.plot.dataToPixel(*at)) for at in ((0, 0), (40, 30))
    )
    image = seen[top + 2 : bottom - 2, left + 2 : right - 2]
    y, x = found(image, picture)
    assert x > 30 and y > 20, "axes and what is said of it"
    assert len(picture) - (y + len(image)) < 60
    assert picture.shape[1] - (x + image.shape[1]) < 120, "the colour bar"


@pytest.mark.parametrize("shape", [(20, 300), (300, 20), (1, 700)])
def test_a_picture_of_any_shape_has_no_empty_bands(
    shape: tuple[int, int], qtbot: Any, tmp_path: Path
) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["frames"] = np.arange(shape[0] * shape[1], dtype=np.uint32).reshape(1, *shape)
    window = open_viewer(Options(sources=(FileSource(tmp_path / "a.h5"),)))
    qtbot.addWidget(window)
    window.resize(1000, 700)
    window.start()
    window.show()
    qtbot.waitUntil(lambda: window.drawn() == 1 and window.plot.is_current(), timeout=DEADLINE)
    picture, plot = window.picture(), window.plot
    assert picture is not None
    (left, top), (right, bottom) = plot.dataToPixel(0, 0), plot.dataToPixel(*shape[::-1])
    bar = window.colour_bar
    assert picture.height() < max(bottom - top, bar.minimumHeight()) + 110
    assert picture.width() < max(LEAST + 1, right - left + 110 + bar.width())
    window.close()


def pixels(image: qt.QImage) -> np.ndarray:
    """Colours of an image: (rows, cols), each 0xffrrggbb."""
    converted = image.convertToFormat(qt.QImage.Format_RGB32)
    data = converted.constBits().asstring(converted.sizeInBytes())
    return np.frombuffer(data, np.uint32).reshape(converted.height(), converted.width()) | 0xFF000000


def found(part: np.ndarray, whole: np.ndarray) -> tuple[int, int]:
    """Row and column where a part of a picture is."""
    rows, columns = part.shape
    for y, x in np.argwhere(whole[: len(whole) - rows + 1, : whole.shape[1] - columns + 1] == part[0, 0]):
        if np.array_equal(whole[y : y + rows, x : x + columns], part):
            return int(y), int(x)
    raise AssertionError("the image is not in the picture as it is seen")


@pytest.mark.parametrize("suffix", [".tif", ".npy"])
def test_all_counts_are_saved_whatever_is_in_sight(
    suffix: str, qtbot: Any, viewer: Viewer, tmp_path: Path
) -> None:
    viewer.plot.setLimits(3, 9, 3, 9)
    path = saved(qtbot, viewer, tmp_path, suffix)
    assert path.name == f"scan-0007_frame000002{suffix}"
    if suffix == ".npy":
        read = np.load(path)
    else:
        with fabio.open(str(path)) as image:
            read, said = np.asarray(image.data), str(image.header)
        assert "frame=2" in said and f"file={tmp_path}/scan-0007.h5" in said
    assert read.dtype == np.uint32 and np.array_equal(read, COUNTS[2])


def test_what_cannot_be_written_is_said(qtbot: Any, viewer: Viewer, tmp_path: Path) -> None:
    viewer.save.save(str(tmp_path / "no folder" / "a.npy"))
    said = f"▲ {tmp_path}/no folder/a.npy is not written: No such file or directory."
    qtbot.waitUntil(lambda: viewer.said() == said, timeout=DEADLINE)
    viewer.save.save(str(tmp_path / "a.jpg"))
    assert viewer.said() == "▲ a.jpg has to end with .png, .tif or .npy."


def test_colours_are_not_saved_as_if_they_were_counts_of_an_image(qtbot: Any, tmp_path: Path) -> None:
    colours = np.arange(2 * 20 * 30 * 3, dtype=np.uint8).reshape(2, 20, 30, 3)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["frames"] = colours
        file["frames"].attrs["interpretation"] = "rgba-image"
    window = open_viewer(Options(sources=(FileSource(tmp_path / "a.h5"),)))
    qtbot.addWidget(window)
    window.start()
    qtbot.waitUntil(lambda: window.drawn() == 1, timeout=DEADLINE)
    window.save.save(str(tmp_path / "a.tif"))
    assert window.said().startswith("▲ a.tif is not written: a TIFF holds counts of an image")
    window.save.save(str(tmp_path / "a.npy"))
    qtbot.waitUntil(lambda: window.said() == f"Saved {tmp_path}/a.npy.", timeout=DEADLINE)
    assert np.array_equal(np.load(tmp_path / "a.npy"), colours[0])
    window.close()


def test_the_picture_goes_into_the_clipboard(viewer: Viewer) -> None:
    qt.QApplication.clipboard().clear()
    viewer.copy.trigger()
    image = qt.QApplication.clipboard().image()
    assert image == viewer.picture()
    assert viewer.said() == "The picture is in the clipboard."
