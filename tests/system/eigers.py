"""A device of class Eiger on a control unit of any kind, with its receiver."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.system.beamline import Beamline


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
