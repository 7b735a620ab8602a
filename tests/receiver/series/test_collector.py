"""One series in the collector: its frames, what is counted, and how it ends."""

from __future__ import annotations

import pytest

from penstock.receiver.models import FrameStatus
from tests import hostile
from tests.receiver.sample_series import DELIVERED, STORED, Bench, corrupt, end, frame, start


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
