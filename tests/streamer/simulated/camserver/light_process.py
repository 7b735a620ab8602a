"""A light streamer as a process, for tests of a detector that needs one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from penstock.hosts.child import PYTHON, Child, ready_line
from penstock.streamer.remote.light_client import LightClient, LightStatus
from tests.system.beamline import until

DEADLINE = 20.0


class LightReady(msgspec.Struct):
    """Its ready line."""

    control: str
    data: str
    pid: int

    @property
    def address(self) -> str:
        """HOST:PORT of its requests."""
        return self.control.removeprefix("tcp://")

    @property
    def stream_port(self) -> int:
        """Port of its frames."""
        return int(self.data.rpartition(":")[2])

    def reset(self) -> None:
        """Have it forget what a series before has left."""
        client = LightClient(self.control)
        client.reset()
        client.close()

    def until(self, wanted: Callable[[LightStatus], bool]) -> None:
        """Wait until its status is as wanted."""
        client = LightClient(self.control)
        until(lambda: wanted(client.status()), "the light streamer is as expected", DEADLINE)
        client.close()


def start_light(folder: Path, data: int = 0, control: int = 0) -> Child[LightReady]:
    """Start one that watches this folder, at these ports; 0 for free ones."""
    return Child(
        "the light streamer",
        (
            *PYTHON, "-m", "penstock.streamer.light_streamer", "--folder", str(folder),
            "--data", f"tcp://127.0.0.1:{data}", "--control", f"tcp://127.0.0.1:{control}",
        ),
        ready_line(LightReady),
    )  # fmt: skip
