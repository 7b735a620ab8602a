"""When a series has ended of which nothing more comes: clocks for gaps, silence, and peers that are gone."""

from __future__ import annotations

import pytest

from penstock.receiver.series.timeouts import INTERNAL_LEAST, GapError
from tests.receiver.sample_series import DAY, Bench, end, frame, start


@pytest.mark.parametrize("mode", ["SOFTWARE", "EXTERNAL"])
@pytest.mark.parametrize("came", [0, 3, 9])
def test_a_paused_triggered_series_is_ended_by_no_clock(mode: str, came: int) -> None:
    bench = Bench()
    bench.say(start(frames=10, trigger_mode=mode, frame_time=0.01), *(frame(index) for index in range(came)))
    bench.wait(7 * DAY, steps=500)
    assert bench.running
    bench.say(*(frame(index) for index in range(came, 10)), end(triggered=10))
    assert (bench.sink.outcome.complete, bench.sink.counts.missing, bench.sink.counts.late) == (True, 0, 0)


def test_a_paused_series_with_a_gap_keeps_waiting_after_the_gap_is_reported() -> None:
    bench = Bench(gap={"seconds": 2.0})
    bench.say(start(frames=10, trigger_mode="SOFTWARE"), frame(0), frame(2))
    bench.wait(DAY, steps=500)
    assert bench.running
    assert bench.collector.series is not None
    counts = bench.collector.series.account.counts()
    assert (counts.missing, counts.pending) == (1, 7)


def test_the_gap_clock_runs_only_when_a_later_frame_has_come() -> None:
    bench = Bench(gap={"seconds": 2.0})
    bench.say(start(frames=10, trigger_mode="SOFTWARE"), frame(0), frame(1))
    bench.wait(100.0)
    bench.say(frame(3))
    bench.wait(1.9)
    assert bench.collector.series is not None
    account = bench.collector.series.account
    assert account.counts().missing == 0
    bench.wait(0.3)
    assert account.counts().missing == 1
    bench.say(frame(2))
    assert (account.counts().missing, account.counts().late) == (0, 1)
    assert bench.sink.indices == [0, 1, 3, 2], "stored although it was late"


def test_frames_that_come_within_the_gap_clock_are_not_late() -> None:
    bench = Bench(gap={"seconds": 2.0})
    bench.say(start(frames=3), frame(1))
    bench.wait(1.5)
    bench.say(frame(0), frame(2), end())
    assert (bench.sink.counts.late, bench.sink.outcome.complete) == (0, True)


def test_each_gap_has_its_own_time() -> None:
    bench = Bench(gap={"seconds": 2.0})
    bench.say(start(frames=10, trigger_mode="SOFTWARE"), frame(1))
    bench.wait(1.5)
    bench.say(frame(0), frame(3))
    bench.wait(1.5)
    assert bench.collector.series is not None
    assert bench.collector.series.account.counts().missing == 0, "the second gap is only 1.5 s old"
    bench.wait(0.7)
    assert bench.collector.series.account.counts().missing == 1


@pytest.mark.parametrize("policy", ["report", "pad"])
def test_a_gap_does_not_end_the_series_where_it_is_only_reported(policy: str) -> None:
    bench = Bench(gap={"policy": policy, "seconds": 2.0})
    bench.say(start(frames=3), frame(0), frame(2))
    bench.wait(2.2)
    assert bench.running
    bench.say(end(triggered=3))
    assert bench.sink.counts.missing == 1


def test_a_gap_fails_the_series_where_the_policy_says_so() -> None:
    bench = Bench(gap={"policy": "fail", "seconds": 2.0})
    bench.say(start(frames=3), frame(0), frame(2))
    with pytest.raises(GapError, match=r"1 frame from index 1 on .*policy is fail"):
        bench.wait(2.2)


def test_a_gap_fails_the_series_also_when_its_end_comes_before_the_clock_has_ended() -> None:
    bench = Bench(gap={"policy": "fail", "seconds": 2.0})
    bench.say(start(frames=3), frame(0), frame(2))
    with pytest.raises(GapError, match="2 of 3 frames: 1 missing, and gap.policy is fail"):
        bench.say(end(triggered=3, sent=3))
    assert not bench.running and bench.sink.failed == [True]
    bench.say(start(frames=2, series="b"), frame(0, series="b"))
    with pytest.raises(GapError, match="1 of 2 frames: 1 missing"):
        bench.say(end(series="b", triggered=2, sent=1))


@pytest.mark.parametrize("reason", ["abort", "fault"])
def test_a_series_that_was_given_up_has_not_failed_for_its_missing_frames(reason: str) -> None:
    bench = Bench(gap={"policy": "fail", "seconds": 2.0})
    bench.say(start(frames=10), frame(0), frame(2))
    bench.say(end(reason=reason, triggered=7, sent=3, lost={reason: 4}))
    assert not bench.running and bench.sink.failed == [False]
    assert bench.sink.counts.missing > 0


