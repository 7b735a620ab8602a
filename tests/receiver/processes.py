"""A real `penstock receiver` as a child process, and waits for what it says that all have a deadline."""

from __future__ import annotations

import json
import os
import selectors
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from penstock.receiver.client import ReceiverClient
from penstock.receiver.models import Status

DEADLINE = 20.0
"""Seconds within which anything here has to happen; reached only when something is wrong."""


def bound_by_rights() -> list[str]:
    """A command that starts another to which the rights of folders apply, whoever runs the tests."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("root may write everywhere, and there is no setpriv to take that from a receiver")
    return ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]


class ReceiverProcess:
    """One receiver with an entry of its own.

    Args:
        folder: for its configuration file and, in `data`, for its files.
        endpoint: of the streamer.
        source: further keys of its source.
        http: HOST:PORT; any free port of loopback by default.
        name: of the entry.
        waits: it is not ready at first: another receiver has its lock; with a port in `http`.
        within: command that starts its program, such as `ip netns exec NAME`.
        keys: further keys of its entry.
    """

    def __init__(
        self, folder: Path, endpoint: str, source: dict[str, Any] | None = None,
        http: str = "127.0.0.1:0", within: Sequence[str] = (), name: str = "sim-1", waits: bool = False,
        **keys: Any,
    ) -> None:  # fmt: skip
        self.root = folder / "data"
        self.root.mkdir(parents=True, exist_ok=True)
        entry = {
            "source": {"type": "stins", "endpoints": [endpoint], **(source or {})},
            "data_root": str(self.root), "flush_seconds": 0.05, "gap": {"seconds": 0.3}, **keys,
        }  # fmt: skip
        config = folder / "receivers.yaml"
        config.write_text(json.dumps({"receivers": {name: entry}}))
        self.log = folder / "receiver.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*within, "penstock", "receiver", name, "--config", str(config), "--http", http, "--json"],
                stdout=subprocess.PIPE, stderr=log, start_new_session=True,
            )  # fmt: skip
        try:
            self.client = ReceiverClient(f"http://{http}" if waits else self.ready()["http"], timeout=5.0)
        except BaseException:
            self.close()
            raise

    def wait(self, condition: Callable[[Status], bool]) -> Status:
        """The first status for which a condition holds."""
        due = time.monotonic() + DEADLINE
        status = self.client.status()
        while not condition(status):
            assert time.monotonic() < due, f"in vain: {status}\n{self.log.read_text()}"
            status = self.client.status(seen=status.version, wait=1.0)
        return status

    def connected(self) -> Status:
        """Wait until every socket is connected."""
        return self.wait(lambda status: all(item.connections for item in status.connections))

    def ended(self, series: str) -> Status:
        """Wait until a series has ended, its file closed."""
        return self.wait(
            lambda status: (
                status.series is not None and status.series.id == series and not status.series.active
            )
        )

    def received(self, frames: int, series: str | None = None) -> Status:
        """Wait until so many frames of the series, or of the one with this id, have come."""

        def come(status: Status) -> bool:
            is_it = series is None or (status.series is not None and status.series.id == series)
            return is_it and status.counts.received >= frames

        return self.wait(come)

    def flushed(self, frames: int) -> Status:
        """Wait until so many frames of the series survive the death of the process."""
        return self.wait(lambda status: status.counts.flushed >= frames)

    def data_process(self) -> int:
        """Process id of its data process, its only child."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        (child,) = children
        return int(child)

    def alive(self) -> bool:
        """Whether the process runs."""
        return self.process.poll() is None

    def stop(self) -> int:
        """End it as a supervisor would; returns its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(DEADLINE)

    def close(self) -> None:
        """End it and its data process, whatever state they are in."""
        if self.alive():
            self.process.terminate()
            try:
                self.process.wait(DEADLINE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        assert "SIGSEGV" not in (log := self.log.read_text(errors="replace")), log

    def ready(self) -> dict[str, Any]:
        """Wait for the line that it prints once it is ready; what that says."""
        assert self.process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            assert selector.select(DEADLINE), f"no ready line\n{self.log.read_text()}"
        line = self.process.stdout.readline()
        assert line, f"it ended at once\n{self.log.read_text()}"
        return dict(json.loads(line))
