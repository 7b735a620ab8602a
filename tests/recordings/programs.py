"""Real programs over real sockets: `penstock replay` and `penstock receiver` as child processes."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.receiver.client import ReceiverClient
from penstock.receiver.models import Status

DEADLINE = 60.0
"""Seconds within which anything here has to happen; reached only when something is wrong."""


class Program:
    """A `penstock` subcommand started with --json: the lines it prints, one after another."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            ["penstock", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._late = threading.Timer(DEADLINE, self.process.kill)
        self._late.start()
        self._errors: list[str] = []
        self._reading = threading.Thread(target=self._read_errors)
        self._reading.start()

    def line(self) -> dict[str, Any]:
        """The next line, which must be JSON."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"{self.process.args} ended: {self.errors()}"
        return dict(json.loads(line))

    def errors(self) -> str:
        """What it said on stderr, once it has ended."""
        self.process.wait(DEADLINE)
        self._reading.join(DEADLINE)
        return "".join(self._errors)

    def stop(self) -> int:
        """End it as Ctrl-C would; returns its exit status."""
        self._late.cancel()
        if self.process.poll() is None:
            self.process.terminate()
        status = self.process.wait(DEADLINE)
        self._reading.join(DEADLINE)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return status

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as stream:
            self._errors.extend(stream)


@dataclass(frozen=True)
class Replayed:
    """What a series was in the end."""

    summary: dict[str, Any]
    """What `penstock replay` said."""
    status: Status
    """What the receiver said."""
    root: Path
    """Its data root."""


@contextmanager
def program(*arguments: str) -> Iterator[Program]:
    """A subcommand that ends with the block."""
    running = Program(*arguments)
    try:
        yield running
    finally:
        running.stop()


def replay(capture: Path, root: Path, *options: str, template: str = "") -> Replayed:
    """Stream a recording into a receiver of its own, and wait until the series has ended."""
    root.mkdir(parents=True, exist_ok=True)
    config = root.parent / f"{root.name}.yaml"
    with program("replay", str(capture), "--endpoint", "tcp://127.0.0.1:0", "--json", *options) as streamer:
        ready = streamer.line()
        entry = {
            "source": {"type": ready["protocol"], "endpoints": [ready["endpoint"]]},
            "data_root": str(root), "filename_template": template, "peer_gone": 0.5,
        }  # fmt: skip
        config.write_text(json.dumps({"receivers": {"eiger-1": entry}}))
        with program(
            "receiver", "eiger-1", "--config", str(config), "--http", "127.0.0.1:0", "--json"
        ) as receiver:
            client = ReceiverClient(receiver.line()["http"], timeout=5.0)
            summary = streamer.line()
            assert streamer.process.wait(DEADLINE) == 0
            return Replayed(summary, ended(client), root)


def ended(client: ReceiverClient) -> Status:
    """The receiver's status once it has had a series and that has ended."""
    due = time.monotonic() + DEADLINE
    status = client.status()
    while status.series is None or status.series.active or status.state == "running":
        assert time.monotonic() < due, f"the series did not end: {status}"
        status = client.status(seen=status.version, wait=1.0)
    return status


def demo(folder: Path, frames: int) -> Path:
    """The file of one `penstock demo`."""
    done = subprocess.run(
        ["penstock", "demo", "--frames", str(frames), "--out", str(folder), "--json"],
        capture_output=True, text=True, timeout=DEADLINE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return Path(json.loads(done.stdout.splitlines()[-1])["file"])
