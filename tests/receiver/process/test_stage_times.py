"""Durations of the stages: sampled frames count for those between them, and a slow one is never missed."""

from __future__ import annotations

import pytest

from penstock.receiver.process.stage_times import BOUNDS, SAMPLE_SECONDS, Histogram, StageTimes


class Clock:
    """Moved by the test."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Loop:
    """As the data process does it, with stages that take what the test says."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.times = StageTimes(self.clock, wall=lambda: 1000.0 + self.clock.now)
        self.frames = 0

    def burst(self, seconds: list[float]) -> None:
        """Frames that have arrived; each takes so long, half of it in the writer."""
        times, clock = self.times, self.clock
        before = clock.now
        times.begin(before, self.frames)
        for each in seconds:
            if timed := times.on:
                times.lap("receive")
            clock.now += each / 2
            if timed:
                times.lap("decode")
            clock.now += each / 2
            if timed:
                times.lap("write")
            self.frames += 1
            done = clock.now
            if done >= times.due:
                times.turn(before, done, self.frames)
            before = done

    def total(self, stage: str) -> int:
        """Frames that a stage was counted for."""
        return sum(self.times.stages[stage].counts)


def test_a_duration_is_in_the_bucket_whose_bound_it_does_not_exceed() -> None:
    histogram = Histogram()
    for seconds in (0.0, 1e-6, 1.1e-6, BOUNDS[-1], BOUNDS[-1] + 1):
        histogram.observe(seconds)
    assert [histogram.counts[place] for place in (0, 1, len(BOUNDS) - 1, len(BOUNDS))] == [2, 1, 1, 1]
    assert histogram.sum == pytest.approx(2 * BOUNDS[-1] + 1 + 2.1e-6)


def test_fast_frames_are_sampled_and_each_sample_counts_for_those_before_it() -> None:
    loop, looked = Loop(), 0
    for _ in range(500):
        loop.burst([20e-6] * 100)
        looked += loop.times.on
    for stage in ("decode", "write", "message"):
        assert loop.total(stage) == pytest.approx(50_000, rel=0.02)
    # What the histogram adds up to is what the stage took: its rate is the stage's share of the time.
    assert loop.times.stages["write"].sum == pytest.approx(50_000 * 10e-6, rel=0.02)


def test_few_of_the_fast_frames_are_timed() -> None:
    loop, laps = Loop(), 0
    lap = loop.times.lap

    def counted(stage: str) -> None:
        nonlocal laps
        laps += stage == "write"
        lap(stage)

    loop.times.lap = counted  # type: ignore[method-assign]
    loop.burst([20e-6] * 10_000)
    assert 35 < laps <= 42, "one in each 5 ms of 0.2 s"


def test_every_frame_of_a_slow_series_is_timed() -> None:
    loop = Loop()
    loop.burst([2 * SAMPLE_SECONDS] * 50)
    assert loop.total("write") == 50
    assert loop.times.stages["write"].sum == pytest.approx(50 * SAMPLE_SECONDS)


def test_every_frame_is_timed_where_they_come_one_by_one() -> None:
    loop = Loop()
    for _ in range(50):
        loop.clock.now += 0.1
        loop.burst([50e-6])
    assert loop.total("decode") == 50
    assert loop.times.stages["receive"].sum == 0.0, "waiting for a frame is no stage"


@pytest.mark.parametrize("place", range(60, 80))
def test_one_slow_frame_among_fast_ones_is_always_seen(place: int) -> None:
    loop = Loop()
    frames = [20e-6] * 200
    frames[place] = 1.4
    loop.burst(frames)
    longest = [
        count for bound, count in zip(BOUNDS, loop.times.stages["message"].counts, strict=False) if bound > 1
    ]
    assert sum(longest) >= 1


def test_frames_written_in_runs_count_once_and_their_time_is_not_that_of_the_next_message() -> None:
    clock = Clock()
    times = StageTimes(clock)
    times.begin(0.0, 0)
    clock.now = 10e-6
    times.lap("write")  # of the first frame
    assert times.turn(0.0, 10e-6, 1) == 10e-6
    clock.now = 5000e-6  # five frames one by one meanwhile; then a run of thirty is written
    done, clock.now = clock.now, 5300e-6
    times.wrote_run(300e-6, 30)
    assert times.turn(4900e-6, done, 36) == 5300e-6
    clock.now = 5302e-6
    times.lap("receive")
    clock.now = 5312e-6
    times.lap("write")  # counts for the five
    write, receive = times.stages["write"], times.stages["receive"]
    assert (sum(write.counts), sum(receive.counts)) == (36, 35)
    assert write.sum == pytest.approx(360e-6)
    assert receive.sum == pytest.approx(70e-6)
    assert times.writing == pytest.approx(360e-6)


def test_latency_is_from_the_senders_stamp_and_stamps_from_the_future_are_counted_apart() -> None:
    loop = Loop()
    loop.clock.now = 5.0
    loop.times.stored(1004.7)
    loop.times.stored(None)
    loop.times.stored(1005.1)
    assert loop.times.latency.sum == pytest.approx(0.3)
    assert (sum(loop.times.latency.counts), loop.times.stamps_ahead) == (1, 1)
