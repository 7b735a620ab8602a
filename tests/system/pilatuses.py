"""A device of class Pilatus over a simulated camserver and a light streamer, with its receiver."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock.hosts.child import free_port
from penstock.streamer.remote.light_client import LightClient
from penstock.streamer.simulated.camserver.faults import Faults
from penstock.streamer.simulated.camserver.server import SimulatedCamserver
from penstock.streamer.simulated.triggers import TriggerSource
from tests.streamer.simulated.camserver.light_process import start_light
from tests.system.beamline import FAULT, ON, Beamline, until, wait_state

STEPS = ({"type": "cbf"}, {"type": "bslz4"})
"""Transforms of its receiver, as the how-to says."""


class PilatusUnit:
    """A control unit with its device and its receiver."""

    def __init__(
        self, beamline: Beamline, name: str, steps: Sequence[Mapping[str, Any]] = STEPS, **unit: Any
    ) -> None:
        self.beamline = beamline
        self.folder = Path(tempfile.mkdtemp(prefix="penstock-test-"))
        self.box = SimulatedCamserver(self.folder, **unit)
        self.light_ports = free_port(), free_port()
        self.light = start_light(self.folder, *self.light_ports)
        self.server = f"Pilatus/{name}"
        ready = self.light.answer
        self.receiver = beamline.receiver(name, ready.stream_port, transforms=list(steps))
        beamline.register(
            self.server, "Pilatus", f"{name}/det/1", ReceiverUrl=self.receiver.url, Host="127.0.0.1",
            Port=self.box.port, LightStreamer=ready.address, StreamPort=ready.stream_port,
        )  # fmt: skip
        self.process = beamline.serve(self.server)
        self.detector = beamline.device(f"{name}/det/1")
        self._files = 0
        wait_state(self.detector, ON)

    def close(self) -> None:
        """End everything."""
        self.beamline.end(self.server)
        self.receiver.stop()
        self.light.stop()
        self.box.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def restart_light(self) -> None:
        """Start the light streamer again, at the ports that it had."""
        self.light.stop()
        self.light = start_light(self.folder, *self.light_ports)

    def calm(self) -> None:
        """Bring everything back to idle, whatever the last test did."""
        self.box.faults = Faults()
        self.box.power(on=True)
        if self.light.exit_status() is not None:
            self.restart_light()
        self.detector.Abort()
        wait_state(self.detector, ON, FAULT)
        if self.detector.State() == FAULT:
            self.detector.Reset()
        wait_state(self.detector, ON)
        until(lambda: self.receiver.client.status().state == "idle", "receiver idle", 15.0)
        self.await_receiver()

    def await_receiver(self) -> None:
        """Wait until the receiver is connected to the light streamer."""
        client = LightClient(self.light.answer.control)
        until(lambda: client.status().peers == 1, "connected", 15.0)
        client.close()

    def set(self, **values: Any) -> None:
        """Write attributes by name."""
        for name, value in values.items():
            self.detector.write_attribute(name, value)

    def series(self, mode: str, triggers: int, **settings: Any) -> Path:
        """Set up a series; its file."""
        self._files += 1
        file = self.receiver.root / f"{self.receiver.name}-{self._files:03d}.h5"
        wanted = {"ExposureTime": 0.005, "LatencyTime": 0.0, "nFramesPerTrigger": 1, **settings}
        self.set(TriggerMode=mode, nTriggers=triggers, DestinationFilename=str(file), **wanted)
        return file

    def arm(self, mode: str, triggers: int, **settings: Any) -> Path:
        """Set up a series, and arm."""
        file = self.series(mode, triggers, **settings)
        self.detector.Arm()
        return file

    def take(self, triggers: int = 3, **settings: Any) -> Path:
        """Take a whole INTERNAL series."""
        file = self.arm("INTERNAL", triggers, **settings)
        wait_state(self.detector, ON)
        return file

    def edges(self, number: int, gate: float = 0.002) -> None:
        """Give edges to its trigger input, far apart by their own clock."""
        host, _, port = self.box.trigger_address.rpartition(":")
        source = TriggerSource((host, int(port)))
        for edge in range(number):
            source.pulse(gate, moment=float(edge))
        source.close()

    def last(self) -> dict[str, Any]:
        """The account of the last series."""
        return dict(json.loads(self.detector.LastSeries))
