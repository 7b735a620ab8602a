"""What of a pause is the machine's is not counted as the distributor's."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.processing.models import Status
from tests.processing.distributor.pauses import Pauses


@pytest.mark.parametrize(("waited", "own"), [((0, 0), 2.0), ((0.5, 0), 1.5), ((0.5, 1), 0.5), ((2, 3), 0.0)])
def test_the_time_for_which_threads_waited_for_a_processor_is_taken_off_a_pause(
    tmp_path: Path, waited: tuple[float, float], own: float
) -> None:
    files = [tmp_path / f"7/task/{thread}/schedstat" for thread in (7, 8)]
    for file in files:
        file.parent.mkdir(parents=True)
        file.write_text("1 3000000000 1\n")  # before the pause
    pauses = Pauses(tmp_path)
    pauses.look(_status(0.0), 7)
    for file, seconds in zip(files, waited, strict=True):
        file.write_text(f"1 {3000000000 + seconds * 1e9:.0f} 1\n")
    pauses.look(_status(2.0), 7)
    assert pauses.own == pytest.approx(own)


def test_where_the_kernel_does_not_tell_nothing_is_taken_off(tmp_path: Path) -> None:
    pauses = Pauses(tmp_path)
    pauses.look(_status(0.0), 7)
    pauses.look(_status(0.25), 7)
    assert pauses.own == 0.25


def _status(longest_pause: float) -> Status:
    return Status(state="running", longest_pause=longest_pause)
