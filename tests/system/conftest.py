"""A beamline and one simulated detector, shared by the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.system.beamline import Beamline, Station


@pytest.fixture(scope="module")
def beamline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Beamline]:
    """The database."""
    with Beamline(tmp_path_factory.mktemp("beamline")) as line:
        yield line


@pytest.fixture(scope="module")
def shared_station(beamline: Beamline, request: pytest.FixtureRequest) -> Station:
    """The detector; a module's RECEIVER_CONFIG changes its receiver's configuration."""
    return Station(beamline, **getattr(request.module, "RECEIVER_CONFIG", {}))


@pytest.fixture
def station(shared_station: Station) -> Station:
    """The detector, idle and with default settings."""
    shared_station.calm()
    return shared_station
