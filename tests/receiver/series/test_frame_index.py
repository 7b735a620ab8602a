"""The index of a frame: what it is counted from, and what shifts no others."""

from __future__ import annotations

import pytest

from tests.receiver.sample_series import Bench, end, frame, start


@pytest.mark.parametrize("series", ["a", None])
def test_frames_lost_before_they_were_numbered_shift_no_others(series: str | None) -> None:
    bench = Bench()
    bench.say(start(0, series), *(frame(n, n - 2, series) for n in range(3, 10)), end(8, series))
    assert bench.sink.indices == [3, 4, 5, 6, 7, 8, 9]
    assert (bench.sink.counts.planned, bench.sink.counts.missing) == (10, 3)
    assert not bench.sink.outcome.complete


def test_a_foreign_stream_that_counts_from_one_is_told_of_the_setting() -> None:
    bench = Bench()
    bench.say(start(41, None, frames=2), frame(1, 42, None), frame(2, 43, None), end(44, None))
    assert (bench.sink.indices, bench.sink.counts.missing, bench.sink.counts.out_of_range) == ([1], 1, 1)
    assert "frame 2 is index 2 of 2 frames; set source.frame_origin" in bench.sink.outcome.reason


def test_a_foreign_stream_without_a_plan_that_counts_from_one_is_told_so_too() -> None:
    bench = Bench()
    bench.say(start(41, None), frame(1, 42, None), frame(2, 43, None), end(44, None))
    assert bench.sink.outcome.reason == (
        "2 of 3 frames: 1 missing; index 0 is missing: source.frame_origin is 0; set it if this detector "
        "counts from elsewhere"
    )


@pytest.mark.parametrize("origin", [7, "first"])
def test_a_stream_that_does_not_count_from_zero_has_its_origin_set(origin: int | str) -> None:
    bench = Bench(source={"frame_origin": origin})
    bench.say(start(41, None, frames=3), *(frame(n, 35 + n, None) for n in (7, 8, 9)), end(45, None))
    assert (bench.sink.indices, bench.sink.outcome.complete) == ([0, 1, 2], True)


def test_each_series_has_a_first_frame_of_its_own() -> None:
    bench = Bench(source={"frame_origin": "first"})
    bench.say(start(0, None, frames=2), frame(7, 1, None), frame(8, 2, None), end(3, None))
    bench.say(start(4, None, frames=2), frame(9, 5, None), frame(10, 6, None), end(7, None))
    assert (bench.sink.indices, bench.sink.outcome.complete) == ([0, 1, 0, 1], True)


def test_a_configured_origin_wins() -> None:
    bench = Bench(source={"frame_origin": 1})
    bench.say(start(41, None, frames=3), frame(3, 42, None), end(43, None))
    assert bench.sink.indices == [2]


def test_frames_without_a_number_go_by_their_message() -> None:
    bench = Bench()
    bench.say(start(41, None, frames=3), frame(None, 42, None), frame(None, 44, None), end(45, None))
    assert bench.sink.indices == [0, 2]
    assert bench.sink.counts.missing == 1


def test_frames_without_any_number_go_by_arrival_and_the_series_says_so() -> None:
    bench = Bench()
    bench.say(start(None, None, frames=2), frame(None, None, None), frame(None, None, None), end(None, None))
    assert bench.sink.indices == [0, 1]
    assert bench.sink.ended[0][0].index_source == "arrival"


def test_arrival_with_a_count_that_does_not_match_is_uncertain() -> None:
    bench = Bench()
    bench.say(start(None, None, frames=3), frame(None, None, None), end(None, None))
    assert bench.sink.ended[0][0].index_source == "arrival, uncertain"


def test_numbers_begin_anew_with_each_series() -> None:
    bench = Bench()
    bench.say(start(41, None, frames=1), frame(0, 42, None), end(43, None))
    bench.say(start(44, None, frames=1), frame(0, 45, None), end(46, None))
    assert bench.sink.indices == [0, 0]
