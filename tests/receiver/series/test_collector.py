"""Which message belongs to which series, and when a series has ended."""

from __future__ import annotations

import pytest

from penstock.receiver.models import FrameStatus
from penstock.receiver.series.timeouts import INTERNAL_LEAST, GapError
from penstock.stins.errors import BlobError
from tests import hostile
from tests.receiver.sample_series import DAY, Bench, corrupt, end, frame, start

TWO = {"source": {"sockets": 2}}
STORED, DELIVERED = FrameStatus.STORED, FrameStatus.DELIVERED


# -- one series ------------------------------------------------------------------------------------


def test_a_whole_series_is_complete_at_its_end_message() -> None:
    bench = Bench()
    bench.say(start(frames=3), frame(0), frame(1), frame(2))
    assert bench.running, "until the end message has come"
    bench.say(end(triggered=3, sent=3))
    assert not bench.running
    assert bench.sink.frames == [("a", 0, STORED), ("a", 1, STORED), ("a", 2, STORED)]
    assert (bench.sink.outcome.complete, bench.sink.outcome.reason) == (True, "all 3 frames are there")


def test_each_frame_goes_to_its_own_index_whatever_the_order() -> None:
    bench = Bench()
    bench.say(start(frames=4), frame(2), frame(0), frame(3), frame(1), end())
    assert bench.sink.indices == [2, 0, 3, 1]
    assert bench.sink.outcome.complete


def test_a_series_without_a_file_is_delivered_and_not_stored() -> None:
    bench = Bench()
    bench.say(start(frames=1, metadata={"save_raw": False}), frame(0), end())
    assert bench.sink.frames == [("a", 0, DELIVERED)]
    assert bench.sink.outcome.complete


def test_a_discarded_frame_is_passed_on_and_counted_as_discarded() -> None:
    bench = Bench()
    bench.say(start(frames=2), frame(0, discard=True), frame(1), end())
    assert bench.sink.frames == [("a", 0, FrameStatus.DISCARDED), ("a", 1, STORED)]
    assert (bench.sink.counts.discarded, bench.sink.outcome.complete) == (1, True)


def test_a_corrupt_frame_is_counted_at_its_index_and_not_passed_on() -> None:
    bench = Bench()
    bench.say(start(frames=2), corrupt(0), frame(1), end())
    assert (bench.sink.indices, bench.sink.errors) == ([1], ["blob_length"])
    assert (bench.sink.counts.corrupt, bench.sink.counts.stored) == (1, 1)
    assert bench.sink.outcome.reason == (
        "1 of 2 frames: 1 corrupt; corrupt at index 0: frame 0: blob of 3 bytes, 48 expected"
    )


def test_a_corrupt_frame_that_comes_again_whole_is_stored() -> None:
    bench = Bench()
    bench.say(start(frames=1), corrupt(0), frame(0), end())
    assert (bench.sink.counts.corrupt, bench.sink.counts.stored, bench.sink.outcome.complete) == (0, 1, True)


def test_a_frame_that_comes_twice_is_passed_on_once_and_counted() -> None:
    bench = Bench()
    bench.say(start(frames=1), frame(0), frame(0), corrupt(0), end())
    assert (bench.sink.indices, bench.sink.counts.duplicate, bench.sink.errors) == ([0], 2, [])
    assert bench.sink.outcome.complete


@pytest.mark.parametrize("key", ["partial", "discard"])
def test_a_frame_that_is_partial_is_passed_on_once(key: str) -> None:
    bench = Bench()
    again = {"partial": "rows 0 to 3 are missing"} if key == "partial" else {"discard": True}
    bench.say(start(frames=1), frame(0, partial="rows 0 to 3 are missing"), frame(0, **again), end())
    assert bench.sink.frames == [("a", 0, FrameStatus.PARTIAL)]
    assert (bench.sink.counts.partial, bench.sink.counts.duplicate) == (1, 1)
    assert bench.sink.errors == ["partial"]


@pytest.mark.parametrize("number", hostile.NUMBERS)
def test_a_frame_number_out_of_range_is_counted_and_not_stored(number: int) -> None:
    bench = Bench()
    bench.say(start(frames=5), frame(number), *(frame(index) for index in range(5)), end())
    assert (bench.sink.indices, bench.sink.errors) == ([0, 1, 2, 3, 4], ["frame_out_of_range"])
    assert (bench.sink.counts.out_of_range, bench.sink.counts.received) == (1, 5)
    assert not bench.sink.outcome.complete, "it was thrown away, and may have been meant for the file"


