"""A stand-in receiver, and a window that follows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("silx.gui.plot", reason="the viewer needs the extra gui")

from penstock.gui.live.app import Options, open_viewer
from penstock.gui.live.view import Viewer
from tests.gui.live.stand_in import StandIn, stand_in


@pytest.fixture
def receiver() -> Iterator[StandIn]:
    with stand_in() as server:
        yield server


@pytest.fixture
def show(qtbot: Any) -> Iterator[Callable[..., Viewer]]:
    """Opens windows, and closes them when the test ends."""
    windows: list[Viewer] = []

    def opened(url: str, **options: Any) -> Viewer:
        viewer = open_viewer(Options(url=url, rate=options.pop("rate", 50.0), **options))
        windows.append(viewer)
        qtbot.addWidget(viewer)
        viewer.start()
        return viewer

    yield opened
    for window in windows:
        window.close()
