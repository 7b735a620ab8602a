"""A real `penstock pipeline-control` as a child process, and waits that all have a deadline."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from penstock.cluster.client import ControlClient
from penstock.cluster.models import Part, Status
from tests.cluster.kubernetes_stub import Kubernetes

DEADLINE = 30.0
"""Seconds within which anything here has to happen; reached only when something is wrong."""


class ControlProcess:
    """One control.

    Args:
        folder: for its file.
        kubernetes: the API server.
        keys: of its file.
    """

    def __init__(self, folder: Path, kubernetes: Kubernetes, **keys: Any) -> None:
        file = folder / "control.yaml"
        own = msgspec.to_builtins(kubernetes.config)
        file.write_text(json.dumps({"http": "127.0.0.1:0", "kubernetes": own, **keys}))
        self.log = folder / "control.log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                ["penstock", "pipeline-control", str(file), "--json"],
                stdout=subprocess.PIPE, stderr=log, start_new_session=True,
            )  # fmt: skip
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.log.read_text()
        self.url = json.loads(line)["http"]
        self.client = ControlClient(self.url, timeout=10.0)

    def wait(self, condition: Callable[[Status], bool]) -> Status:
        """The first status for which a condition holds."""
        due = time.monotonic() + DEADLINE
        status = self.client.status()
        while not condition(status):
            assert time.monotonic() < due, f"in vain: {status}\n{self.log.read_text()}"
            status = self.client.status(seen=status.version, wait=1.0)
        return status

    def part(self, name: str, condition: Callable[[Part], bool]) -> Part:
        """A part, once a condition holds for it."""

        def found(status: Status) -> Part:
            part = status.part(name)
            assert part is not None
            return part

        return found(self.wait(lambda status: condition(found(status))))

    def close(self) -> int:
        """End it as a service is ended; returns its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(DEADLINE)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return status
