"""What a frame costs the loop: the clock, the ceiling, and a tiny comparison with real processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock_bench.cases import MB_2
from penstock_bench.loop import figures, loop, name
from penstock_bench.results import Frames
from penstock_bench.runner import Bench
from penstock_bench.unwritten import Clock, Series


def test_the_ceiling_is_the_time_per_frame_without_that_of_the_flushes() -> None:
    # 232 µs per frame of 2 MB are 8.62 GB/s; a flush per second of 100 ms leaves nine tenths.
    turn = figures(Series(frames=1000, frame_seconds=0.232, flushes=2, flush_seconds=0.2), MB_2)
    assert turn["at most, GB/s"] == pytest.approx(7.76, abs=0.005)
    assert (turn["loop, µs"], turn["flush, ms"]) == (pytest.approx(232), pytest.approx(100))
    assert (name(4, 4), name(0, 1)) == ("4 files, 4 sockets", "live, 1 socket")


def test_the_first_frames_and_the_flushes_are_not_counted() -> None:
    times = iter([10.0, 19.0])
    clock = Clock(lambda: next(times))
    clock.flushed(5.0)
    clock.frames(16, 1)
    clock.frames(16, 3)  # a run: with it, more than an eighth are there
    clock.frames(16, 4)
    clock.flushed(1.0)
    clock.frames(16, 8)
    series = clock.end()
    assert (series.frames, series.frame_seconds, series.flushes, series.flush_seconds) == (12, 8.0, 1, 1.0)


@pytest.mark.slow
def test_a_comparison_writes_no_pixels_and_counts_all_frames(tmp_path: Path) -> None:
    frames = Frames(name="200 kB", shape=(250, 400), count=200)
    turns = loop(Bench(folder=tmp_path, options={"sockets": 2}), frames)
    assert list(turns) == ["live, 1 socket", "live, 2 sockets", "2 files, 2 sockets", "4 files, 2 sockets"]
    assert all(turn["loop, µs"] > 0 for (turn,) in turns.values())
    assert not list(tmp_path.glob("*.h5")) and not list(tmp_path.glob("*.yaml"))
