"""A beamline and one simulated detector, shared by the tests of a module, the detector by most modules."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from tests.shared import Shared
from tests.system.beamline import Beamline, Station


@pytest.fixture(scope="module")
def beamline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Beamline]:
    """The database."""
    with Beamline(tmp_path_factory.mktemp("beamline")) as line:
        yield line


@contextlib.contextmanager
def _usual_station(factory: pytest.TempPathFactory) -> Iterator[Station]:
    """A detector on a beamline of its own."""
    with Beamline(factory.mktemp("beamline")) as line:
        yield Station(line)


USUAL = Shared(_usual_station)


@pytest.fixture(scope="module")
def shared_station(request: pytest.FixtureRequest) -> Station:
    """The detector: a module with RECEIVER_CONFIG has one of its own, on its beamline."""
    config = getattr(request.module, "RECEIVER_CONFIG", None)
    if config is None:
        return USUAL.get(request)
    return Station(request.getfixturevalue("beamline"), **config)


@pytest.fixture
def station(shared_station: Station) -> Station:
    """The detector, idle and with default settings."""
    shared_station.calm()
    return shared_station