def test_without_an_announced_total_the_series_is_as_long_as_what_came() -> None:
    bench = Bench()
    bench.say(start(), frame(0), frame(1), frame(20_000), end())
    assert bench.sink.counts.planned == 2
    assert bench.sink.counts.out_of_range == 1


def test_triggers_that_never_came_are_not_missing_frames() -> None:
    bench = Bench()
    bench.say(
        start(frames=5), frame(0), frame(2), end(reason="stop", triggered=3, sent=2, lost={"overrun": 1})
    )
    counts = bench.sink.counts
    assert (counts.stored, counts.missing, counts.not_triggered) == (2, 1, 2)
    assert bench.sink.outcome.reason == "2 of 5 frames: 1 missing, 2 not triggered; ended by stop"


def test_a_stopped_foreign_series_of_which_every_message_came_was_not_triggered_further() -> None:
    bench = Bench()
    bench.say(start(4, None, frames=5), frame(0, 5, None), frame(1, 6, None), end(7, None))
    assert (bench.sink.counts.missing, bench.sink.counts.not_triggered) == (0, 3)


@pytest.mark.parametrize("came", [(), (0, 2)])
def test_what_a_sender_that_ends_early_has_not_sent_was_not_triggered(came: tuple[int, ...]) -> None:
    bench = Bench()
    bench.say(start(frames=5), *(frame(index) for index in came))
    bench.collector.stop_at_end("another", "ended by abort")
    bench.collector.stop_at_end("a", "ended by stop")
    bench.say(end())
    counts, behind = bench.sink.counts, 5 - (max(came) + 1 if came else 0)
    assert (counts.stored, counts.missing) == (len(came), 5 - behind - len(came))
    assert counts.not_triggered == behind
    assert bench.sink.outcome.reason.endswith(f"{behind} not triggered; ended by stop")


def test_of_a_series_armed_by_a_device_an_early_end_waits_for_the_devices_reason() -> None:
    bench = Bench()
    armed = {"frames": 5, "trigger_mode": "SOFTWARE"}
    bench.say(start(**armed), frame(0), end())
    assert bench.running, "was the rest lost, or never exposed?"
    bench.collector.stop_at_end("another", "ended elsewhere")
    assert bench.running
    bench.collector.stop_at_end("a", "ended by another client")
    assert (bench.sink.counts.missing, bench.sink.counts.not_triggered) == (0, 4)
    assert bench.sink.outcome.reason == "1 of 5 frames: 4 not triggered; ended by another client"


def test_frames_that_a_box_has_lost_are_missing_once_its_device_says_so_or_nothing_for_a_moment() -> None:
    armed = {"frames": 5, "trigger_mode": "SOFTWARE"}
    for tell in (lambda bench: bench.collector.stop_at_end("a", ""), lambda bench: bench.wait(2.1)):
        bench = Bench()
        bench.say(start(**armed), frame(0), end())
        bench.wait(1.5)
        assert bench.running
        tell(bench)
        assert not bench.running
        assert (bench.sink.counts.missing, bench.sink.counts.not_triggered) == (4, 0)


def test_the_next_series_does_not_wait_and_one_that_is_whole_or_not_armed_by_a_device_neither() -> None:
    bench = Bench()
    bench.say(start(frames=2, trigger_mode="SOFTWARE"), frame(0), end())
    bench.say(start(series="b", frames=1, trigger_mode="SOFTWARE"), frame(0, series="b"), end(series="b"))
    assert not bench.running and len(bench.sink.ended) == 2
    bench.say(start(series="c", frames=2), frame(0, series="c"), end(series="c"))
    assert not bench.running


def test_whether_a_lost_end_message_had_frames_before_it_nobody_knows() -> None:
    bench = Bench()
    bench.say(start(frames=5), frame(0))
    bench.collector.stop_at_end("a", "ended by stop")
    bench.stop("its end message was lost")
    assert (bench.sink.counts.missing, bench.sink.counts.not_triggered) == (4, 0)


