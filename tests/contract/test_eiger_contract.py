"""Eiger over a simulated control unit: both streams, both versions of SIMPLON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import ClassVar

import pytest

from penstock.devices.eiger import Eiger
from penstock.streamer.camera.checks import complete_properties
from penstock.streamer.camera.own_stream import StreamingDetector
from penstock.streamer.simulated.simplon.control_unit import ControlUnit
from penstock.streamer.simulated.triggers import TriggerSource
from tests.contract.streaming_contract import StreamingContract

SENSOR = (16, 24)


class EigerContract(StreamingContract):
    """A subclass names version and stream."""

    detector = Eiger
    exposure = 0.02
    slow_setting = ("Energy", 10000.0)
    readout = 1e-7
    api: ClassVar[str]
    stream: ClassVar[str]
    _box: ControlUnit
    _given: Mapping[str, object]
    _edges = 0

    @contextmanager
    def open(self) -> Iterator[Eiger]:
        stream = {"v1": "legacy", "v2": "cbor"}[self.stream]
        with ControlUnit(self.api, stream, SENSOR) as box:
            box.box.command("initialize")
            self._box = box
            port = int(box.stream_endpoint.rpartition(":")[2])
            self._given = {
                "Host": "127.0.0.1", "Port": box.http_port, "Stream": self.stream, "StreamPort": port,
            }  # fmt: skip
            yield self.build()

    def build(self) -> Eiger:
        return Eiger(complete_properties(Eiger, self._given))

    def set_by_somebody_else(self, unit: StreamingDetector, name: str, value: float) -> None:
        assert name == "Energy"
        self._box.box.settings.put("detector", "photon_energy", value)

    def edge(self, unit: StreamingDetector, seconds: float) -> None:
        host, _, port = self._box.trigger_address.rpartition(":")
        source = TriggerSource((host, int(port)))
        type(self)._edges += 1
        source.pulse(seconds, moment=float(self._edges))  # by the clock of whoever triggers, far apart
        source.close()

    def await_receiver(self, unit: StreamingDetector) -> None:
        assert self._box.wait_receivers(1, 10.0)

    def arm_by_somebody_else(self, unit: StreamingDetector) -> None:
        self._box.arm_by_somebody_else()

    def leave_settings(self, unit: StreamingDetector) -> None:
        left = {"trigger_mode": "exts", "count_time": 0.5, "frame_time": 0.6, "nimages": 7, "ntrigger": 2}
        for name, value in left.items():
            self._box.box.settings.put("detector", name, value)

    def power(self, unit: StreamingDetector, on: bool) -> None:
        self._box.power(on)


class TestEiger2WithStreamV1(EigerContract):
    """SIMPLON 1.8.0, the older stream."""

    api, stream, source = "1.8.0", "v1", "dectris-v1"


@pytest.mark.slow
class TestEiger2WithStreamV2(EigerContract):
    """SIMPLON 1.8.0, the newer stream."""

    api, stream, source = "1.8.0", "v2", "dectris-v2"


@pytest.mark.slow
class TestEiger(EigerContract):
    """SIMPLON 1.6.0."""

    api, stream, source = "1.6.0", "v1", "dectris-v1"
