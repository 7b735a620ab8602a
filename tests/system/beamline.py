"""A small beamline of real processes for tests: SQLite Tango database, receivers, device servers."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import tango

from penstock.beamline.registration import register
from penstock.hosts.child import PENSTOCK, PYTHON, Child, children, free_port, ready_line
from penstock.hosts.tango_database import start_database
from penstock.receiver.client import ReceiverClient
from penstock.receiver.models import ReadyLine

ON, MOVING, RUNNING, FAULT, INIT, UNKNOWN = (
    getattr(tango.DevState, name) for name in ("ON", "MOVING", "RUNNING", "FAULT", "INIT", "UNKNOWN")
)


DEADLINE = 30.0
"""Seconds after which a test gives up; nothing waits so long when all is well, on a busy machine neither."""


def until(condition: Callable[[], Any], what: str, deadline: float = DEADLINE) -> Any:
    """Wait for `condition` to be true; what it returned."""
    limit = time.monotonic() + deadline
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < limit, f"{what}: not within {deadline:g} s"
        time.sleep(0.01)


def wait_state(device: tango.DeviceProxy, *states: tango.DevState, deadline: float = DEADLINE) -> None:
    """Wait until the device has one of these states; shows its own sentence otherwise."""
    limit = time.monotonic() + deadline
    while (state := device.State()) not in states:
        assert time.monotonic() < limit, f"{device.dev_name()} stays {state}: {device.Status()}"
        time.sleep(0.01)


class ReceiverProcess:
    """One `penstock receiver` with a configuration of its own; its HTTP port survives a restart."""

    def __init__(self, name: str, folder: Path, endpoint: str, config: Mapping[str, Any]) -> None:
        self.name = name
        self.root = folder / "data"
        self.root.mkdir(parents=True, exist_ok=True)
        self._config = folder / f"{name}.yaml"
        entry = {
            "source": {"type": "stins", "endpoints": [endpoint]},
            "http": f"127.0.0.1:{free_port()}",
            "data_root": str(self.root),
            **config,
        }
        self._config.write_text(json.dumps({"receivers": {name: entry}}))  # JSON is YAML
        self.url = f"http://{entry['http']}"
        self.client = ReceiverClient(self.url, timeout=DEADLINE)
        self.child: Child[ReadyLine] | None = None
        self.start()

    def start(self) -> None:
        """Start it (again)."""
        assert self.child is None
        command = [*PENSTOCK, "receiver", self.name, "--config", str(self._config), "--json"]
        self.child = Child(f"receiver {self.name}", command, ready_line(ReadyLine))

    def stop(self) -> None:
        """End it if it runs."""
        if (child := self.child) is not None:
            self.child = None
            child.stop()
            assert not any("SIGSEGV" in line for line in child.tail), list(child.tail)

    def kill(self) -> None:
        """SIGKILL to it and to its data process, as a power cut would."""
        assert self.child is not None
        pids = [self.child.pid, *children(self.child.pid)]
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.child.wait(5.0)
        self.stop()


def restart_receiver(receiver: ReceiverProcess, device: int) -> None:
    """Kill it and start it again before a device can have missed it, however slow this machine is.

    Args:
        receiver: the receiver.
        device: process id of the device's server.
    """
    os.kill(device, signal.SIGSTOP)
    try:
        receiver.kill()
        receiver.start()
        until(lambda: any(item.connections for item in receiver.client.status().connections), "connected")
    finally:
        os.kill(device, signal.SIGCONT)


class Beamline:
    """The database, and everything that was started on it; ends all of it on exit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._stack = contextlib.ExitStack()
        self._servers: dict[str, Child[bool]] = {}
        # Where it can be started again: no client has that port meanwhile.
        self.database = self._stack.enter_context(start_database(folder / "tango", port=free_port()))
        self.tango_host = f"127.0.0.1:{self.database.answer}"

    def __enter__(self) -> Beamline:
        return self

    def __exit__(self, *_: object) -> None:
        for server in self._servers.values():
            server.stop()
        self._stack.close()

    def restart_database(self) -> None:
        """Start the database again at the address that it had."""
        self.database = self._stack.enter_context(
            start_database(self.folder / "tango", port=self.database.answer)
        )

    def receiver(self, name: str, data_port: int, **config: Any) -> ReceiverProcess:
        """Start a receiver of the streamer at this port."""
        process = ReceiverProcess(name, self.folder, f"tcp://127.0.0.1:{data_port}", config)
        self._stack.callback(process.stop)
        return process

    def register(self, server: str, kind: str, device: str, **properties: object) -> None:
        """Register a device."""
        host, _, port = self.tango_host.partition(":")
        register(
            tango.Database(host, int(port)), server, kind, device,
            {name: str(value) for name, value in properties.items()},
        )  # fmt: skip

    def serve(self, server: str, relay: Callable[[str], None] | None = None) -> Child[bool]:
        """Start a device server (again); `relay` is called with each line of its log."""
        self.end(server)
        name, _, instance = server.partition("/")
        child = Child(
            server,
            [
                *PYTHON, "-m", "penstock.devices._server.server", name, instance,
                "-ORBendPoint", "giop:tcp:127.0.0.1:0",
            ],
            lambda line: True if "Ready to accept request" in line else None,
            deadline=30.0, environment={"TANGO_HOST": self.tango_host}, relay=relay,
        )  # fmt: skip
        self._servers[server] = child
        return child

    def end(self, server: str) -> None:
        """End a device server if it runs."""
        if server in self._servers:
            self._servers.pop(server).stop()

    def device(self, name: str) -> tango.DeviceProxy:
        """Proxy of a device."""
        return tango.DeviceProxy(f"tango://{self.tango_host}/{name}")


