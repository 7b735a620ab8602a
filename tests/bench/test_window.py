"""Does the live window keep up: the bars, the measure of a loop that stalls, and short real runs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("silx.gui.plot", reason="the window needs the extra gui")

from silx.gui import qt

from penstock.bench import opening
from penstock.bench.delays import PERIOD, Delays
from penstock.bench.opening import Opening
from penstock.bench.window import Case, Result, Run, measure

CASE = Case(name="small", side=200, least=4.0)


def run(**changes: float) -> Run:
    return Run(**{"drawn": 5.0, "p99": 0.02, "worst": 0.1, "busy": 0.3, **changes})


@pytest.mark.parametrize(
    ("changes", "reached"),
    [
        ({}, True),
        ({"drawn": 3.9}, False),
        ({"p99": 0.06}, False),
        ({"worst": 0.21}, False),
        ({"busy": 0.51}, False),
    ],
)
def test_the_median_of_each_figure_must_reach_its_bar(changes: dict[str, float], reached: bool) -> None:
    assert Result(case=CASE, runs=[run(), run(**changes), run(**changes)]).reached is reached
    assert Result(case=CASE, runs=[run(), run(), run(**changes)]).reached


def test_a_loop_that_stalls_is_late_by_as_long(qtbot: Any) -> None:
    delays = Delays()
    qtbot.wait(50)
    time.sleep(0.3)  # the stall
    qtbot.wait(50)
    late = delays.end()
    assert max(late) >= 0.3 - 2 * PERIOD
    assert sum(each >= 0.1 for each in late) >= 10, "each event that was due meanwhile was late"


@pytest.mark.slow
def test_a_window_is_measured_while_its_receiver_is_stopped_for_a_while(qtbot: Any, tmp_path: Path) -> None:
    found = measure(tmp_path, CASE, 1, 4.0, 1.5, lambda what: None)
    (only,) = found.runs
    assert only.drawn > 1
    assert 0 < only.busy < 1
    assert 0 <= only.p99 <= only.worst
    assert isinstance(qt.QApplication.instance(), qt.QApplication)


def test_a_file_must_open_within_a_second_in_the_median() -> None:
    assert Opening(frames=9, window=[0.2, 0.3, 1.4], command=[1.2, 1.6, 9.0]).reached
    slow = Opening(frames=9, window=[0.2, 1.1, 1.4], command=[0.5, 0.5, 0.5])
    assert not slow.reached
    assert opening.text(slow).splitlines() == [
        "A file of 9 frames: the bar is NOT reached",
        "  open in the window         1.10 s  (0.20, 1.10, 1.40; at most 1)",
        "  the whole command          0.50 s  (0.50, 0.50, 0.50; no bar: it loads Python's modules)",
    ]


@pytest.mark.slow
def test_a_file_is_written_by_a_receiver_and_opened(qtbot: Any, tmp_path: Path) -> None:
    found = opening.measure(tmp_path, 1, lambda what: None, frames=2000)
    assert len(found.window) == len(found.command) == 1
    assert min(*found.window, *found.command) > 0
    assert not list(tmp_path.glob("*.h5"))
