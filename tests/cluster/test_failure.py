"""An error of ours in a part of the control ends the whole process: Kubernetes starts it again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.cluster.control_process import DEADLINE
from tests.cluster.kubernetes_stub import Kubernetes

FAILS = """
import sys
from penstock.cluster.followed import Followed
from penstock.cli.main import main

def run(self, ends):
    raise KeyError("of a test")

Followed.run = run
sys.exit(main(["pipeline-control", sys.argv[1]]))
"""


@pytest.mark.slow
def test_a_control_of_which_a_part_has_ended_ends_and_names_it(
    kubernetes: Kubernetes, tmp_path: Path
) -> None:
    file = tmp_path / "control.yaml"
    receiver = {"deployment": "eiger-receiver", "url": "http://127.0.0.1:1"}
    own = msgspec.to_builtins(kubernetes.config)
    file.write_text(json.dumps({"http": "127.0.0.1:0", "receiver": receiver, "kubernetes": own}))
    ended = subprocess.run(
        [sys.executable, "-c", FAILS, str(file)],
        check=False, capture_output=True, text=True, timeout=DEADLINE,
    )  # fmt: skip
    assert ended.returncode == 1
    assert "the thread program of receiver has ended" in ended.stderr and "of a test" in ended.stderr
