"""A real IOC on the loopback interface, with ports of its own: nothing is broadcast."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from penstock.hosts.child import free_port
from tests.processing.channels.recorder_process import RecorderProcess

IOC = Path(__file__).with_name("epics_ioc.py")


class EpicsLaboratory(RecorderProcess):
    """An IOC with records, and the recorder.

    Args:
        ioc: script that is the IOC.
    """

    def __init__(self, ioc: Path = IOC) -> None:
        ca, pva, search = (str(free_port()) for _ in range(3))
        self.variables = {
            "EPICS_CA_SERVER_PORT": ca, "EPICS_CAS_INTF_ADDR_LIST": "127.0.0.1",
            "EPICS_CA_ADDR_LIST": "127.0.0.1", "EPICS_CA_AUTO_ADDR_LIST": "NO",
            "EPICS_CA_REPEATER_PORT": str(free_port()),
            "EPICS_PVAS_SERVER_PORT": pva, "EPICS_PVAS_INTF_ADDR_LIST": "127.0.0.1",
            "EPICS_PVAS_BROADCAST_PORT": search, "EPICS_PVAS_AUTO_BEACON_ADDR_LIST": "NO",
            "EPICS_PVA_BROADCAST_PORT": search, "EPICS_PVA_ADDR_LIST": "127.0.0.1",
            "EPICS_PVA_AUTO_ADDR_LIST": "NO",
        }  # fmt: skip
        super().__init__({**os.environ, **self.variables})
        self._ioc = ioc
        self.start_ioc()

    def start_ioc(self) -> None:
        """Start the IOC, and wait until it serves."""
        self.ioc = subprocess.Popen(
            [sys.executable, "-P", str(self._ioc)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=self.environment,
        )  # fmt: skip
        assert self.ioc.stdout is not None
        while (line := self.ioc.stdout.readline()).strip() != b"{}":
            assert line, "the IOC has ended"

    def set(self, record: str, value: object, moment: float | None = None, severity: int = 0) -> None:
        """Let a record be processed."""
        assert self.ioc.stdin is not None
        self.ioc.stdin.write(json.dumps([record, value, severity, moment]).encode() + b"\n")
        self.ioc.stdin.flush()

    def kill_ioc(self) -> None:
        """End the IOC without its knowing."""
        self.ioc.kill()
        self.ioc.communicate()

    def close(self) -> None:
        super().close()
        if self.ioc.poll() is None:
            self.kill_ioc()
