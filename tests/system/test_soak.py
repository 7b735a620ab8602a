"""A file system slower than the source, for some seconds; `make bench ARGS=soak` does it for ten minutes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock_bench import soak, soak_panel
from penstock_bench.runner import Bench, NotMeasured

SECONDS = 6.0


@pytest.mark.slow
def test_memory_stays_under_the_budget_and_every_frame_is_stored_on_a_slow_file_system(
    tmp_path: Path,
) -> None:
    told: list[str] = []
    try:
        turn = soak.soak(tmp_path, SECONDS, told.append)
    except NotMeasured as error:
        pytest.skip(str(error))
    assert turn["frames"] >= soak.FRAMES.count and told
    # The consumer alone holds 50 MB: without that the budget would be met by doing nothing.
    assert turn["memory, MB"] > 50 and turn["of its budget, %"] < 100


def test_growth_is_the_most_of_the_second_half_once_queues_are_full() -> None:
    data = [(0.0, 100), (1.0, 200), (599.0, 220), (600.0, 210)]
    turn = soak.figures(600.0, data, 300)
    assert turn["second half, % of the first"] == pytest.approx(110)
    assert turn["of its budget, %"] == pytest.approx(100 * 220 / 300)
    assert "second half, % of the first" not in soak.figures(60.0, data, 300)


def test_the_growth_of_a_panel_is_that_between_both_ends_once_caches_are_filled() -> None:
    caches = [10_000_000 * number for number in range(20)]
    assert soak_panel.growth([*caches, *(10**9 + 1000 * number for number in range(180))]) == pytest.approx(
        1000, rel=0.1
    )


def test_a_file_system_that_cannot_be_made_slow_is_a_sentence() -> None:
    shm = Path("/dev/shm")
    if not os.path.ismount(shm):
        pytest.skip("no RAM disk here")
    with pytest.raises(NotMeasured, match="is on a RAM disk; give a folder on a disk with --disk"):
        soak.receiver(Bench(folder=shm, disk=shm, options={"seconds": 1.0}), "")
    with pytest.raises(NotMeasured, match="has no attribute S; give --disk on ext4"):
        soak.make_slow(shm)
