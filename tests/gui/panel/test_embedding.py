"""The programs of the how-to, each as its reader would run it, before a receiver that has a frame."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.gui.live.stand_in import StandIn, stand_in
from tests.system.beamline import Beamline, Station

PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "embed-the-widgets.md"
PROGRAMS = dict(re.findall(r"<!-- file: (\S+) -->\n```python\n(.*?)```", PAGE.read_text(), re.DOTALL))
DEADLINE = 60.0
"""Seconds."""


@pytest.fixture
def receiver() -> Iterator[StandIn]:
    with stand_in() as server:
        yield server


@pytest.fixture(scope="module")
def tango_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with Beamline(tmp_path_factory.mktemp("beamline")) as line:
        Station(line)
        yield line.tango_host


@pytest.mark.parametrize("name", ["plain.py", pytest.param("taurus_window.py", marks=pytest.mark.slow)])
def test_a_program_with_the_live_view_draws_a_frame_and_ends(
    name: str, receiver: StandIn, tmp_path: Path
) -> None:
    receiver.frame(np.arange(4800, dtype=np.int32).reshape(60, 80), 0)
    text = PROGRAMS[name].replace("http://127.0.0.1:5000", receiver.url)
    run(tmp_path / name, text, "view.drawn()")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["taurus_panel.py", "parts.py"])
def test_a_program_with_a_panel_or_its_parts_follows_the_device_and_ends(
    name: str, tango_host: str, tmp_path: Path
) -> None:
    run(tmp_path / name, PROGRAMS[name], "model.view().state == 'ON'", TANGO_HOST=tango_host)


def run(program: Path, text: str, until: str, **environment: str) -> None:
    """Run a program of the page, which is quit once `until` holds."""
    if "taurus" in text:
        pytest.importorskip("taurus", reason="Taurus comes with the extra sardana")
    # Taurus asks on closing whether to save its settings, so the program is quit, once its loop runs.
    quit_then = "\n".join(
        (
            "from silx.gui import qt",
            "timer = qt.QTimer()",
            f"timer.timeout.connect(lambda: {until} and (print('shown'), qt.QApplication.quit()))",
            "timer.start(50)",
            "application.exec_()",
        )
    )
    assert text.count("application.exec_()") == 1
    # Behind its last line PyQt5 deletes all objects that Python owns, in no order, and one program in twenty
    # crashes there (`cleanup_on_exit` of its QtCore): it is ended before that.
    last = "\nimport os\nprint('ended', flush=True)\nos._exit(0)\n"
    program.write_text(text.replace("application.exec_()", quit_then) + last)
    home = {"QT_QPA_PLATFORM": "offscreen", "HOME": str(program.parent)}
    ended = subprocess.run(
        [sys.executable, str(program)], cwd=program.parent, capture_output=True, text=True, timeout=DEADLINE,
        env={**os.environ, **home, **environment},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split() == ["shown", "ended"], ended.stdout
