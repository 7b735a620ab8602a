"""A small beamline with Sardana on one machine: database, detectors, receivers, Pool, MacroServer.

Every part is a process of its own on free loopback ports, and all of them end with the `with` block. Used by
the demonstration and by tests.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

import tango

from penstock.beamline.registration import register
from penstock.beamline.stage import MODELS, Staged, json_line
from penstock.hosts.child import PENSTOCK, PYTHON, Child, children, free_port, ready_line
from penstock.hosts.tango_database import start_database
from penstock.receiver.client import ReceiverClient
from penstock.receiver.models import ReadyLine
from penstock.sardana.door import IDLE, Door, MacroRun, MacroTimeout
from penstock.sardana.laboratory import servers
from penstock.sardana.registration.hooks import HOOKS

MOTOR_CLASS = "DummyMotorController"
MOTORS = ("mot01", "mot02")
MOTOR_SPEED, RAMP = 10.0, 0.1
"""Units per second, and seconds up to that: fast, since the motors are simulated."""
TIMER = "ct01"
GROUP = "mntgrp"
SARDANA = "Sardana"
"""Name of the process of Pool, MacroServer and Door."""
TRIGGERS = "tg01"
"""The trigger line to all detectors."""
FLY_GROUP = "fly"
"""The detectors alone, synchronised by the trigger line."""
EVENTS_WITHIN = 60.0
"""Seconds in which the events of a restarted Sardana must arrive again."""
READY_WITHIN = 60.0
"""Seconds in which a detector must be ready; a virtual one on a busy machine resets for half a minute."""


class LaboratoryFailed(Exception):
    """A part of it cannot be set up; the sentence says which and why."""


@dataclass(frozen=True)
class Unit:
    """One detector of the laboratory, and its receiver."""

    name: str
    """Name of the channel in Sardana, too."""
    properties: Mapping[str, object] = field(default_factory=dict)
    """Properties of the detector's Tango device, in addition to the necessary ones."""
    receiver: Mapping[str, object] = field(default_factory=dict)
    """Keys of the receiver's configuration, likewise."""
    model: str = "Simulator"
    """Tango class of its device, one of `stage.MODELS`."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the simulated unit of that model; see `stage`."""

    @property
    def device(self) -> str:
        """Tango name of the detector."""
        return f"{self.name}/det/1"

    @property
    def server(self) -> str:
        """Device server of the detector."""
        return f"{self.model}/{self.name}"


