"""Devices of class Jungfrau and Moench with their receivers: over the fake, and over PSI's own programs.

PSI's virtual detector and slsReceiver judge the device, with the real slsdet; the fake does what they do not.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from penstock.beamline.stage import Staged, json_line, jungfrau
from penstock.devices._sls.connection import memory_name
from penstock.devices._sls.virtual import server_of
from penstock.hosts.child import Child, children
from tests.devices.sls_box import SlsBox
from tests.knocks import listens
from tests.system.beamline import FAULT, MOVING, ON, RUNNING, Beamline, until, wait_state
from tests.third_party import program_of

CLIENT = """
import sys
import slsdet
detector = slsdet.{model}()
print("ready", flush=True)
sys.stdin.readline()
"""
"""Lines of another client before it does what it is there for."""
FOREIGN = """
import time
detector.timing, detector.triggers = slsdet.timingMode.AUTO_TIMING, 1
detector.frames, detector.exptime, detector.period = {frames}, 0.01, 0.02
detector.rx_start()
detector.start()
while detector.status != slsdet.runStatus.IDLE:
    time.sleep(0.02)
detector.rx_stop()
"""
"""Lines of another client, which starts the detector as it was left."""


class JungfrauStation:
    """A detector with its device and its receiver; subclasses say where it is."""

    model = "Jungfrau"
    properties: dict[str, Any]
    source: dict[str, Any]

    def __init__(self, beamline: Beamline, name: str) -> None:
        self.beamline = beamline
        self.server = f"{self.model}/{name}"
        port = int(self.properties["StreamPort"])
        self.receiver = beamline.receiver(name, port, source=self.source)
        beamline.register(
            self.server, self.model, f"{name}/det/1", ReceiverUrl=self.receiver.url, **self.properties
        )
        self.process = beamline.serve(self.server)
        self.detector = beamline.device(f"{name}/det/1")
        self._files = 0

    @property
    def root(self) -> Path:
        return self.receiver.root

    def set(self, **values: Any) -> None:
        """Write attributes by name; a voltage takes its time, in which nothing else can be set."""
        for name, value in values.items():
            until(lambda: self.detector.State() != MOVING, "set", 60.0)
            self.detector.write_attribute(name, value)

    def series(self, mode: str, triggers: int, **values: Any) -> Path:
        """Set up a series; its file."""
        self._files += 1
        file = self.root / f"{self.receiver.name}-{self._files:03d}.h5"
        wanted = {
            "ExposureTime": 0.01, "LatencyTime": 0.0, "nFramesPerTrigger": 1, "TriggerMode": mode,
            "nTriggers": triggers, "DestinationFilename": str(file), "DestinationFileOverwritable": False,
        }  # fmt: skip
        self.set(**(wanted | values))
        return Path(self.detector.DestinationFilename)

    def arm(self, mode: str, triggers: int, **values: Any) -> Path:
        file = self.series(mode, triggers, **values)
        self.detector.Arm()
        wait_state(self.detector, RUNNING, ON)
        return file

    def trigger(self) -> None:
        """As a step scan does."""
        before = self.detector.nFramesAcquired
        until(lambda: self.detector.ReadyForSwTrigger, "ready for a trigger")
        self.detector.SoftwareTrigger()
        until(lambda: self.detector.nFramesAcquired > before, "acquired")

    def last(self) -> dict[str, Any]:
        return dict(json.loads(self.detector.LastSeries))

    def calm(self) -> None:
        """Bring everything back to idle, whatever the last test did."""
        if self.receiver.child is None:
            self.receiver.start()
        self.detector.Abort()
        wait_state(self.detector, ON, FAULT, deadline=30.0)
        if self.detector.State() == FAULT:
            self.detector.Reset()
        wait_state(self.detector, ON, deadline=60.0)
        until(lambda: self.receiver.client.status().state == "idle", "receiver idle")
        until(lambda: self.receiver.client.status().connections[0].connections == 1, "connected")

    def start_by_somebody_else(self, frames: int) -> None:
        raise NotImplementedError

    def close(self) -> None:
        streamers = [psutil.Process(pid) for pid in children(self.process.pid)]
        self.beamline.end(self.server)
        psutil.wait_procs(
            streamers, timeout=10.0
        )  # or it would ask slsdet once more, which then remembers it
        self.receiver.stop()


class FakeStation(JungfrauStation):
    """Over the fake, which this process holds; the device's processes import the fake slsdet."""

    def __init__(self, beamline: Beamline, fake: SlsBox) -> None:
        self.box = fake
        self.properties = fake.properties
        self.source = {"type": "sls", "endpoints": [f"tcp://127.0.0.1:{fake.stream_port}"]}
        super().__init__(beamline, "fake")

    def start_by_somebody_else(self, frames: int) -> None:
        self.box.start_by_somebody_else(frames)

    def calm(self) -> None:
        self.box.power(on=True)
        self.box.refuses.clear()
        self.box.lost.clear()
        super().calm()


