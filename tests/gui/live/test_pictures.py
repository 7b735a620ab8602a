"""The viewer in every state can be drawn on a real screen, in several sizes, dark and light."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from PIL import Image

pytest.importorskip("silx.gui.plot", reason="the windows need the extra gui")

from tests.gui.photographer import draw

MODULE = "tests.gui.live.pictures"
LOOKS = ("dark", "light")
IN_ALL_SIZES = ("idle", "running", "fault", "file", "file-gap", "tabs", "tiles")
IN_ONE = (
    "viewer_regions", "viewer_file-of-one-frame", "viewer_file-of-another-program", "viewer_tiles-of-four",
    "viewer_away", "viewer_never-there", "measure_figures", "measure_beam", "measure_profile",
    "measure_corrections",
)  # fmt: skip
RESULTS = ("running", "gap", "accumulated", "waiting", "no-series", "error", "10000-frames")
RESULTS_IN_ONE = ("numbers", "held", "failed-frame", "away", "10000-numbers")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_viewer_is_drawn_in_every_state(tmp_path: Path) -> None:
    out = Path(os.environ.get("PENSTOCK_PICTURES", tmp_path / "pictures"))
    draw(MODULE, out, "1920x1080")
    names = {file.name for file in out.glob("*.png")}
    for look in LOOKS:
        assert f"viewer_wall_{look}.png" in names
        assert {f"{name}_1280_{look}.png" for name in IN_ONE} <= names
        for width in (960, 1280, 1920):
            assert {f"viewer_{state}_{width}_{look}.png" for state in IN_ALL_SIZES} <= names


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_window_of_live_results_is_drawn_in_every_state(tmp_path: Path) -> None:
    out = Path(os.environ.get("PENSTOCK_PICTURES", tmp_path / "pictures"))
    draw("tests.gui.live.results_pictures", out, "1920x1080")
    names = {file.name for file in out.glob("*.png")}
    for look in LOOKS:
        assert {f"results_{state}_1280_{look}.png" for state in RESULTS_IN_ONE} <= names
        for width in (960, 1280, 1920):
            assert {f"results_{state}_{width}_{look}.png" for state in RESULTS} <= names


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_screen_of_4k_shows_the_viewer_twice_as_sharp(tmp_path: Path) -> None:
    out = Path(os.environ.get("PENSTOCK_PICTURES", tmp_path / "pictures"))
    draw(MODULE, out, "3840x2160", "--large", QT_SCALE_FACTOR="2")
    for state in IN_ALL_SIZES[:3]:
        for look in LOOKS:
            with Image.open(out / f"viewer_{state}_1920x2_{look}.png") as picture:
                assert picture.size == (3840, 2160)