def test_what_a_client_stops_has_not_failed_whatever_is_under_way() -> None:
    bench = Bench(gap={"policy": "fail", "seconds": 2.0})
    bench.say(start(frames=3), frame(0), frame(2))
    bench.collector.stop("enough", stopped=True)
    assert not bench.running and bench.sink.failed == [False]


def test_an_internal_series_that_falls_silent_is_ended() -> None:
    bench = Bench()
    bench.say(start(frames=10, trigger_mode="INTERNAL", frame_time=0.1), frame(0))
    bench.wait(INTERNAL_LEAST - 0.1)
    assert bench.running
    bench.wait(0.3)
    assert not bench.running
    assert "connected but silent for 10 s" in bench.sink.outcome.reason


def test_a_slow_internal_series_is_given_ten_frame_times() -> None:
    bench = Bench()
    bench.say(start(frames=10, trigger_mode="INTERNAL", frame_time=60.0), frame(0))
    bench.wait(599.0)
    assert bench.running
    bench.wait(2.0)
    assert not bench.running


def test_a_foreign_series_that_falls_silent_is_ended_after_the_idle_limit() -> None:
    bench = Bench(idle_limit=600.0)
    bench.say(start(0, None), frame(0, 1, None))
    bench.wait(599.0)
    assert bench.running
    bench.wait(2.0)
    assert not bench.running
    assert "limit 600 s" in bench.sink.outcome.reason


def test_a_lost_end_after_the_last_frame_is_noticed() -> None:
    bench = Bench(gap={"seconds": 2.0})
    bench.say(start(frames=2, trigger_mode="SOFTWARE"), frame(0), frame(1))
    bench.wait(1.9)
    assert bench.running
    bench.wait(0.3)
    assert bench.sink.outcome.complete, "every planned frame is there"
    assert "end message was lost" in bench.sink.outcome.reason


@pytest.mark.parametrize("mode", ["SOFTWARE", "EXTERNAL", "INTERNAL", None])
def test_a_series_whose_peer_is_gone_is_ended_soon(mode: str | None) -> None:
    bench = Bench(peer_gone=3.0)
    bench.say(start(frames=10, trigger_mode=mode), frame(0))
    bench.wait(1.0)
    bench.lose()
    bench.wait(2.9)
    assert bench.running
    bench.wait(0.5)
    assert not bench.running
    assert "tcp://127.0.0.1:1 is gone" in bench.sink.outcome.reason
    assert bench.sink.counts.missing == 9


def test_a_peer_that_comes_back_in_time_goes_on_with_its_series() -> None:
    bench = Bench(peer_gone=3.0, idle_limit=600.0)
    bench.say(start(frames=3, trigger_mode="SOFTWARE"), frame(0))
    bench.lose()
    bench.wait(2.0)
    bench.reconnect()
    bench.wait(500.0)
    bench.say(frame(1))
    bench.wait(7 * DAY)
    assert bench.running, "it has spoken since, so it is the same one"
    bench.say(frame(2), end())
    assert bench.sink.outcome.complete


def test_a_peer_that_comes_back_and_says_nothing_may_be_a_new_one_and_has_the_idle_limit() -> None:
    bench = Bench(peer_gone=3.0, idle_limit=600.0)
    bench.say(start(frames=2, trigger_mode="SOFTWARE"), frame(0))
    bench.lose()
    bench.wait(2.0)
    bench.reconnect()
    bench.wait(590.0)
    assert bench.running
    bench.wait(60.0)
    assert not bench.running
    assert "silent for" in bench.sink.outcome.reason


def test_a_connection_lost_in_one_series_does_not_limit_the_next() -> None:
    bench = Bench(peer_gone=3.0)
    bench.say(start(0, "a", frames=1, trigger_mode="SOFTWARE"), frame(0))
    bench.lose()
    bench.wait(1.0)
    bench.reconnect()
    bench.wait(0.1)
    bench.say(end(), start(2, "b", frames=1, trigger_mode="SOFTWARE"))
    bench.wait(7 * DAY)
    assert bench.running


def test_frames_that_a_dead_peer_left_in_the_queues_are_still_taken() -> None:
    bench = Bench(peer_gone=3.0)
    bench.say(start(frames=100, trigger_mode="SOFTWARE"))
    bench.lose()
    for number in range(50):
        bench.say(frame(number))
        bench.wait(0.2, steps=1)
    assert bench.running
    assert bench.sink.indices == list(range(50))


def test_after_days_without_a_series_the_first_one_is_not_called_silent() -> None:
    bench = Bench()
    bench.lose()
    bench.wait(30 * DAY)
    bench.reconnect()
    bench.say(start(frames=1))
    bench.wait(1.0)
    assert bench.running


def test_a_silent_series_of_internal_triggers_without_a_frame_time_ends_at_the_idle_limit() -> None:
    bench = Bench(idle_limit=60.0)
    bench.say(start(frames=4, trigger_mode="INTERNAL"), frame(0), frame(2))
    bench.wait(59.0)
    assert bench.running
    bench.wait(2.0)
    assert not bench.running
    assert "silent for" in bench.sink.outcome.reason
