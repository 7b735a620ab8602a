"""A Pilatus over a simulated camserver and a real light streamer."""

from __future__ import annotations

from typing import Any

from penstock.devices.pilatus import Pilatus
from penstock.streamer.camera.checks import complete_properties
from penstock.streamer.camera.settings import Settings
from penstock.streamer.simulated.camserver.server import SimulatedCamserver
from tests.streamer import rig
from tests.streamer.simulated.camserver.light_process import LightReady

SENSOR = (16, 24)


def unit(simulated: SimulatedCamserver, light: LightReady, **properties: object) -> Pilatus:
    given = {
        "Host": "127.0.0.1", "Port": simulated.port, "LightStreamer": light.address,
        "StreamPort": light.stream_port, **properties,
    }  # fmt: skip
    return Pilatus(complete_properties(Pilatus, given))


def series(pilatus: Pilatus, **changes: Any) -> Settings:
    camera = dict(pilatus.values()) | changes.pop("camera", {})
    return rig.settings(**{"exposure_time": 0.5, **changes}, camera=camera)


def heard(simulated: SimulatedCamserver, word: str) -> list[str]:
    return [line for line in simulated.box.heard if line.startswith(word)]


def address_of(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host, int(port)
