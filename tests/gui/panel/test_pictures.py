"""Every window in every state can be drawn on a real screen, in several sizes, dark and light."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from PIL import Image

pytest.importorskip("silx.gui.plot", reason="the windows need the extra gui")

from tests.gui.photographer import draw

MODULE = "tests.gui.panel.pictures"
STATES = ("idle", "running", "fault", "receiver-away", "database-away")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_window_is_drawn_in_every_state(tmp_path: Path) -> None:
    out = Path(os.environ.get("PENSTOCK_PICTURES", tmp_path / "pictures"))
    draw(MODULE, out, "1920x1080")
    names = {file.name for file in out.glob("*.png")}
    dialogs = ("past-series", "folders", "open", "keyboard", "save-preset")
    assert {f"{dialog}_{look}.png" for dialog in dialogs for look in ("dark", "light")} <= names
    for window in ("panel", "fleet"):
        for state in STATES:
            for width in (960, 1280, 1920):
                for look in ("dark", "light"):
                    assert f"{window}_{state}_{width}_{look}.png" in names


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_screen_of_4k_shows_the_same_twice_as_sharp(tmp_path: Path) -> None:
    out = Path(os.environ.get("PENSTOCK_PICTURES", tmp_path / "pictures"))
    draw(MODULE, out, "3840x2160", "--large", QT_SCALE_FACTOR="2")
    for window in ("panel", "fleet"):
        for state in STATES[:3]:
            for look in ("dark", "light"):
                with Image.open(out / f"{window}_{state}_1920x2_{look}.png") as picture:
                    assert picture.size == (3840, 2160)