class Laboratory:
    """The processes; a context manager.

    Args:
        folder: everything is in it: `data` (files of detectors and scans) and `servers`.
        units: the detectors.
        data: another folder for the files of detectors and scans.
        scan_file: name of the file of the scans.
        plugins: whether Sardana finds Penstock; else it has motors and timer only.
        progress: called with each step.

    Raises:
        ProcessFailed: a process did not start; from `__enter__`.
        LaboratoryFailed: a detector or an element of Sardana cannot be set up; from `__enter__`.
    """

    def __init__(
        self, folder: Path, units: Sequence[Unit] = (Unit("sim"),), *,
        data: Path | None = None, scan_file: str = "scan.h5", plugins: bool = True,
        progress: Callable[[str], None] = lambda text: None,
    ) -> None:  # fmt: skip
        self.folder = folder.resolve()
        self.data = data.resolve() if data is not None else self.folder / "data"
        self.scan_file = self.data / scan_file
        self.units = {unit.name: unit for unit in units}
        self._plugins = plugins
        self._progress = progress
        self._stack = contextlib.ExitStack()
        self._children: dict[str, Child[object]] = {}
        self._commands: dict[str, Callable[[], Child[object]]] = {}
        self._staged: dict[str, Staged] = {}
        self.tango_host = ""
        self.receiver_urls: dict[str, str] = {}
        self.door: Door

    def __enter__(self) -> Laboratory:
        try:
            self._start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with _undisturbed():
            for child in reversed(list(self._children.values())):
                child.stop()
            self._children.clear()
            self._stack.close()

    # What is in it ----------------------------------------------------------------------------

    step_group, fly_group = GROUP, FLY_GROUP
    """Measurement groups: timer and detectors by software, detectors by the trigger line."""

    def device(self, name: str) -> tango.DeviceProxy:
        """Return the proxy of a Tango device of the laboratory, by its name or alias."""
        return tango.DeviceProxy(f"tango://{self.tango_host}/{name}")

    def detector(self, unit: str = "sim") -> tango.DeviceProxy:
        """Return the detector's device."""
        return self.device(self.units[unit].device)

    def receiver(self, unit: str = "sim") -> ReceiverClient:
        """Return the detector's receiver."""
        return ReceiverClient(self.receiver_urls[unit], timeout=2.0)

    def process(self, name: str) -> Child[object]:
        """Return a process: "Sardana", "receiver sim", "Simulator/sim"."""
        return self._children[name]

    def restart(self, name: str) -> None:
        """Restart a process, whatever its state; after a restart of Sardana `door` is a new one."""
        self._children.pop(name).stop()
        self._children[name] = self._commands[name]()
        if name == SARDANA:
            servers.wait_sardana(self._children[name], self.tango_host)
            self.door.__exit__(None, None, None)
            self._open_door()
            limit = time.monotonic() + EVENTS_WITHIN
            while not self.run("lsgh").messages:  # Tango reconnects with its next heartbeat
                if time.monotonic() > limit:
                    raise LaboratoryFailed(f"no events of {servers.DOOR} within {EVENTS_WITHIN:g} s")

    def run(self, *command: str, timeout: float = 60.0) -> MacroRun:
        """Run a macro at the Door and wait until it has ended."""
        return self.door.run(*command, timeout=timeout)

    def end(self, run: MacroRun, timeout: float = 60.0) -> MacroRun:
        """Follow a macro that was stopped or aborted to its end; see `Door.end`."""
        return self.door.end(run, [self.device(motor) for motor in MOTORS], timeout=timeout)

    def tidy(self) -> None:
        """Leave no macro, no timer and no series running, whatever has gone wrong.

        Raises:
            LaboratoryFailed: a detector does not become ready.
        """
        try:
            if self.door.proxy.State() not in IDLE:
                self.door.abort()
                self.end(MacroRun(("the macro that ran",)), timeout=30.0)
        except (MacroTimeout, tango.CommunicationFailed):
            self.restart(SARDANA)
        # Sardana leaves it counting where a channel has failed, and nothing can be started meanwhile.
        if self._plugins and self.device(TIMER).State() is tango.DevState.MOVING:
            self.device(GROUP).Stop()
        for unit in self.units:
            proxy = self.detector(unit)
            if proxy.State() is tango.DevState.RUNNING:
                proxy.Abort()
            self.recover(unit)

    def renew(self) -> None:
        """Restart Sardana, and every process that has ended."""
        for name in [*self._children]:
            if name != SARDANA and self._children[name].exit_status() is not None:
                self.restart(name)
        self.restart(SARDANA)

    def wait_idle(self, unit: str = "sim", within: float = 10.0) -> None:
        """Wait until a detector is ready for the next series and its receiver idle.

        Raises:
            LaboratoryFailed: it is not ready within so many seconds; the sentence is the detector's.
        """
        proxy, receiver = self.detector(unit), self.receiver(unit)
        limit = time.monotonic() + within
        while not (proxy.State() is tango.DevState.ON and receiver.status().state == "idle"):
            if time.monotonic() > limit:
                raise LaboratoryFailed(
                    f"{unit} is not idle after {within:g} s: {proxy.State()}, {proxy.Status()} "
                    f"The receiver is {receiver.status().state}."
                )
            time.sleep(0.02)

    def kill(self, name: str) -> None:
        """Kill a process and its children (SIGKILL), like a power cut; `restart` starts it again."""
        child = self._children[name]
        for pid in (child.pid, *children(child.pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        child.wait(5.0)

    def recover(self, unit: str = "sim") -> None:
        """Reset a detector and its receiver after a fault, as a user at the panel would."""
        if self.receiver(unit).status().state == "error":
            self.receiver(unit).reset()
        proxy = self.detector(unit)
        if proxy.State() is tango.DevState.FAULT:
            proxy.Reset()
        self.wait_idle(unit)

    def define(self, *command: str) -> None:
        """Run a macro that must not fail.

        Raises:
            LaboratoryFailed: it has failed.
        """
        run = self.run(*command)
        if run.ending != "finish":
            raise LaboratoryFailed(f"{' '.join(command)}: {run.error or run.said()}")

    # Setting up -------------------------------------------------------------------------------

    def _start(self) -> None:
        self.data.mkdir(parents=True, exist_ok=True)
        own = self.folder / "servers"
        own.mkdir(exist_ok=True)
        database = self._stack.enter_context(start_database(own / "tango"))
        self.tango_host = f"127.0.0.1:{database.answer}"
        self._progress(f"Tango database {self.tango_host} (embedded)")
        self._progress("Sardana: Pool, MacroServer, Door")
        servers.register_sardana(self._database(), own, plugins=self._plugins)
        # It is busy with itself while the detectors, which it does not know yet, start.
        self._launch(SARDANA, lambda: servers.start_sardana(self.tango_host))
        for unit in self.units.values():
            self._progress(f"detector {unit.device}, its streamer and its receiver")
            self._start_unit(unit, own)
        self._children[SARDANA] = self._children.pop(SARDANA)  # the last one is stopped first
        servers.wait_sardana(self._children[SARDANA], self.tango_host)
        self._open_door()
        self._progress("elements: two motors, a timer, the detectors, a measurement group")
        for unit in self.units.values():
            self._wait_ready(unit)
        self._define_elements()

    def _open_door(self) -> None:
        self.door = self._stack.enter_context(Door(f"tango://{self.tango_host}/{servers.DOOR}"))

    def _await_pool(self) -> None:
        """Wait until the MacroServer knows the Pool's classes, which may be after the Door answers."""
        limit = time.monotonic() + READY_WITHIN
        while MOTOR_CLASS not in self.run("lsctrllib").said():
            if time.monotonic() > limit:
                raise LaboratoryFailed(f"{servers.MACRO_SERVER} knows no class of {servers.POOL}")

    def _define_elements(self) -> None:
        self._await_pool()
        self.define("defctrl", MOTOR_CLASS, "motctrl")
        for axis, motor in enumerate(MOTORS, 1):
            self.define("defelem", motor, "motctrl", str(axis))
            proxy = self.device(motor)
            proxy.Velocity, proxy.Acceleration, proxy.Deceleration = MOTOR_SPEED, RAMP, RAMP
        self.define("defctrl", "DummyCounterTimerController", "ctctrl")
        self.define("defelem", TIMER, "ctctrl", "1")
        self.define("senv", "ScanDir", str(self.data))
        self.define("senv", "ScanFile", self.scan_file.name)
        if not self._plugins:
            return
        self.define("senv", "ScanRecorder", "PenstockRecorder")
        for macro, place in HOOKS:
            self.define("defgh", macro, place)
        for unit in self.units.values():
            self.define("defctrl", "PenstockDetector", f"{unit.name}ctrl", "DetectorDevice", unit.device)
            self.define("defelem", unit.name, f"{unit.name}ctrl", "1")
        self.define("defmeas", GROUP, TIMER, *self.units)
        self._define_triggers()
        self.define("senv", "ActiveMntGrp", GROUP)
        self.define("set_meas_conf", "ValueRefEnabled", "True", "[", *self.units, "]", GROUP)

    def _define_triggers(self) -> None:
        detectors = ",".join(self._staged[unit.name].triggers or unit.device for unit in self.units.values())
        self.define("defctrl", "PenstockTriggers", "tgctrl", "Detectors", detectors)
        self.define("defelem", TRIGGERS, "tgctrl", "1")
        self.define("defmeas", FLY_GROUP, *self.units)
        for parameter, value in (
            ("ValueRefEnabled", "True"), ("Synchronizer", TRIGGERS), ("Synchronization", "Trigger"),
        ):  # fmt: skip
            self.define("set_meas_conf", parameter, value, "[", *self.units, "]", FLY_GROUP)

    def _start_unit(self, unit: Unit, own: Path) -> None:
        staged = self._staged[unit.name] = MODELS[unit.model](**unit.options)
        for stand_in in staged.stand_ins:
            name = f"{stand_in.name} {unit.name}"
            self._launch(name, partial(Child, name, stand_in.command, json_line, deadline=stand_in.deadline))
        config = own / f"{unit.name}.yaml"
        entry = {
            "source": dict(staged.source),
            "http": f"127.0.0.1:{free_port()}",  # kept over a restart
            "data_root": str(self.data),
            **staged.receiver,
            **unit.receiver,
        }
        config.write_text(json.dumps({"receivers": {unit.name: entry}}, indent=2) + "\n")  # JSON is YAML
        self.receiver_urls[unit.name] = url = f"http://{entry['http']}"
        command = [*PENSTOCK, "receiver", unit.name, "--config", str(config), "--json"]
        self._launch(
            f"receiver {unit.name}",
            lambda: Child(f"receiver {unit.name}", command, ready_line(ReadyLine)),
        )
        properties = {"ReceiverUrl": url, **staged.properties, **unit.properties}
        register(
            self._database(), unit.server, staged.server, unit.device,
            {name: str(value) for name, value in properties.items()},
        )  # fmt: skip
        self._launch(unit.server, lambda: self._serve(unit.server))

    def _serve(self, server: str) -> Child[bool]:
        name, _, instance = server.partition("/")
        return Child(
            server,
            [
                *PYTHON, "-m", "penstock.devices._server.server", name, instance,
                "-ORBendPoint", "giop:tcp:127.0.0.1:0",
            ],
            lambda line: True if "Ready to accept request" in line else None,
            deadline=30.0, environment={"TANGO_HOST": self.tango_host},
        )  # fmt: skip

    def _launch(self, name: str, command: Callable[[], Child]) -> None:  # type: ignore[type-arg]
        self._commands[name] = command
        self._children[name] = command()

    def _wait_ready(self, unit: Unit) -> None:
        proxy = self.detector(unit.name)
        limit, initialised = time.monotonic() + READY_WITHIN, not self._staged[unit.name].initialised_by_reset
        while (state := proxy.State()) is not tango.DevState.ON:
            if state is tango.DevState.FAULT and not initialised:
                initialised = True
                proxy.Reset()  # a control unit that was switched on a moment ago
            if time.monotonic() > limit:
                raise LaboratoryFailed(f"{unit.device} is {proxy.State()}: {proxy.Status()}")
            time.sleep(0.02)

    def _database(self) -> tango.Database:
        host, _, port = self.tango_host.partition(":")
        return tango.Database(host, int(port))


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Ignore further signals: a second Ctrl-C would leave processes behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {
        number: signal.signal(number, signal.SIG_IGN)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }  # fmt: skip
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
