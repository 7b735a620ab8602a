"""The suite over the stand-in, which shows how little a subclass needs to say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from penstock.streamer.camera.own_stream import StreamingDetector
from penstock.streamer.simulated.triggers import TriggerSource
from tests.contract.streaming_contract import StreamingContract
from tests.streamer.own_stream.box import Box


class TestBox(StreamingContract):
    """The stand-in."""

    detector = Box
    source = "stins"
    exposure = 0.002
    slow_setting = ("Energy", 10000.0)
    readout = 1e-4

    @contextmanager
    def open(self) -> Iterator[Box]:
        yield Box({})

    def build(self) -> Box:
        return Box({})

    def set_by_somebody_else(self, unit: StreamingDetector, name: str, value: float) -> None:
        assert isinstance(unit, Box)
        unit.box.values[name] = value

    def edge(self, unit: StreamingDetector, seconds: float) -> None:
        host, _, port = str(unit.read("TriggerAddress")).rpartition(":")
        source = TriggerSource((host, int(port)))
        source.pulse(seconds)
        source.close()

    def arm_by_somebody_else(self, unit: StreamingDetector) -> None:
        assert isinstance(unit, Box)
        unit.box.send_start()

    def power(self, unit: StreamingDetector, on: bool) -> None:
        assert isinstance(unit, Box)
        (unit.faults.discard if on else unit.faults.add)("lost")
