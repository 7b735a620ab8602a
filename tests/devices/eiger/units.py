"""An Eiger over the stand-in of its control unit."""

from __future__ import annotations

from typing import Any

from penstock.devices.eiger import Eiger
from penstock.stins.user_part import UserPart
from penstock.streamer.camera.checks import complete_properties
from penstock.streamer.camera.settings import Settings
from tests.devices._dectris.desk import Desk
from tests.streamer import rig

DETECTOR = "detector/config"
USER = UserPart(arm="0123456789abcdef", filename="/data/x.h5", frames=3)


def unit(desk: Desk, stream: str) -> Eiger:
    given = {"Host": "127.0.0.1", "Port": desk.server_port, "Stream": stream}
    return Eiger(complete_properties(Eiger, given))


def series(eiger: Eiger, **changes: Any) -> Settings:
    camera = dict(eiger.values()) | changes.pop("camera", {})
    return rig.settings(camera=camera, exposure_time=0.5, **changes)
