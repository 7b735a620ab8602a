"""A simulated camserver, a real light streamer, and the device Pilatus between them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.devices._camserver import readings
from penstock.devices.pilatus import Pilatus
from penstock.streamer.simulated.camserver.server import SimulatedCamserver
from tests.devices.pilatus.units import SENSOR, unit
from tests.streamer.own_stream.rig import Rig
from tests.streamer.simulated.camserver.light_process import LightReady, start_light


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ram")


@pytest.fixture(scope="module")
def light(folder: Path) -> Iterator[LightReady]:
    """A light streamer that stays for all tests."""
    with start_light(folder) as child:
        yield child.answer


@pytest.fixture
def simulated(
    folder: Path, light: LightReady, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SimulatedCamserver]:
    """A camserver, which is asked often, so that nobody waits; the light streamer has no series."""
    monkeypatch.setattr(readings, "STATE_EVERY", 0.1)
    light.reset()
    light.until(lambda status: status.peers == 0 and status.state == "idle")
    with SimulatedCamserver(folder, sensor=SENSOR) as simulated:
        yield simulated


@pytest.fixture
def pilatus(simulated: SimulatedCamserver, light: LightReady) -> Iterator[Pilatus]:
    """Connected."""
    pilatus = unit(simulated, light)
    pilatus.connect()
    simulated.box.heard.clear()
    yield pilatus
    pilatus.close()


@pytest.fixture
def box(simulated: SimulatedCamserver, light: LightReady) -> Iterator[Rig]:
    """With its engine, and a receiver."""
    box = Rig(unit(simulated, light))
    light.until(lambda status: status.peers == 1)
    box.until_state("idle")
    yield box
    box.close()
