"""Files that others read, made of a result file once its series is over: by a process of their own each."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from penstock.processing.config.pipeline_config import ExportConfig

MODULES = {"stempy": "penstock.processing.results.as_stempy"}
"""What makes a file of each kind."""


class Exported(NamedTuple):
    """What became of one file."""

    result_file: str
    said: str
    """A sentence: why there is no file, or what is missing in it; "" if nothing is."""
    failed: bool


class Exports:
    """Makes the files one after the other, so that the distributor's loop goes on.

    Args:
        wanted: which files are made of each result file.
        overwrite: whether they replace those that exist.
    """

    def __init__(self, wanted: Sequence[ExportConfig], *, overwrite: bool) -> None:
        self._wanted = wanted
        self._overwrite = overwrite
        self._waiting: deque[tuple[str, ExportConfig]] = deque()
        self._running: tuple[str, subprocess.Popen[str]] | None = None

    @property
    def are_running(self) -> bool:
        """True if a file is being made."""
        return self._running is not None

    def begin(self, result_file: str) -> None:
        """Make the files of a result file that is complete."""
        self._waiting.extend((result_file, each) for each in self._wanted)
        self._start()

    def step(self) -> list[Exported]:
        """Return what has become of files since the last call."""
        if self._running is None or self._running[1].poll() is None:
            return []
        (result_file, process), self._running = self._running, None
        assert process.stdout is not None
        with process.stdout as out:
            said = " ".join(out.read().split())
        failed = process.returncode != 0
        if failed and not said:
            said = f"the process that makes its file for others ended with exit status {process.returncode}"
        self._start()
        return [Exported(result_file, said, failed)]

    def wait(self, seconds: float) -> None:
        """Wait for the file that is being made; it is made to its end even if this process ends before."""
        due = time.monotonic() + seconds
        while self._running is not None and time.monotonic() < due:
            try:
                self._running[1].wait(max(0.0, due - time.monotonic()))
            except subprocess.TimeoutExpired:
                return
            self.step()

    def _start(self) -> None:
        if self._running is not None or not self._waiting:
            return
        result_file, export = self._waiting.popleft()
        settings = {"result": export.result, "scan": export.scan, "overwrite": self._overwrite}
        command = [sys.executable, "-P", "-m", MODULES[export.kind], result_file]
        process = subprocess.Popen(
            [*command, msgspec.json.encode(settings).decode()],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        self._running = result_file, process
