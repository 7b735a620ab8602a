"""Recordings of a real EIGER 1M, each streamed once into a file."""

from __future__ import annotations

import pytest

from tests.data import EIGER_V1, EIGER_V2, recording
from tests.recordings.programs import replay
from tests.recordings.series import Series


@pytest.fixture(
    scope="session", params=[(EIGER_V1, "dectris-v1"), (EIGER_V2, "dectris-v2")], ids=["v1", "v2"]
)
def series(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Series:
    """Each recording in a file named by --filename."""
    name, kind = request.param
    capture = recording(name)
    file = tmp_path_factory.mktemp("replay") / "data" / "proposal" / "eiger.h5"
    replayed = replay(capture, file.parent.parent, "--filename", str(file))
    return Series(capture, kind, replayed, file)
