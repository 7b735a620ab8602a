"""A device of class Eiger on a control unit of any kind, with its receiver."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from penstock.streamer.simulated.simplon.box import Faults
from penstock.streamer.simulated.simplon.control_unit import ControlUnit
from tests.system.beamline import FAULT, ON, Beamline, until, wait_state

STREAMS = {"v1": "legacy", "v2": "cbor"}
"""What the control unit calls them."""


class EigerStation:
    """The Tango device Eiger of one control unit, and the receiver of its stream."""

    def __init__(
        self, beamline: Beamline, name: str, http_port: int, stream: str, stream_port: int, **config: Any
    ) -> None:
        self.server = f"Eiger/{name}"
        source = {"type": f"dectris-{stream}", "endpoints": [f"tcp://127.0.0.1:{stream_port}"]}
        self.receiver = beamline.receiver(name, stream_port, source=source, **config)
        beamline.register(
            self.server, "Eiger", f"{name}/det/1", ReceiverUrl=self.receiver.url, Host="127.0.0.1",
            Port=http_port, Stream=stream, StreamPort=stream_port,
        )  # fmt: skip
        self.process = beamline.serve(self.server)
        self.detector = beamline.device(f"{name}/det/1")
        self.beamline = beamline

    @property
    def root(self) -> Path:
        """The receiver's data root."""
        return self.receiver.root

    def set(self, **values: Any) -> None:
        """Write attributes by name."""
        for name, value in values.items():
            self.detector.write_attribute(name, value)


class EigerUnit:
    """A control unit with its device and its receiver."""

    def __init__(self, beamline: Beamline, name: str, stream: str, **unit: Any) -> None:
        self.box = ControlUnit(stream=STREAMS[stream], **unit)
        self.box.box.command("initialize")
        port = int(self.box.stream_endpoint.rpartition(":")[2])
        self.station = EigerStation(beamline, name, self.box.http_port, stream, port)
        self.detector = self.station.detector
        self.receiver = self.station.receiver
        self._files = 0
        wait_state(self.detector, ON)

    def close(self) -> None:
        self.station.beamline.end(self.station.server)
        self.receiver.stop()
        self.box.close()

    def calm(self) -> None:
        """Bring everything back to idle, whatever the last test did."""
        self.box.box.faults = Faults()
        self.box.power(on=True)
        if self.receiver.child is None:
            self.receiver.start()
        self.detector.Abort()
        wait_state(self.detector, ON, FAULT)
        if self.detector.State() == FAULT:
            self.detector.Reset()
        wait_state(self.detector, ON)
        self.take_defaults()
        until(lambda: self.receiver.client.status().state == "idle", "receiver idle", 15.0)
        until(lambda: self.receiver.client.status().connections[0].connections == 1, "connected")

    def reset(self) -> None:
        """Reset, and take the defaults of a box that has lost its settings."""
        self.detector.Reset()
        wait_state(self.detector, ON)
        self.take_defaults()

    def take_defaults(self) -> None:
        """Write the settings that the box has lost, as it has them now."""
        for name in re.findall(r"(\w+) was [^;]+: write it again", self.detector.Status()):
            self.detector.write_attribute(name, self.detector.read_attribute(name).value)
            wait_state(self.detector, ON)

    def series(self, mode: str, triggers: int, **settings: object) -> Path:
        """Set up a series; its file."""
        self._files += 1
        file = self.station.root / f"series-{self._files:03d}.h5"
        wanted = {"ExposureTime": 0.002, "nFramesPerTrigger": 1, **settings}
        self.station.set(TriggerMode=mode, nTriggers=triggers, DestinationFilename=str(file), **wanted)
        return file

    def arm(self, mode: str, triggers: int, **settings: object) -> Path:
        file = self.series(mode, triggers, **settings)
        self.detector.Arm()
        return file

    def trigger(self) -> None:
        """As a step scan does."""
        before = self.detector.nFramesAcquired
        until(lambda: self.detector.ReadyForSwTrigger, "ready for a trigger")
        self.detector.SoftwareTrigger()
        until(lambda: self.detector.nFramesAcquired > before, "acquired")

    def take_series(self) -> None:
        """A whole series, as after each fault."""
        file = self.arm("INTERNAL", 3)
        wait_state(self.detector, ON)
        last = self.last()
        assert (last["file"], last["complete"]) == (str(file), True), last

    def last(self) -> dict[str, object]:
        return dict(json.loads(self.detector.LastSeries))

    @property
    def state(self) -> object:
        """Of the box."""
        return self.box.box.settings.state