class VirtualStation(JungfrauStation):
    """Over PSI's virtual detector and slsReceiver."""

    def __init__(self, beamline: Beamline, staged: Staged, name: str) -> None:
        self.model = staged.server
        self.properties, self.source = dict(staged.properties), dict(staged.source)
        self.modules = [_address(each) for each in str(self.properties["Host"]).split()]
        self._restarted: dict[int, subprocess.Popen[bytes]] = {}
        super().__init__(beamline, name)

    def switch_off(self, number: int) -> None:
        """Kill the server of a module, as a power cut would."""
        command = self._server(number)
        if (again := self._restarted.pop(number, None)) is None:
            found = psutil.process_iter(["cmdline"])
            groups = {os.getpgid(each.pid) for each in found if each.info["cmdline"] == command}
        else:
            groups = {again.pid}
        for group in groups:  # the server and its second process
            os.killpg(group, signal.SIGKILL)
        if again is not None:
            again.wait()
        until(lambda: not any(self._listening(number)), "the module is off")

    def switch_on(self, number: int) -> None:
        """Start the server of a module again; return once it listens."""
        self._restarted[number] = subprocess.Popen(
            self._server(number), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        until(lambda: self._is_on(number), "the module listens", 45.0)

    def _is_on(self, number: int) -> bool:
        assert self._restarted[number].poll() is None, f"module {number} has ended"
        return all(self._listening(number))

    def _listening(self, number: int) -> list[bool]:
        """Whether its server and its second process accept connections."""
        host, port = self.modules[number]
        return [listens(host, each) for each in (port, port + 1)]

    def _server(self, number: int) -> list[str]:
        _, port = self.modules[number]
        return [str(program_of("slsdet", server_of(self.model))), "-p", str(port)]

    @contextmanager
    def another_client(self, code: str) -> Iterator[Callable[[], list[str]]]:
        """Another client, whose detector is `detector`, ready to run lines: what is yielded has it do so, and
        returns the words that they have printed."""
        with subprocess.Popen(
            [sys.executable, "-P", "-c", CLIENT.format(model=self.model) + code], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, env={**os.environ, "SLSDETNAME": memory_name(self.modules)}, text=True,
        ) as process:  # fmt: skip

            def run() -> list[str]:
                printed, _ = process.communicate("go\n", timeout=60.0)
                assert process.returncode == 0
                return printed.split()

            try:
                assert process.stdout is not None
                assert process.stdout.readline() == "ready\n"
                yield run
            finally:
                process.kill()

    def as_another_client(self, code: str) -> list[str]:
        """Run lines with another client, whose detector is `detector`; the words that they have printed."""
        with self.another_client(code) as run:
            return run()

    def close(self) -> None:
        super().close()
        for number in list(self._restarted):
            self.switch_off(number)

    def start_by_somebody_else(self, frames: int) -> None:
        self.as_another_client(FOREIGN.format(frames=frames))


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.partition(":")
    return host, int(port)


@contextmanager
def virtual_station(
    beamline: Beamline, name: str, modules: int, make: Callable[[int], Staged] = jungfrau
) -> Iterator[VirtualStation]:
    program_of("slsdet", "slsReceiver")
    staged = make(modules)
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONPATH", raising=False)
        for each in staged.stand_ins:
            stack.enter_context(Child(each.name, each.command, json_line, deadline=each.deadline))
        station = VirtualStation(beamline, staged, name)
        yield station
        station.close()
