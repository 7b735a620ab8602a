"""A real `penstock epics` as a child process, EPICS clients of it, and waits that all have a deadline."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from p4p import Value
from p4p.client.thread import Context, Disconnected
from p4p.util import ThreadedWorkQueue

from penstock.bridges.epics.client import BridgeClient
from penstock.bridges.epics.models import Status
from penstock.hosts.child import free_port

DEADLINE = 30.0
"""Seconds within which anything here has to happen; reached only when something is wrong."""


def environment(udp: int | None = None) -> dict[str, str]:
    """Variables with which EPICS stays on loopback; `udp` is the port of its searches."""
    port = str(free_port() if udp is None else udp)
    return {
        "EPICS_PVAS_BROADCAST_PORT": port, "EPICS_PVA_BROADCAST_PORT": port,
        "EPICS_PVAS_AUTO_BEACON_ADDR_LIST": "NO", "EPICS_PVAS_BEACON_ADDR_LIST": "",
        "EPICS_PVA_ADDR_LIST": "127.0.0.1", "EPICS_PVA_AUTO_ADDR_LIST": "NO",
        "EPICS_PVAS_INTF_ADDR_LIST": "127.0.0.1",
    }  # fmt: skip


class BridgeProcess:
    """One bridge.

    Args:
        folder: for its file.
        udp: port of EPICS' searches.
        within: further variables of its environment.
        keys: of its file.
    """

    def __init__(
        self, folder: Path, udp: int | None = None, within: dict[str, str] | None = None, **keys: Any
    ) -> None:
        self.file = folder / "epics.yaml"
        entry = {"prefix": "T", "listen": "127.0.0.1:0", "http": "127.0.0.1:0", **keys}
        self.file.write_text(json.dumps(entry))
        self.log = folder / "epics.log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                ["penstock", "epics", str(self.file), "--json"],
                stdout=subprocess.PIPE, stderr=log, start_new_session=True,
                env={**os.environ, **environment(udp), **(within or {})},
            )  # fmt: skip
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.log.read_text()
        self.ready = json.loads(line)
        self.client = BridgeClient(self.ready["http"], timeout=10.0)

    def wait(self, condition: Callable[[Status], bool]) -> Status:
        """The first status for which a condition holds."""
        due = time.monotonic() + DEADLINE
        status = self.client.status()
        while not condition(status):
            assert time.monotonic() < due, f"in vain: {status}\n{self.log.read_text()}"
            status = self.client.status(seen=status.version, wait=1.0)
        return status

    def context(self) -> Context:
        """A client that needs no search."""
        conf = {
            "EPICS_PVA_NAME_SERVERS": " ".join(self.ready["pva"]), "EPICS_PVA_ADDR_LIST": "",
            "EPICS_PVA_AUTO_ADDR_LIST": "NO", "EPICS_PVA_BROADCAST_PORT": str(free_port()),
        }  # fmt: skip
        return Context("pva", conf=conf, useenv=False, nt=False)

    def kill(self) -> None:
        """Kill it, as the kernel does."""
        self.process.kill()
        self.process.wait(DEADLINE)
        self.close()

    def close(self) -> None:
        """End it as a service is ended."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            assert self.process.wait(DEADLINE) == 0, self.log.read_text()
        assert self.process.stdout is not None
        self.process.stdout.close()


class Updates:
    """All updates of one record that a client gets.

    Args:
        context: of the client.
        record: whole name.
        queue: updates that may wait on either side.
        slow: called with every update: a client that takes its time.
    """

    def __init__(
        self, context: Context, record: str, queue: int = 1000, slow: Callable[[Value], Any] | None = None
    ) -> None:
        self.values: list[Value] = []
        self.disconnected = 0
        self._slow = slow
        self._came = threading.Condition()
        # The library's own threads are shared: a client that takes its time would hold another one up.
        self._thread = ThreadedWorkQueue(maxsize=0, daemon=True).start()
        self._subscription = context.monitor(
            record, self._take, request=f"record[queueSize={queue}]", notify_disconnect=True,
            queue=self._thread,
        )  # fmt: skip

    def _take(self, value: Value) -> None:
        with self._came:
            if isinstance(value, Disconnected):
                self.disconnected += 1
            else:
                self.values.append(value)
            self._came.notify_all()
        if self._slow is not None and not isinstance(value, Disconnected):
            self._slow(value)

    def wait(self, condition: Callable[[list[Value]], Any]) -> list[Value]:
        """The updates so far, once there is one and a condition holds for them."""
        with self._came:
            assert self._came.wait_for(lambda: self.values and condition(self.values), DEADLINE)
            return list(self.values)

    def until_disconnected(self) -> None:
        """Wait until the server is gone."""
        with self._came:
            assert self._came.wait_for(lambda: self.values and self.disconnected > 0, DEADLINE)

    def close(self) -> None:
        """End the subscription."""
        self._subscription.close()
        self._thread.stop()
