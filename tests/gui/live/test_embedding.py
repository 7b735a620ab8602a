"""The programs of the how-to, each as its reader would run it, before a receiver that has a frame."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.gui.live.stand_in import StandIn

PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "embed-the-live-view.md"
PROGRAMS = dict(re.findall(r"<!-- file: (\S+) -->\n```python\n(.*?)```", PAGE.read_text(), re.DOTALL))
DEADLINE = 60.0
"""Seconds."""


@pytest.mark.parametrize("name", ["plain.py", "taurus_window.py"])
def test_a_program_of_the_how_to_draws_a_frame_and_ends(name: str, receiver: StandIn, tmp_path: Path) -> None:
    if name == "taurus_window.py":
        pytest.importorskip("taurus", reason="Taurus comes with the extra sardana")
    receiver.frame(np.arange(4800, dtype=np.int32).reshape(60, 80), 0)
    text = PROGRAMS[name].replace("http://127.0.0.1:5000", receiver.url)
    # Taurus asks on closing whether to save its settings, so the program is quit, once its loop runs.
    until = "\n".join(
        (
            "from silx.gui import qt",
            "timer = qt.QTimer()",
            "timer.timeout.connect(lambda: view.drawn() and (print('drawn'), qt.QApplication.quit()))",
            "timer.start(50)",
            "application.exec_()",
        )
    )
    assert text.count("application.exec_()") == 1
    program = tmp_path / name
    program.write_text(text.replace("application.exec_()", until))
    ended = subprocess.run(
        [sys.executable, str(program)], cwd=tmp_path, capture_output=True, text=True, timeout=DEADLINE,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen", "HOME": str(tmp_path)},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert "drawn" in ended.stdout
