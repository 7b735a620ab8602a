"""A light streamer as a process, for tests of a detector that needs one."""

from __future__ import annotations

from pathlib import Path

import msgspec

from penstock.devices._base.processes import PYTHON, Child, ready_line


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
