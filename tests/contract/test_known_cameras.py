"""The suite over the stand-in of the engine's tests, in its variants, and over the simulator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from typing import ClassVar

import msgspec

from penstock.devices.simulator import Simulator
from penstock.stins.messages import IndexSource
from penstock.streamer.camera.contract import Camera
from penstock.streamer.camera.settings import Settings, Value
from penstock.streamer.simulated.triggers import TriggerSource
from tests.contract.camera_hooks import LONG
from tests.contract.test_camera_contract import CameraContract
from tests.streamer.rig import FakeCamera, Rig, done


class TestFakeCamera(CameraContract):
    camera = FakeCamera
    sdk = None
    exposure = 0.0
    shape = (3, 4)

    def edge(self, rig: Rig, seconds: float) -> None:
        rig.camera.edge()

    def lose(self, rig: Rig, index: int) -> None:
        rig.camera.lost = {index}

    def fail(self, rig: Rig) -> None:
        rig.camera.fail()


class RoundingCamera(FakeCamera):
    """It counts exposures in steps of 0.01 s."""

    def as_prepared(self, settings: Settings) -> Settings:
        steps = max(1, int(settings.exposure_time / 0.01 + 1e-9))
        return msgspec.structs.replace(settings, exposure_time=steps * 0.01)


class TestCameraThatRounds(TestFakeCamera):
    camera = RoundingCamera
    rounded = (0.025, 0.02)


class TestCameraThatDoesNotSeeExposures(TestFakeCamera):
    sees_exposures = False

    def open(self) -> Camera:
        camera = FakeCamera({})
        camera.sees_exposures = False
        return camera


class TestCameraWithoutCounterOrExposureSignal(TestFakeCamera):
    sees_exposures = False

    def open(self) -> Camera:
        camera = FakeCamera({})
        camera.sees_exposures = False
        camera.index_source = IndexSource.ARRIVAL
        return camera


class TestSimulator(CameraContract):
    camera = Simulator
    sdk = None
    properties: ClassVar[Mapping[str, Value]] = {"SensorWidth": 64, "SensorHeight": 32}
    shape = (32, 64)
    edges: ClassVar[Counter[str]] = Counter()
    """Sent in each series."""

    def edge(self, rig: Rig, seconds: float) -> None:
        series = rig.engine.status().series
        host, _, port = str(rig.camera.read("TriggerAddress")).rpartition(":")
        with closing(TriggerSource((host, int(port)))) as source:
            source.miss(self.edges[series])
            source.pulse(seconds, moment=2 * LONG * self.edges[series])
        self.edges[series] += 1

    def lose(self, rig: Rig, index: int) -> None:
        done(rig.engine.set({"Faults": f"drop={index}"}))

    def region(self, rows: int, cols: int) -> Mapping[str, Value]:
        return {"AOIWidth": cols, "AOIHeight": rows}


class TestSimulatorOfSeveralModules(TestSimulator):
    properties: ClassVar[Mapping[str, Value]] = {
        "SensorWidth": 64, "SensorHeight": 32, "Modules": 3, "PixelType": "uint8",
    }  # fmt: skip
    shape = (3, 32, 64)
