"""Jungfrau over a fake of slsdet, of the detector, and of slsReceiver's stream."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from penstock.devices.jungfrau import Jungfrau
from penstock.streamer.checks import complete_properties
from penstock.streamer.own_stream.contract import StreamingDetector
from tests.contract.streaming_contract import StreamingContract
from tests.devices.sls_box import VENDOR, SlsBox, box


@pytest.fixture(autouse=True)
def _fake_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Child processes import the fake."""
    monkeypatch.setenv("PYTHONPATH", str(VENDOR))


class TestJungfrau(StreamingContract):
    """The contract of every detector that streams by itself."""

    detector = Jungfrau
    source = "sls"
    slow_setting = ("HighVoltage", 100)
    readout = 0.0
    frame_that_runs = 1.0
    rounded = (0.0100000123, 0.01)
    box: SlsBox

    @contextmanager
    def open(self) -> Iterator[Jungfrau]:
        with box() as self.box:
            first = self.build()
            first.connect()
            first.reset()  # the client's memory, as an earlier device has left it
            first.close()
            yield self.build()

    def build(self) -> Jungfrau:
        return Jungfrau(complete_properties(Jungfrau, self.box.properties))

    def set_by_somebody_else(self, unit: StreamingDetector, name: str, value: float) -> None:
        assert name == "HighVoltage"
        self.box.do("put", "highvoltage", value)

    def edge(self, unit: StreamingDetector, seconds: float) -> None:
        self.box.edge()

    def await_receiver(self, unit: StreamingDetector) -> None:
        self.box.subscribed()

    def arm_by_somebody_else(self, unit: StreamingDetector) -> None:
        self.box.start_by_somebody_else()

    def power(self, unit: StreamingDetector, on: bool) -> None:
        self.box.power(on)