def test_the_senders_reason_is_passed_on() -> None:
    bench = Bench()
    bench.say(
        start(frames=2), frame(0), end(reason="fault", message="the detector's fan has stopped", triggered=2)
    )
    assert bench.sink.outcome.reason.endswith("ended by fault: the detector's fan has stopped")


def test_stop_ends_the_running_series_with_its_cause() -> None:
    bench = Bench()
    bench.say(start(frames=2), frame(0))
    bench.stop("stop requested")
    assert (bench.sink.outcome.complete, bench.sink.outcome.reason) == (
        False, "1 of 2 frames: 1 missing; stop requested",
    )  # fmt: skip
    bench.stop("stop requested")
    assert len(bench.sink.ended) == 1, "there was nothing more to stop"


# -- the index of a frame --------------------------------------------------------------------------


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


# -- boundaries ------------------------------------------------------------------------------------


def test_the_header_of_a_new_series_ends_the_running_one_as_end_lost() -> None:
    bench = Bench()
    bench.say(start(0, "a", frames=2), frame(0), start(2, "b", frames=1), frame(0, series="b"))
    assert [series.id for series in bench.sink.begun] == ["a", "b"]
    assert "end message was lost" in bench.sink.outcome.reason
    assert not bench.sink.outcome.complete
    bench.say(end(series="b"))
    assert bench.sink.outcome.complete


def test_a_foreign_streamer_that_restarted_counts_from_zero_and_begins_a_new_series() -> None:
    bench = Bench()
    bench.say(start(41, None), frame(0, 42, None), start(0, None, frames=1), frame(0, 1, None), end(2, None))
    assert [outcome.complete for _, outcome in bench.sink.ended] == [False, True]


def test_a_header_that_comes_twice_changes_nothing() -> None:
    bench = Bench()
    bench.say(start(frames=2), frame(0), start(frames=2), frame(1), end())
    assert (len(bench.sink.begun), bench.sink.outcome.complete) == (1, True)
    assert bench.collector.drained == 1


def test_a_frame_of_an_older_series_is_stale_and_not_stored() -> None:
    bench = Bench()
    bench.say(
        start(0, "a", frames=1), frame(0), end(), start(3, "b", frames=1), frame(0), frame(0, series="b")
    )
    bench.say(end(), end(series="b"))
    assert bench.sink.frames == [("a", 0, STORED), ("b", 0, STORED)]
    assert bench.sink.counts.stale == 2, "a frame, and a second end"
    assert bench.sink.outcome.complete


def test_a_foreign_frame_from_before_the_header_is_stale() -> None:
    bench = Bench(**TWO)
    bench.say(start(41, None, frames=1))
    bench.wait(1.0)  # for messages before it
    bench.say(frame(7, 40, None), frame(0, 42, None), end(43, None))
    assert (bench.sink.indices, bench.sink.counts.stale) == ([0], 1)


def test_frames_and_ends_without_a_header_are_drained() -> None:
    bench = Bench()
    bench.say(frame(0), frame(1, 5, None), end(), end(6, None))
    assert (bench.collector.drained, bench.sink.begun, bench.sink.frames) == (4, [], [])
    bench.say(start(7, "b", frames=1), frame(0, series="b"), end(series="b"))
    assert bench.sink.outcome.complete


def test_a_second_header_of_a_series_that_has_ended_does_not_begin_it_again() -> None:
    bench = Bench(**TWO)
    bench.say(start(0, "a", frames=1), frame(0, 1), end(2), start(3, "b"), start(0, "a", frames=1))
    assert [series.id for series in bench.sink.begun] == ["a", "b"]


@pytest.mark.parametrize("bad", hostile.STARTS, ids=lambda item: item.name)
def test_a_header_that_announces_what_cannot_be_is_refused_and_the_next_series_is_taken(
    bad: hostile.BadStart,
) -> None:
    bench = Bench()
    keys = {**bad.keys, "shape": tuple(bad.keys["shape"])}
    with pytest.raises(BlobError):
        bench.say(start(0, "a", **keys))
    bench.say(frame(0), end())
    assert bench.collector.drained == 2
    bench.say(start(3, "b", frames=1), frame(0, series="b"), end(series="b"))
    assert bench.sink.outcome.complete


def test_a_series_that_the_sink_refuses_is_none() -> None:
    bench = Bench()
    bench.sink.refuses = OSError("no")
    with pytest.raises(OSError, match="no"):
        bench.say(start())
    assert not bench.running


