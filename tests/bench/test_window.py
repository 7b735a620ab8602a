"""Do the live windows keep up: the measure of a loop that stalls, and short real runs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("silx.gui.plot", reason="the window needs the extra gui")

from penstock_bench import window
from penstock_bench.results import Frames
from penstock_bench.runner import Bench
from penstock_bench.window import PERIOD, Delays


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
    bench = Bench(folder=tmp_path, options={"seconds": 4.0, "pause": 1.5})
    turns = window.frames(bench, Frames(name="", shape=(200, 200), count=1, rate=10.0))
    assert not bench.failed, bench.notes
    (turn,) = turns["window"]
    assert turn["drawn/s"] > 0 and turn["thread busy, %"] > 0
    assert 0 <= turn["late, 99 %, ms"] <= turn["late, worst, ms"]


@pytest.mark.slow
def test_a_file_is_written_by_a_receiver_and_opened(qtbot: Any, tmp_path: Path) -> None:
    turns = window.file(Bench(folder=tmp_path), Frames(name="", shape=(64, 64), count=2000))
    assert list(turns) == ["in the window", "by the command"]
    assert all(turn["opened in, s"] > 0 for (turn,) in turns.values())


@pytest.mark.slow
def test_a_window_follows_a_pipeline_of_which_every_frame_is_done(qtbot: Any, tmp_path: Path) -> None:
    bench = Bench(folder=tmp_path, options={"seconds": 6.0})
    turns = window.results(bench, Frames(name="", shape=(64, 64), count=1, rate=100.0))
    assert not bench.failed, bench.notes
    assert all(turn["frames done/s"] > 0 and turn["workers, µs"] > 0 for (turn,) in turns.values())
    assert turns["with the window"][0]["drawn/s"] > 0
