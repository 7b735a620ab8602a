"""One conformance suite for every camera: a subclass supplies the unit, nothing else."""

from __future__ import annotations

import ast
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.devices.simulator import Simulator
from penstock.stins import blobs
from penstock.stins.messages import IndexSource
from penstock.streamer.camera import Camera, CameraError
from penstock.streamer.settings import STANDARD, TriggerMode
from tests.streamer.rig import FakeCamera, Rig

DEVICES = Path(__file__).resolve().parents[2] / "devices"


class CameraContract(ABC):
    """What the engine relies on."""

    exposure = 0.001

    @abstractmethod
    def open(self) -> Camera:
        """A unit, opened."""

    @pytest.fixture
    def camera(self) -> Iterator[Camera]:
        camera = self.open()
        yield camera
        camera.close()

    @pytest.fixture
    def rig(self) -> Iterator[Rig]:
        with Rig(self.open(), buffers=64 * 2**20) as rig:
            rig.connect()
            yield rig

    def test_names_of_properties_and_parameters_are_unique_and_not_standard(self, camera: Camera) -> None:
        names = [p.name.lower() for p in (*STANDARD, *camera.parameters)]
        assert len(set(names)) == len(names)
        names = [p.name.lower() for p in camera.properties]
        assert len(set(names)) == len(names)

    def test_every_default_is_one_that_could_be_set(self, camera: Camera) -> None:
        for parameter in (*camera.properties, *camera.parameters):
            assert not parameter.choices or parameter.default in parameter.choices, parameter.name
            if isinstance(parameter.default, float | int):
                low, high = parameter.limits.minimum, parameter.limits.maximum
                assert low is None or parameter.default >= low, parameter.name
                assert high is None or parameter.default <= high, parameter.name

    def test_every_parameter_is_documented_in_a_sentence(self, camera: Camera) -> None:
        for parameter in (*camera.properties, *camera.parameters):
            assert parameter.doc[-1] in ".…", parameter.name

    def test_limits_are_of_declared_parameters(self, camera: Camera) -> None:
        numbers = {p.name for p in (*STANDARD, *camera.parameters) if not isinstance(p.default, str)}
        assert set(camera.limits()) <= numbers
        assert "ExposureTime" in camera.limits()

    def test_it_says_how_it_knows_a_frames_trigger(self, camera: Camera) -> None:
        assert isinstance(camera.index_source, IndexSource)
        assert camera.trigger_modes
        assert set(camera.trigger_modes) <= set(TriggerMode)
        assert camera.readout_time() >= 0

    def test_what_can_only_be_read_can_be_read(self, camera: Camera) -> None:
        for parameter in camera.parameters:
            if not parameter.writable:
                assert type(camera.read(parameter.name)) is type(parameter.default)
        with pytest.raises(CameraError):
            Camera.read(camera, "Nonsense")

    def test_its_description_goes_into_json(self, camera: Camera) -> None:
        json.dumps(dict(camera.describe()))

    def test_an_internal_series_gives_every_frame_as_announced(self, rig: Rig) -> None:
        rig.arm(exposure_time=self.exposure, n_triggers=3)
        start, frames, end = rig.receive_series()
        assert [frame.image.frame for frame in frames] == [0, 1, 2]
        for frame in frames:
            blobs.check(frame)
            assert (frame.image.shape, frame.image.type) == (start.header.shape, start.header.type)
            assert sum(map(len, frame.blobs)) <= (start.header.frame_bytes or 0)
        assert (end.reason, end.sent, end.lost) == ("complete", 3, None)

    def test_series_after_series(self, rig: Rig) -> None:
        for frames in (1, 5, 2):
            rig.arm(exposure_time=self.exposure, n_triggers=frames)
            assert len(rig.receive_series()[1]) == frames
            rig.until_state("idle")

    def test_a_software_trigger_starts_each_burst(self, rig: Rig) -> None:
        rig.arm(trigger_mode=TriggerMode.SOFTWARE, exposure_time=self.exposure, n_triggers=3)
        for taken in range(3):
            assert rig.until(lambda status: status.ready_for_trigger).acquired == taken
            rig.engine.trigger()
        assert [frame.image.trigger for frame in rig.receive_series()[1]] == [0, 1, 2]

    @pytest.mark.parametrize("how", ["stop", "abort"])
    def test_it_ends_at_once_while_it_waits_for_triggers(self, rig: Rig, how: str) -> None:
        modes = [mode for mode in rig.camera.trigger_modes if mode is not TriggerMode.INTERNAL]
        for mode in modes:
            if isinstance(rig.camera, FakeCamera) and mode is not TriggerMode.SOFTWARE:
                continue  # it has no trigger input
            rig.arm(trigger_mode=mode, exposure_time=self.exposure, n_triggers=3)
            getattr(rig.engine, how)()
            assert rig.until_state("idle").acquired == 0
            assert rig.receive_series()[2].reason == how

    def test_it_keeps_its_frames_apart(self, rig: Rig) -> None:
        """A buffer that is filled later does not change a frame that was given earlier."""
        rig.arm(exposure_time=self.exposure, n_triggers=4)
        frames = rig.receive_series()[1]
        pixels = [np.frombuffer(b"".join(frame.blobs), frame.image.type) for frame in frames]
        assert all(not np.array_equal(pixels[0], other) for other in pixels[1:])


class TestFakeCamera(CameraContract):
    exposure = 0.0

    def open(self) -> Camera:
        return FakeCamera({})


class TestSimulator(CameraContract):
    def open(self) -> Camera:
        return Simulator({"SensorWidth": 64, "SensorHeight": 32})


class TestSimulatorOfSeveralModules(CameraContract):
    def open(self) -> Camera:
        return Simulator({"SensorWidth": 64, "SensorHeight": 32, "Modules": 3, "PixelType": "uint8"})


def _camera_files() -> list[Any]:
    return [pytest.param(path, id=path.stem) for path in sorted(DEVICES.glob("[a-z]*.py"))]


@pytest.mark.parametrize("path", _camera_files())
def test_a_camera_file_knows_neither_tango_nor_zeromq(path: Path) -> None:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").partition(".")[0])
    assert not names & {"tango", "zmq", "threading"}
