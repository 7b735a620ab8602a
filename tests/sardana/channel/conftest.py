"""The 2D channel with a detector that the test moves by hand."""

from __future__ import annotations

import pytest

from penstock.sardana.channel.channel import Channel
from tests.sardana.stand_in_detector import Clock, StandIn


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def detector(clock: Clock) -> StandIn:
    return StandIn(clock)


@pytest.fixture
def channel(clock: Clock, detector: StandIn) -> Channel:
    return Channel(detector, lambda: "sim", clock=clock, pause=clock.pause)
