"""What a frame costs the loop: the bars, the clock, and a tiny comparison with real processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.bench.loop import Found, Load, Taker, measure, name
from penstock.bench.loop_report import row
from penstock.bench.unwritten import Clock

LIVE, ONE, FOUR = Taker(0, 1), Taker(4, 1), Taker(4, 4)


def found(load: Load, **flush_us: float) -> Found:
    """Of three rounds; live with four sockets costs twice as much as with one."""
    loop_us = {
        LIVE: [100.0, 200.0, 300.0], Taker(0, 4): [200.0, 400.0, 600.0],
        ONE: [114.0, 232.0, 345.0], FOUR: [228.0, 464.0, 690.0],
    }  # fmt: skip
    return Found(load=load, loop_us=loop_us, flush_us={each: [0.0, 50_000.0, 150_000.0] for each in loop_us})


@pytest.mark.parametrize(
    ("load", "one", "four"),
    [
        (Load(2_000_000, 1, 1.15), True, True),
        (Load(2_000_000, 1, 1.14), False, False),
        (Load(200_000, 1, 1.4, beside_one=True), True, False),
        (Load(200_000, 1, 2.3, beside_one=True), True, True),
        (Load(20_000_000, 1), True, True),
    ],
)
def test_the_bars_are_beside_as_many_sockets_or_beside_one(load: Load, one: bool, four: bool) -> None:
    case = found(load)
    assert (case.reached(ONE), case.reached(FOUR), case.reached(LIVE)) == (one, four, True)
    assert case.ratio(ONE, 1) == case.ratio(FOUR, 4) == pytest.approx(1.15)
    assert case.ratio(FOUR, 1) == pytest.approx(2.3)
    assert row(case, FOUR)["reached"] is four


def test_the_ceiling_is_the_time_per_frame_without_that_of_the_flushes() -> None:
    # 232 µs per frame of 2 MB are 8.62 GB/s; a flush per second of 100 ms leaves nine tenths.
    assert found(Load(2_000_000, 1)).ceiling(ONE) == pytest.approx(7.76, abs=0.005)
    assert (name(FOUR), name(LIVE)) == ("4 files, 4 sockets", "live, 1 socket")


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
    takers = (Taker(0, 2), Taker(2, 2))
    (case,) = measure(tmp_path, 1, lambda text: None, (Load(200_000, 200, 1.4),), takers)
    assert [len(case.loop_us[taker]) for taker in takers] == [1, 1]
    assert all(us > 0 for taker in takers for us in case.loop_us[taker])
    assert not list(tmp_path.glob("*.h5")) and not list(tmp_path.glob("*.yaml"))