class Station:
    """One simulated detector with its receiver and both Tango devices."""

    def __init__(
        self, beamline: Beamline, name: str = "sim", sensor: tuple[int, int] = (64, 32),
        unit: Mapping[str, object] | None = None, **config: Any,
    ) -> None:  # fmt: skip
        self.beamline = beamline
        self.server = f"Simulator/{name}"
        self.port = free_port()
        self.receiver = beamline.receiver(name, self.port, **config)
        self._properties = {"ReceiverUrl": self.receiver.url, "DataPort": self.port, **(unit or {})}
        beamline.register(
            self.server, "Simulator", f"{name}/det/1", SensorWidth=sensor[0], SensorHeight=sensor[1],
            **self._properties,
        )  # fmt: skip
        beamline.register(
            self.server, "PenstockReceiver", f"{name}/receiver/1", ReceiverUrl=self.receiver.url
        )
        self.process = beamline.serve(self.server)
        self.detector = beamline.device(f"{name}/det/1")
        self.receiver_device = beamline.device(f"{name}/receiver/1")
        wait_state(self.detector, ON)
        self._files = 0

    @property
    def root(self) -> Path:
        """The receiver's data root."""
        return self.receiver.root

    def restart_server(self) -> None:
        """Start the device server again, whatever became of it."""
        self.process = self.beamline.serve(self.server)
        wait_state(self.detector, ON)

    def streamer_pid(self) -> int:
        """The detector's child streamer."""
        (pid,) = children(self.process.pid)
        return pid

    def new_file(self) -> Path:
        """A file name that is not taken."""
        self._files += 1
        return self.root / f"{self.server.rpartition('/')[2]}-{self._files:03d}.h5"

    def calm(self) -> None:
        """Bring everything back to idle with default settings, whatever the last test did."""
        if self.receiver.child is None:
            self.receiver.start()
        elif self.receiver.client.status().state == "error":
            self.receiver.client.reset()
        self.detector.Abort()
        wait_state(self.detector, ON, FAULT)
        if self.detector.State() == FAULT:
            self.detector.Reset()
        wait_state(self.detector, ON)
        until(lambda: self.receiver.client.status().state == "idle", "receiver idle")
        self.set(
            ExposureTime=0.001, LatencyTime=0.0, nTriggers=1, nFramesPerTrigger=1, TriggerMode="INTERNAL",
            DestinationFilename="", DestinationFileOverwritable=False, SaveRaw=True, Faults="", Metadata="{}",
            Rotation=0,
        )  # fmt: skip

    def set(self, **values: Any) -> None:
        """Write attributes by name."""
        for name, value in values.items():
            self.detector.write_attribute(name, value)

    def software_series(self, triggers: int, **values: Any) -> Path:
        """Set up and arm a SOFTWARE series; its file."""
        file = self.new_file()
        self.set(TriggerMode="SOFTWARE", nTriggers=triggers, DestinationFilename=str(file), **values)
        self.detector.Arm()
        return file

    def trigger(self) -> None:
        """One software trigger, waiting until its frame is acquired as a step scan does."""
        before = self.detector.nFramesAcquired
        until(lambda: self.detector.ReadyForSwTrigger, "ready for a trigger")
        self.detector.SoftwareTrigger()
        until(lambda: self.detector.nFramesAcquired > before, "frame acquired")


def refusal(call: Callable[[], object]) -> str:
    """The sentence with which Tango refuses `call`, and the time that it took is bounded."""
    begun = time.monotonic()
    try:
        call()
    except tango.DevFailed as error:
        assert time.monotonic() - begun < 2.7, "a refusal must come before a client's time-out"
        return str(error.args[0].desc)
    raise AssertionError("nothing was refused")


def connections(pid: int) -> int:
    """TCP connections of a process that are established, or that only the other side has closed."""
    sockets = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            sockets.add(os.readlink(descriptor))
    lines = [line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
    return sum(f"socket:[{line[9]}]" in sockets and line[3] in ("01", "08") for line in lines)
