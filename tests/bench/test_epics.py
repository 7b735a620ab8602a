"""What EPICS costs: both parts with small frames, and what is said of a bar."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.bench.epics import BRIDGE, CAMERA, Result, measure
from penstock.bench.pipeline import Frames

CASE = Frames(name="64²", shape=(64, 64), count=40, rate=100.0, dtype="uint8")


@pytest.mark.slow
def test_camera_and_bridge_are_measured_beside_their_bare_parts(tmp_path: Path) -> None:
    said: list[str] = []
    found = list(measure(tmp_path, 1, said.append, [CASE]))
    assert [result.part for result in found] == [CAMERA, BRIDGE]
    for result in found:
        assert len(result.ours) == len(result.bare) == 1
        assert result.ours[0] > 0 and result.bare[0] > 0
    assert said == [f"{part}, 64², round {number} of 1" for part in (CAMERA, BRIDGE) for number in (0, 1)]


def test_the_median_of_the_rounds_is_compared_with_the_bar() -> None:
    result = Result(part=BRIDGE, case=CASE, ours=[30.0, 14.0, 10.0], bare=[10.0, 10.0, 10.0])
    assert result.ratio == pytest.approx(1.4) and result.reached
    assert not Result(part=BRIDGE, case=CASE, ours=[16.0], bare=[10.0]).reached
    assert Result(part=CAMERA, case=CASE, ours=[16.0], bare=[10.0]).reached
