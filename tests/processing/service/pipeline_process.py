"""The processes of a pipeline, and waits for what it says that all have a deadline."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.processing.client import PipelineClient
from penstock.processing.models import Status

ROOT = Path(__file__).resolve().parents[3]
DEADLINE = 30.0
"""Seconds within which anything here has to happen; reached only when something is wrong."""
SPOTS = """\
from penstock.processing import Processor


class Spots(Processor):
    threshold: int = 1000

    def process(self, frame):
        return {"bright": int((frame.pixels > self.threshold).sum())}
"""


class PipelineProcess:
    """One pipeline behind the stand-in of a distributor.

    Args:
        folder: for its files.
        keys: further keys of the pipeline's file.
    """

    def __init__(self, folder: Path, **keys: Any) -> None:
        (folder / "spots.py").write_text(SPOTS)
        file = folder / "spots.yaml"
        entry = {"processor": "spots.py:Spots", "workers": 2, "results_root": str(folder), **keys}
        file.write_text(json.dumps(entry))
        self.log = folder / "pipeline.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.processing.service.serve_stand_in", str(file)],
                stdout=subprocess.PIPE, stderr=log, start_new_session=True,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            )  # fmt: skip
        assert self.process.stdout is not None
        url = self.process.stdout.readline().decode().strip()
        assert url.startswith("http://"), self.log.read_text()
        self.client = PipelineClient(url, timeout=10.0)

    def wait(self, condition: Callable[[Status], bool]) -> Status:
        """The first status for which a condition holds."""
        due = time.monotonic() + DEADLINE
        status = self.client.status()
        while not condition(status):
            assert time.monotonic() < due, f"in vain: {status}\n{self.log.read_text()}"
            status = self.client.status(seen=status.version, wait=1.0)
        return status

    def ready(self, workers: int) -> Status:
        """Wait until so many workers have loaded the class."""
        return self.wait(lambda status: [each.state for each in status.workers] == ["ready"] * workers)

    def close(self) -> None:
        """End it as a service is ended."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(DEADLINE)
        assert self.process.stdout is not None
        self.process.stdout.close()


def gone(pid: int) -> bool:
    """Whether a process is no more; a zombie is none."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Wait for something that nothing reports."""
    due = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < due, what
        time.sleep(0.02)


def child_of(pid: int, module: str) -> int:
    """The process id of the one child that runs a module."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    (found,) = [
        int(child) for child in children if module.encode() in Path(f"/proc/{child}/cmdline").read_bytes()
    ]
    return found
