"""What EPICS costs: each part with small frames."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from penstock_bench.epics import bridge, camera
from penstock_bench.results import Frames, Turns
from penstock_bench.runner import Bench

CASE = Frames(name="64²", shape=(64, 64), count=40, rate=100.0, dtype="uint8", pattern="opaque")


@pytest.mark.slow
@pytest.mark.parametrize("measure", [camera, bridge])
def test_camera_and_bridge_are_measured_beside_their_bare_parts(
    measure: Callable[[Bench, Frames], Turns], tmp_path: Path
) -> None:
    said: list[str] = []
    bench = Bench(folder=tmp_path, say=said.append)
    turns = measure(bench, CASE)
    assert not bench.failed, bench.notes
    assert list(turns) == ["penstock", "bare parts"]
    assert all(turn["process, µs"] > 0 for (turn,) in turns.values())
    assert said == [f"{name}, round {number} of 1" for number in (0, 1) for name in turns]
