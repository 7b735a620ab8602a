"""What regions of interest cost: the figures, and one short measurement with a real receiver."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.bench import rois
from penstock.bench.rois import CASES, REGIONS, Result


def test_what_regions_add_is_the_median_of_neighbours() -> None:
    found = Result(case=CASES[0])
    found.process[0] += [100.0, 900.0, 110.0]
    found.process[4] += [150.0, 950.0, 900.0]
    assert found.added(4) == 50.0
    assert found.case.argv[found.case.argv.index("--compression") + 1] == "none"


@pytest.mark.slow
def test_a_receiver_is_measured_with_each_number_of_regions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rois, "FRAMES", 60)
    monkeypatch.setattr(rois, "MEASURED", 40)
    (found,) = rois.measure(tmp_path, 1, lambda text: None, CASES[1:])
    for number in REGIONS:
        (thread,), (process,) = found.thread[number], found.process[number]
        assert 0 < thread < process
