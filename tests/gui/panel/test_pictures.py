"""Every window in every state can be drawn on a real screen, in several sizes, dark and light."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).resolve().parents[3]
STATES = ("idle", "running", "fault", "receiver-away", "database-away")
PROGRAM = (
    # At the end of the path: no folder of the checkout may stand before an installed package.
    f"import sys; sys.path.append({str(ROOT)!r}); from tests.gui.panel.pictures import main; sys.exit(main())"
)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_window_is_drawn_in_every_state(tmp_path: Path) -> None:
    out = Path(os.environ.get("PENSTOCK_PICTURES", tmp_path / "pictures"))
    draw(out, "1920x1080")
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
    draw(out, "3840x2160", "--large", QT_SCALE_FACTOR="2")
    for window in ("panel", "fleet"):
        for state in STATES[:3]:
            for look in ("dark", "light"):
                with Image.open(out / f"{window}_{state}_1920x2_{look}.png") as picture:
                    assert picture.size == (3840, 2160)


def draw(out: Path, screen: str, *options: str, **environment: str) -> None:
    """Draw into a folder, on a screen of so many pixels."""
    if shutil.which("xvfb-run") is None:
        pytest.skip("there is no xvfb-run: apt-get install xvfb xauth")
    command = [sys.executable, "-P", "-c", PROGRAM, str(out), *options]
    done = subprocess.run(
        ["xvfb-run", "-a", "-s", f"-screen 0 {screen}x24", *command],
        env={**os.environ, "QT_QPA_PLATFORM": "xcb", **environment}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
