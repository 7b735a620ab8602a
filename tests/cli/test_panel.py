"""`penstock panel` as a process: it ends when its window is closed, whatever the device does."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from penstock.beamline.demonstration import Demonstration
from penstock.hosts.child import PENSTOCK


@pytest.mark.slow
@pytest.mark.parametrize("devices", [["demo/detector/simulator"], []], ids=["a detector", "all detectors"])
def test_a_panel_over_a_server_that_hangs_is_closed_within_seconds(
    devices: list[str], tmp_path: Path
) -> None:
    with Demonstration(tmp_path) as line:
        environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "TANGO_HOST": line.tango_host}
        with subprocess.Popen(
            [*PENSTOCK, "panel", *devices], env=environment, stdout=subprocess.PIPE, text=True
        ) as panel:
            assert panel.stdout is not None
            assert panel.stdout.readline().startswith("following ")
            os.kill(line.server_pid, signal.SIGSTOP)
            try:
                panel.send_signal(signal.SIGINT)
                assert panel.wait(10) == 0
            finally:
                os.kill(line.server_pid, signal.SIGCONT)
