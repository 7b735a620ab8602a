"""The command as a process: it starts when nothing is there, says what it waits for, and ends when told."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

pytest.importorskip("silx.gui.plot", reason="the panel needs the extra gui")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_without_a_database_it_starts_says_so_and_ends_quietly(number: int) -> None:
    process = subprocess.Popen(
        ["penstock", "panel", "sim/det/1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "TANGO_HOST": "127.0.0.1:1", "XDG_RUNTIME_DIR": "/tmp"},
    )  # fmt: skip
    assert process.stdout is not None and process.stderr is not None
    assert process.stdout.readline() == "following sim/det/1\n"
    waits = next(line for line in process.stderr if "waits for" in line)
    assert "The Tango database at 127.0.0.1:1 does not answer." in waits
    process.send_signal(number)
    _, rest = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "Traceback" not in rest
