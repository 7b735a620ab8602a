"""A beamline and one simulated detector, shared by the tests of a module."""

from tests.system.conftest import beamline, shared_station, station

__all__ = ["beamline", "shared_station", "station"]