def test_a_changed_format_is_corrupt_and_the_series_goes_on() -> None:
    bench = Bench()
    bench.say(start(frames=3), frame(0))
    for bad in hostile.CHANGES[:1]:
        other = frame(1)
        changed = other.image.__class__(
            shape=tuple(bad.keys["shape"]), type=hostile.TYPE, compression="none", frame=1, series="a"
        )
        bench.say(type(other)(changed, other.blobs))
    bench.say(frame(2), end())
    assert (bench.sink.errors, bench.sink.counts.corrupt, bench.sink.indices) == (
        ["format_changed"],
        1,
        [0, 2],
    )


# -- several sockets -------------------------------------------------------------------------------


def test_frames_ahead_of_their_header_wait_for_it() -> None:
    bench = Bench(**TWO)
    bench.say(frame(1, 2), frame(0, 1))
    assert bench.sink.frames == []
    bench.say(start(frames=2))
    assert bench.sink.indices == [0, 1]
    bench.say(end(3))
    assert bench.sink.outcome.complete


def test_even_the_end_may_come_before_the_header() -> None:
    bench = Bench(**TWO)
    bench.say(end(2), frame(0, 1), start(frames=1))
    assert bench.sink.outcome.complete


def test_frames_behind_their_end_still_belong_to_the_series() -> None:
    bench = Bench(**TWO)
    bench.say(start(frames=3), frame(0, 1), end(4))
    assert bench.running
    bench.say(frame(2, 3), frame(1, 2))
    assert not bench.running, "all messages are in, nobody waits for a clock"
    assert bench.sink.outcome.complete


def test_after_the_end_lost_frames_are_waited_for_no_longer_than_the_gap_clock() -> None:
    bench = Bench(gap={"seconds": 2.0}, **TWO)
    bench.say(start(frames=3), frame(0, 1), end(4, triggered=3))
    bench.wait(1.9)
    assert bench.running
    bench.wait(0.2)
    assert not bench.running
    assert (bench.sink.counts.stored, bench.sink.counts.missing) == (1, 2)


@pytest.mark.parametrize("named", [True, False], ids=["series named", "by message number"])
def test_frames_of_the_next_series_wait_until_the_running_one_has_ended(named: bool) -> None:
    bench = Bench(**TWO)
    a, b = ("a", "b") if named else (None, None)
    bench.say(start(0, a, frames=2), frame(0, 1, a))
    bench.say(start(4, b, frames=1), frame(0, 5, b))
    bench.say(frame(1, 2, a), end(3, a))
    assert [outcome.complete for _, outcome in bench.sink.ended] == [True]
    bench.say(end(6, b))
    assert [outcome.complete for _, outcome in bench.sink.ended] == [True, True]
    assert bench.sink.indices == [0, 1, 0]


def test_a_lost_end_is_given_up_when_the_next_header_has_waited() -> None:
    bench = Bench(gap={"seconds": 2.0}, **TWO)
    bench.say(start(0, "a", frames=2), frame(0, 1), start(4, "b", frames=1), frame(0, 5, "b"), end(6, "b"))
    bench.wait(2.1)
    assert [series.id for series, _ in bench.sink.ended] == ["a", "b"]
    assert "end message was lost" in bench.sink.ended[0][1].reason
    assert bench.sink.outcome.complete


def test_a_hostile_next_header_is_refused_when_its_turn_comes_and_the_one_after_is_taken() -> None:
    bench = Bench(gap={"seconds": 2.0}, **TWO)
    bench.say(start(0, "a", frames=1), start(4, "b", shape=(0, 0), type="uint16"))
    with pytest.raises(BlobError):
        bench.wait(2.1)
    assert [series.id for series, _ in bench.sink.ended] == ["a"]
    bench.say(end(5, "b"), start(6, "c", frames=1), frame(0, 7, "c"), end(8, "c"))
    assert bench.sink.outcome.complete


def test_frames_whose_header_never_comes_are_dropped_after_a_while_and_counted() -> None:
    bench = Bench(gap={"seconds": 2.0}, **TWO)
    bench.say(frame(0, 1), frame(1, 2))
    bench.wait(2.2)
    assert (bench.sink.errors, bench.collector.drained) == (["no_header"], 2), "it is said once"


# -- clocks ----------------------------------------------------------------------------------------


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
