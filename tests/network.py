"""Two computers at a switch: network namespaces, veth pairs and a bridge whose ports can be taken down."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.receiver.processes import ReceiverProcess

UNIT, SERVER = "control unit", "server"
DATA, CONTROL = 9999, 9998


def unavailable() -> str:
    """Why there can be no such network here; "" if there can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if shutil.which("ip") is None:
        return "network namespaces need the command ip"
    try:
        with Switch("probe"):
            return ""
    except subprocess.CalledProcessError as error:
        return f"this machine allows no network of namespaces: {error.stderr.strip()}"


class Switch:
    """A switch with a port for each computer, and one for the tests themselves.

    Args:
        computers: names of the computers.
    """

    def __init__(self, *computers: str) -> None:
        number = os.getpid() % 2**16
        self._bridge = f"pb{number}"
        # For tests of networks (RFC 2544); several runs at a time have different ones.
        self._subnet = f"198.{18 + number % 2}.{number // 2 % 256}"
        self._numbers = {name: place for place, name in enumerate(computers, start=2)}
        self._made: list[list[str]] = []

    def __enter__(self) -> Switch:
        try:
            self._make(
                ["ip", "link", "add", self._bridge, "type", "bridge"], ["ip", "link", "del", self._bridge]
            )
            _call("ip", "addr", "add", f"{self._subnet}.1/24", "dev", self._bridge)
            _call("ip", "link", "set", self._bridge, "up")
            for name in self._numbers:
                self._connect(name)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._made:
            subprocess.run(self._made.pop(), check=False)

    def address(self, name: str) -> str:
        """Address of a computer."""
        return f"{self._subnet}.{self._numbers[name]}"

    def on(self, name: str) -> list[str]:
        """What precedes a command that runs on this computer."""
        return ["ip", "netns", "exec", self._namespace(name)]

    def cut(self, name: str) -> None:
        """Take the port of this computer down."""
        _call("ip", "link", "set", self._port(name), "down")

    def mend(self, name: str) -> None:
        """Take it up again."""
        _call("ip", "link", "set", self._port(name), "up")

    def _namespace(self, name: str) -> str:
        return f"{self._bridge}-{self._numbers[name]}"

    def _port(self, name: str) -> str:
        return f"{self._bridge}p{self._numbers[name]}"

    def _connect(self, name: str) -> None:
        space, port = self._namespace(name), self._port(name)
        self._make(["ip", "netns", "add", space], ["ip", "netns", "del", space])
        _call("ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", space)
        _call("ip", "link", "set", port, "master", self._bridge, "up")
        _call("ip", "-n", space, "addr", "add", f"{self.address(name)}/24", "dev", "eth0")
        _call("ip", "-n", space, "link", "set", "eth0", "up")
        _call("ip", "-n", space, "link", "set", "lo", "up")

    def _make(self, command: list[str], undo: list[str]) -> None:
        _call(*command)
        self._made.append(undo)


def _call(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)


class Computers:
    """A simulated detector's streamer on one computer, a receiver on another.

    Args:
        switch: with the computers `UNIT` and `SERVER`.
        folder: for the receiver's files.
        stack: ends all of it.
        source: further keys of the receiver's source.
    """

    def __init__(self, switch: Switch, folder: Path, stack: ExitStack, **source: Any) -> None:
        unit, server = switch.address(UNIT), switch.address(SERVER)
        data, self.control = f"tcp://{unit}:{DATA}", f"tcp://{unit}:{CONTROL}"
        self.process = stack.enter_context(
            subprocess.Popen(
                [*switch.on(UNIT), "penstock", "streamer", "Simulator", "--data", data,
                 "--control", self.control, "--properties", '{"SensorWidth": 64, "SensorHeight": 32}'],
                stdout=subprocess.PIPE,
            )
        )  # fmt: skip
        stack.callback(self.process.kill)
        assert self.process.stdout is not None
        assert self.process.stdout.readline(), "it is ready"
        self.receiver = ReceiverProcess(
            folder, data, source, http=f"{server}:0", within=switch.on(SERVER), gap={"seconds": 2.0}
        )
        stack.callback(self.receiver.close)
        self.receiver.connected()
