"""What a consumer costs: the figures, and one short measurement with real receivers and consumers."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.bench import consumers
from penstock.bench.consumers import CASES, KINDS, Case, Result


def test_the_ratio_is_the_median_of_neighbours() -> None:
    found = Result(case=CASES[0])
    found.process["none"] += [10.0, 90.0, 10.0]
    found.process["by reference"] += [15.0, 99.0, 99.0]
    assert found.ratio("by reference") == 1.5


@pytest.mark.slow
def test_receivers_are_measured_with_each_kind_of_consumer(tmp_path: Path) -> None:
    case = Case(name="20 kB", shape=(100, 100), frames=3000)
    (found,) = consumers.measure(tmp_path, 1, lambda text: None, (case,))
    for kind in KINDS:
        (thread,), (process,) = found.thread[kind], found.process[kind]
        assert 0 < thread < process
    assert found.dropped["none"] == 0
