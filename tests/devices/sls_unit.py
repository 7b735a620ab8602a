"""A connected Jungfrau over the fake of slsdet, of the detector, and of slsReceiver."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from penstock.devices.jungfrau import Jungfrau
from penstock.stins.user_part import UserPart
from penstock.streamer.camera.checks import complete_properties
from penstock.streamer.camera.own_stream import BoxState
from tests.devices.sls_box import SlsBox, box
from tests.streamer.rig import settings

OURS = UserPart(arm="0123456789abcdef", filename="/data/visitors/scan.h5")


@contextmanager
def connected() -> Iterator[tuple[Jungfrau, SlsBox]]:
    """Initialised, with its box; PYTHONPATH has to have the fake."""
    with box() as running:
        running.initialise()
        unit = Jungfrau(complete_properties(Jungfrau, running.properties))
        unit.connect()
        yield unit, running
        unit.close()


def prepared(unit: Jungfrau, **changes: Any) -> None:
    camera = dict(unit.values())
    unit.prepare(settings(**{"exposure_time": 0.001, "n_triggers": 2, "camera": camera} | changes))


def until_idle(unit: Jungfrau) -> None:
    end = time.monotonic() + 10.0
    while unit.progress().state is not BoxState.IDLE:
        assert time.monotonic() < end
        time.sleep(0.005)
