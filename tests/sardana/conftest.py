"""One laboratory with Sardana for the tests of a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.sardana.laboratory.laboratory import Laboratory, Unit

# Seconds, set before Tango is used for the first time: a device in a forked process (DeviceTestContext) takes
# as long to end, five by default.
os.environ.setdefault("ORBscanGranularity", "1")


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    """A small simulated detector, motors, a timer, Sardana."""
    folder: Path = tmp_path_factory.mktemp("laboratory")
    unit = Unit("sim", {"SensorWidth": 64, "SensorHeight": 32})
    with Laboratory(folder, [unit]) as laboratory:
        yield laboratory


@pytest.fixture(autouse=True)
def _tidy(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that fails is the only one that does."""
    yield
    if "laboratory" in request.fixturenames:
        request.getfixturevalue("laboratory").tidy()
