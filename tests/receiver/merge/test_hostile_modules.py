"""Modules whose streams make an image that is too large, against a running receiver."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest

from tests import hostile
from tests.receiver.processes import DEADLINE, ReceiverProcess
from tests.streams import Streamer, pixels

MEMORY_MB = 1000
LEAST_MEMORY = 400_000_000
"""Bytes that no refused image may cost, nearly all of them Python and its libraries."""


class Detector:
    """Two modules, one above the other, and a receiver that assembles them."""

    def __init__(self, folder: Path) -> None:
        self.streamers = [Streamer() for _ in range(2)]
        source = {"endpoints": [streamer.endpoint for streamer in self.streamers], "join": "modules"}
        self.receiver = ReceiverProcess(
            folder, self.streamers[0].endpoint, source, memory_mb=MEMORY_MB, transforms=[{"type": "assemble"}]
        )
        self.receiver.connected()

    def series(self, name: Path, metadata: dict[str, object], **keys: object) -> str:
        """Both send a whole series of two frames; its id."""
        for number, streamer in enumerate(self.streamers):
            place = {"x": 0, "y": number * 10, **metadata}
            streamer.start(str(name), place, series=name.stem, frames=2, **keys)
        for frame in range(2):
            for number, streamer in enumerate(self.streamers):
                streamer.frame(frame, pixels(2 * frame + number))
        for streamer in self.streamers:
            streamer.end(reason="complete", triggered=2, sent=2)
        return name.stem

    def peak_bytes(self) -> int:
        """Most memory that the data process has taken."""
        lines = Path(f"/proc/{self.receiver.data_process()}/status").read_text().splitlines()
        (peak,) = (line.split()[1] for line in lines if line.startswith("VmHWM"))
        return int(peak) * 1024

    def close(self) -> None:
        """End everything."""
        self.receiver.close()
        for streamer in self.streamers:
            streamer.close()


@pytest.fixture
def detector(tmp_path: Path) -> Iterator[Detector]:
    made = Detector(tmp_path)
    yield made
    alive = made.receiver.alive()
    made.close()
    assert alive, "the process has lived through it"


@pytest.mark.slow
@pytest.mark.parametrize(
    "bad",
    [
        hostile.LAYOUTS[0],
        *(layout for layout in hostile.LAYOUTS[1:]),
    ],
    ids=lambda item: item.name,
)
def test_an_image_beyond_the_memory_is_refused_and_the_next_series_is_taken(
    bad: hostile.BadLayout, detector: Detector
) -> None:
    receiver = detector.receiver
    bad_name, good_name = receiver.root / "bad.h5", receiver.root / "good.h5"
    series = detector.series(bad_name, bad.metadata, **bad.keys)
    due, slowest = time.monotonic() + DEADLINE, 0.0
    while True:
        asked = time.monotonic()
        status = receiver.client.status()
        slowest = max(slowest, time.monotonic() - asked)
        if status.drained or (status.series is not None and not status.series.active):
            break
        assert asked < due, status
    assert slowest < 2.0, "HTTP answers meanwhile"
    assert status.state == "idle"
    assert "its memory_mb allows 1,000" in status.last_error
    if bad.begins:
        assert status.series is not None and status.series.id == series
        assert (status.errors["over_memory"], status.counts.corrupt) == (2, 2)
    else:
        assert status.errors["over_memory"] == 1
        assert "bad.h5: frames of " in status.last_error
        assert not bad_name.exists()
    assert detector.peak_bytes() < LEAST_MEMORY

    ended = receiver.ended(detector.series(good_name, {}))
    assert ended.series is not None and ended.series.complete, ended
    with h5py.File(good_name) as file:
        np.testing.assert_array_equal(file["entry/data/data"][1, :4], pixels(2))
