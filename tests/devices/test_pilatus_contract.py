"""Pilatus over a simulated camserver and a real light streamer."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import prod
from pathlib import Path

import pytest

from penstock.codecs import cbf
from penstock.devices._camserver import readings
from penstock.devices._camserver.light import BUSY
from penstock.devices.pilatus import Pilatus
from penstock.stins.messages import Frame
from penstock.streamer.camera.checks import complete_properties
from penstock.streamer.camera.own_stream import StreamingDetector
from penstock.streamer.simulated.camserver.server import SimulatedCamserver
from penstock.streamer.simulated.patterns import frame_number
from penstock.streamer.simulated.triggers import TriggerSource
from tests.contract.streaming_contract import StreamingContract
from tests.streamer.simulated.camserver.light_process import LightReady, start_light

SENSOR = (16, 24)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Folder of the images."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def light(folder: Path) -> Iterator[LightReady]:
    """A light streamer that stays for all tests."""
    with start_light(folder) as child:
        yield child.answer


class TestPilatus(StreamingContract):
    """One control unit."""

    detector = Pilatus
    source = "stins"
    exposure = 0.02
    slow_setting = ("Energy", 10000.0)
    readout = 0.95e-3
    frame_that_runs = 1.0
    rounded = (0.01000004, 0.01)
    others_are_streamed = False
    _light: LightReady
    _folder: Path
    _camserver: SimulatedCamserver
    _given: Mapping[str, object]
    _edges = 0

    @pytest.fixture(autouse=True)
    def _prepared(self, light: LightReady, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Camserver is asked often, so that nobody waits."""
        self._light, self._folder = light, folder
        monkeypatch.setattr(readings, "STATE_EVERY", 0.1)

    @contextmanager
    def open(self) -> Iterator[Pilatus]:
        light = self._light
        light.reset()
        light.until(lambda status: status.peers == 0 and status.state not in BUSY)
        with SimulatedCamserver(self._folder, sensor=SENSOR) as camserver:
            self._camserver = camserver
            self._given = {
                "Host": "127.0.0.1", "Port": camserver.port, "LightStreamer": light.address,
                "StreamPort": light.stream_port,
            }  # fmt: skip
            yield self.build()

    def build(self) -> Pilatus:
        return Pilatus(complete_properties(Pilatus, self._given))

    def set_by_somebody_else(self, unit: StreamingDetector, name: str, value: float) -> None:
        assert name == "Energy"
        self._camserver.type_at_window(f"SetEnergy {value:.0f}")

    def edge(self, unit: StreamingDetector, seconds: float) -> None:
        host, _, port = self._camserver.trigger_address.rpartition(":")
        source = TriggerSource((host, int(port)))
        type(self)._edges += 1
        source.pulse(seconds, moment=float(self._edges))  # by the clock of whoever triggers, far apart
        source.close()

    def await_receiver(self, unit: StreamingDetector) -> None:
        self._light.until(lambda status: status.peers == 1)

    def check_blobs(self, frame: Frame) -> None:
        (blob,) = frame.blobs
        pixels = cbf.decode(blob, prod(frame.image.shape)).reshape(frame.image.shape)
        assert frame_number(pixels) == frame.image.frame

    def arm_by_somebody_else(self, unit: StreamingDetector) -> None:
        for line in ("NImages 1", "ExpTime 3600", "Exposure theirs.cbf"):
            self._camserver.type_at_window(line)

    def leave_settings(self, unit: StreamingDetector) -> None:
        for line in ("NImages 7", "ExpTime 0.5", "ExpPeriod 0.6", "NExpFrame 3", "Delay 0.1"):
            self._camserver.type_at_window(line)

    def power(self, unit: StreamingDetector, on: bool) -> None:
        self._camserver.power(on)
