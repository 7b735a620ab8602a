"""How `silx view` shows our files, in silx' own widgets: the setting that the reference page names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("silx.gui.plot", reason="the viewer needs the extra gui")

import silx
import silx.io
from silx.app.view.Viewer import Viewer
from silx.gui import qt
from silx.gui.data.DataViewer import DataViewer
from silx.gui.plot import PlotWidget

from tests.receiver.h5_file import write_series

FORMAT = Path(__file__).resolve().parents[3] / "docs" / "reference" / "file-format.md"


DEADLINE = 10_000
"""Milliseconds."""


def images(viewer: DataViewer) -> list[tuple[PlotWidget, Any]]:
    """What is on show: each image with its plot."""
    return [(plot, image) for plot in viewer.findChildren(PlotWidget) for image in plot.getAllImages()]


@pytest.fixture(params=["upward", "downward"])
def orientation(request: pytest.FixtureRequest) -> Iterator[str]:
    before = silx.config.DEFAULT_PLOT_IMAGE_Y_AXIS_ORIENTATION
    silx.config.DEFAULT_PLOT_IMAGE_Y_AXIS_ORIENTATION = request.param
    yield request.param
    silx.config.DEFAULT_PLOT_IMAGE_Y_AXIS_ORIENTATION = before


def test_the_file_opens_on_the_image_which_stands_as_silx_is_set(
    orientation: str, qtbot: Any, tmp_path: Path
) -> None:
    write_series(tmp_path / "a.h5", 3)
    with silx.io.open(str(tmp_path / "a.h5")) as file:
        viewer = DataViewer()
        qtbot.addWidget(viewer)
        viewer.resize(600, 500)
        viewer.show()
        viewer.setData(file["/"])
        qtbot.waitUntil(lambda: len(images(viewer)) == 1, timeout=DEADLINE)
        ((plot, image),) = images(viewer)
        assert np.array_equal(image.getData(), file["entry/data/data"][0])
        assert bool(plot.getYAxis().isInverted()) is (orientation == "downward")
        top = plot.dataToPixel(0, 0)[1] < plot.dataToPixel(0, image.getData().shape[0])[1]
        assert bool(top) is (orientation == "downward"), "row 0 is at the top only then"
        viewer.setData(None)


def test_the_docs_name_the_menu_as_silx_does(qtbot: Any) -> None:
    viewer = Viewer()
    qtbot.addWidget(viewer)
    texts = {action.text() for action in viewer.findChildren(qt.QAction)}
    texts |= {menu.title() for menu in viewer.findChildren(qt.QMenu)}
    page = " ".join(FORMAT.read_text().split())
    for words in ("Options", "Default plot image y-axis orientation", "Downward, origin on top"):
        assert any(words == text.replace("&", "") for text in texts), texts
        assert words in page
