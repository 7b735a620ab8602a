"""Every window in every state can be drawn on a real screen, at both sizes, dark and light."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
STATES = ("idle", "running", "fault", "receiver-away", "database-away")
PROGRAM = (
    # At the end of the path: no folder of the checkout may stand before an installed package.
    f"import sys; sys.path.append({str(ROOT)!r}); from tests.gui.panel.pictures import main; sys.exit(main())"
)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_window_is_drawn_in_every_state(tmp_path: Path) -> None:
    if shutil.which("xvfb-run") is None:
        pytest.skip("there is no xvfb-run: apt-get install xvfb xauth")
    out = Path(os.environ.get("PENSTOCK_PICTURES", tmp_path / "pictures"))
    done = subprocess.run(
        ["xvfb-run", "-a", "-s", "-screen 0 1920x1080x24", sys.executable, "-P", "-c", PROGRAM, str(out)],
        env={**os.environ, "QT_QPA_PLATFORM": "xcb"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    names = {file.name for file in out.glob("*.png")}
    dialogs = ("past-series", "folders", "open", "keyboard", "save-preset")
    assert {f"{dialog}_{look}.png" for dialog in dialogs for look in ("dark", "light")} <= names
    for window in ("panel", "fleet"):
        for state in STATES:
            for width in (1280, 1920):
                for look in ("dark", "light"):
                    assert f"{window}_{state}_{width}_{look}.png" in names
