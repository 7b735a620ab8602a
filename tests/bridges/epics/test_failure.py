"""An error of ours in a part of the bridge ends the whole process: whoever runs it starts it again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bridges.epics.bridge_process import DEADLINE, environment

FAILS = """
import sys
from penstock.bridges.epics.watch import Watch
from penstock.cli.main import main

def run(self, ends):
    raise KeyError("of a test")

Watch.run = run
sys.exit(main(["epics", sys.argv[1]]))
"""


@pytest.mark.slow
def test_a_bridge_of_which_a_part_has_ended_ends_and_names_it(tmp_path: Path) -> None:
    file = tmp_path / "epics.yaml"
    keys = {"prefix": "T", "listen": "127.0.0.1:0", "http": "127.0.0.1:0", "receiver": "http://127.0.0.1:9"}
    file.write_text(json.dumps(keys))
    ended = subprocess.run(
        [sys.executable, "-c", FAILS, str(file)],
        check=False, capture_output=True, text=True, timeout=DEADLINE, env={**os.environ, **environment()},
    )  # fmt: skip
    assert ended.returncode == 1
    assert "the thread receiver has ended" in ended.stderr and "of a test" in ended.stderr
