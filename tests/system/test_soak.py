"""A file system slower than the source, for some seconds; `make soak` does it for ten minutes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.bench import soak

SECONDS = 6.0


@pytest.mark.slow
def test_memory_stays_under_the_budget_and_every_frame_is_stored_on_a_slow_file_system(
    tmp_path: Path,
) -> None:
    told: list[str] = []
    try:
        report = soak.soak(tmp_path, SECONDS, told.append)
    except soak.SoakError as error:
        if "cannot be made slow" in str(error):
            pytest.skip(str(error))
        raise
    assert report.frames >= soak.CALIBRATION
    assert report.seconds >= SECONDS
    assert len(report.data.samples) > SECONDS / soak.SAMPLE_SECONDS / 4
    # The consumer alone holds 50 MB: without that the budget would be met by doing nothing.
    assert 50e6 < report.data.most < report.budget
    assert told


@pytest.mark.parametrize(
    ("most", "growth", "rate", "word"),
    [(301, 1.0, 500.0, "budget"), (200, 1.2, 500.0, "grew"), (200, 1.0, 3900.0, "not slower")],
)
def test_what_is_not_as_it_must_be_is_said(most: int, growth: float, rate: float, word: str) -> None:
    memory = soak.Memory([(0.0, int(most / growth)), (1.0, int(most / growth)), (600.0, most)])
    report = soak.Report(
        seconds=600, series=10, frames=1000, rate=rate, consumer_lost=0, budget=300, data=memory, http=memory
    )
    (failure,) = report.failures
    assert word in failure


def test_a_file_system_that_cannot_be_made_slow_is_a_sentence() -> None:
    shm = Path("/dev/shm")
    if not os.path.ismount(shm):
        pytest.skip("no RAM disk here")
    with pytest.raises(soak.SoakError, match="give --dir on ext4"):
        soak.soak(shm, 1.0, print)
