"""Which message belongs to which series, also where several sockets bring them in any order."""

from __future__ import annotations

import pytest

from penstock.stins.errors import BlobError
from tests import hostile
from tests.receiver.sample_series import STORED, Bench, end, frame, start

TWO = {"source": {"sockets": 2}}


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
