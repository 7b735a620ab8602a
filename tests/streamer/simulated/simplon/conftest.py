"""A simulated control unit and its client, with either stream."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.streamer.simulated.simplon.control_unit import ControlUnit
from tests.streamer.simulated.simplon.client import SENSOR, Client


@pytest.fixture(params=["legacy", "cbor"])
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    with ControlUnit(stream=request.param, sensor=SENSOR) as box:
        client = Client(box)
        client.put("count_time", 0.001)
        client.put("frame_time", 0.002)
        yield client
        client.close()
