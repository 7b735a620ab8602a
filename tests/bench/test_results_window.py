"""Does the window of live results keep up: the bars, and a short real run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("silx.gui.plot", reason="the window needs the extra gui")

from penstock.bench.results_window import Result, Run, measure, text


def run(**changes: Any) -> Run:
    known = {"p99": 0.01, "worst": 0.1, "drawn": 9.0, "rates": (100.0, 99.5), "spent": (1.0, 1.1)}
    return Run(**{**known, "http": (0.01, 0.04), **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "reached"),
    [({}, True), ({"p99": 0.051}, False), ({"rates": (100.0, 98.0)}, False), ({"drawn": 4.9}, False)],
)
def test_the_median_of_each_figure_must_reach_its_bar(changes: dict[str, Any], reached: bool) -> None:
    assert Result(runs=[run(), run(**changes), run(**changes)]).reached is reached
    assert Result(runs=[run(), run(), run(**changes)]).reached


def test_what_was_found_is_said_with_its_bars() -> None:
    lines = text(Result(runs=[run(p99=0.06)])).splitlines()
    assert lines[0].endswith("NOT every bar reached")
    assert lines[1] == "  event loop late, 99 %      60.0 ms (60.0; at most 50)"
    assert lines[4] == "  frames done, of without    99.5 %  (99.5; at least 99)"


@pytest.mark.slow
def test_a_window_follows_a_pipeline_of_which_every_frame_is_done(qtbot: Any, tmp_path: Path) -> None:
    (only,) = measure(tmp_path, 1, 6.0, lambda what: None).runs
    assert only.drawn > 0 and 0 <= only.p99 <= only.worst
    assert min(*only.rates, *only.spent, *only.http) > 0
