"""One laboratory with Sardana for the tests of a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.sardana.laboratory.laboratory import Laboratory, Unit


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    """A small simulated detector, motors, a timer, Sardana."""
    folder: Path = tmp_path_factory.mktemp("laboratory")
    unit = Unit("sim", {"SensorWidth": 64, "SensorHeight": 32})
    with Laboratory(folder, [unit]) as laboratory:
        yield laboratory
