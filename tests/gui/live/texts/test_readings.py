"""The column of figures: what it has of a receiver, of a file of Penstock, of any other file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from silx.gui import qt

from penstock.gui.live.sources.file_source import FileSource
from penstock.gui.live.view import Viewer
from tests.gui.live.stand_in import StandIn
from tests.receiver.h5_file import write_series

DEADLINE = 10_000
"""Milliseconds."""


def seen(viewer: Viewer) -> list[str]:
    """The texts that are on the screen."""
    labels = viewer.readings.findChildren(qt.QLabel)
    return [label.text() for label in labels if label.isVisible() and label.text()]


def test_of_a_file_only_what_it_has_is_shown(qtbot: Any, tmp_path: Path, show: Callable[..., Viewer]) -> None:
    with h5py.File(tmp_path / "others.h5", "w") as file:
        file["frames"] = np.ones((3, 20, 30), np.uint16)
    viewer = show("", sources=(FileSource(tmp_path / "others.h5"),))
    viewer.show()
    qtbot.waitUntil(lambda: viewer.drawn() == 1 and "–" not in seen(viewer), timeout=DEADLINE)

    texts = seen(viewer)

    assert texts[:7] == ["FRAME ON SHOW", "Number", "0", "Size", "20 × 30", "Type", "uint16"]
    assert texts[7:9] == ["Counts", "1 to 1"]
    assert texts[9:13] == ["SERIES", "File", "others.h5", "Folder"]
    assert texts[14:16] == ["RATES", "Drawn here"] and len(texts) == 17

    write_series(tmp_path / "ours.h5", 9, lost=(2, 3))
    viewer.open_file(str(tmp_path / "ours.h5"))
    qtbot.waitUntil(lambda: "State" in seen(viewer), timeout=DEADLINE)
    texts = seen(viewer)
    assert texts[texts.index("Missing") + 1] == "▲ 2"
    assert not {"Bad messages", "Frames", "Data"} & set(texts)


def test_of_a_receiver_every_row_is_there_from_the_start(
    qtbot: Any, receiver: StandIn, show: Callable[..., Viewer]
) -> None:
    viewer = show(receiver.url)
    viewer.show()
    qtbot.waitUntil(lambda: viewer.banner.title() == "IDLE", timeout=DEADLINE)
    assert {"Trigger", "State", "Missing", "Bad messages", "Frames", "Data"} <= set(seen(viewer))
