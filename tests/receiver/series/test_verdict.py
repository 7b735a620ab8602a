"""What a series is called at its end: never complete if a message of it was dropped or lost."""

from __future__ import annotations

import pytest

from penstock.stins.errors import RemoteError
from penstock.stins.messages import Message
from tests.receiver.sample_series import Bench, corrupt, end, frame, start


def frames(count: int, first: int = 0, message: int = 1, series: str | None = None) -> list[Message]:
    """Frames of an unnamed series, by number and msg_number."""
    return [frame(first + n, message + n, series) for n in range(count)]


# -- messages that were dropped --------------------------------------------------------------------


def test_a_series_whose_frames_were_all_out_of_range_is_incomplete() -> None:
    bench = Bench()
    bench.say(start(0, None), *frames(5, first=5 * 10**9), end(6, None))
    assert (bench.sink.counts.out_of_range, bench.sink.counts.stored) == (5, 0)
    assert not bench.sink.outcome.complete
    assert "5 frames were out of range (the first: frame 5000000000 is" in bench.sink.outcome.reason
    assert "source.frame_origin" in bench.sink.outcome.reason


@pytest.mark.parametrize("planned", [None, 9])
def test_one_frame_out_of_range_makes_a_series_incomplete(planned: int | None) -> None:
    bench = Bench()
    bench.say(start(0, None, frames=planned), *frames(9), frame(10**6, 10, None), end(11, None))
    assert (bench.sink.counts.stored, bench.sink.counts.out_of_range) == (9, 1)
    assert not bench.sink.outcome.complete
    assert "1 frame was out of range" in bench.sink.outcome.reason


@pytest.mark.parametrize("planned", [None, 3])
def test_a_message_that_could_not_be_read_makes_a_series_incomplete(planned: int | None) -> None:
    bench = Bench()
    bench.say(start(None, "a", frames=planned), *(frame(n) for n in range(3)))
    bench.collector.undecodable(RemoteError("not_json", "first part is not JSON"))
    bench.collector.undecodable(RemoteError("wrong_type", "another cause"))
    bench.say(end())
    assert (bench.sink.counts.stored, bench.sink.counts.undecodable) == (3, 2)
    assert not bench.sink.outcome.complete
    assert (
        "2 messages could not be read (the first: not_json: first part is not JSON)"
        in bench.sink.outcome.reason
    )


def test_what_could_not_be_read_outside_a_series_is_of_none() -> None:
    bench = Bench()
    bench.collector.undecodable(RemoteError("not_json", "first part is not JSON"))
    bench.say(start(frames=1), frame(0), end())
    assert (bench.sink.counts.undecodable, bench.sink.outcome.complete) == (0, True)


# -- messages that were lost -----------------------------------------------------------------------


@pytest.mark.parametrize("planned", [None, 20])
def test_a_series_is_incomplete_when_an_end_and_the_next_start_message_were_lost(planned: int | None) -> None:
    bench = Bench()
    bench.say(start(0, None, frames=planned), *frames(10), *frames(10, first=10, message=13), end(23, None))
    assert (bench.sink.counts.stored, bench.sink.counts.lost_messages) == (20, 2)
    assert not bench.sink.outcome.complete
    assert "2 messages were lost: msg_number 11 is the first that did not arrive" in bench.sink.outcome.reason


def test_the_gap_in_the_numbers_counts_too_where_the_last_end_message_was_lost() -> None:
    bench = Bench(gap={"seconds": 2.0})
    bench.say(start(0, None, frames=20), *frames(10), *frames(10, first=10, message=13))
    bench.wait(3.0)
    assert (bench.sink.counts.stored, bench.sink.outcome.complete) == (20, False)
    assert "2 messages were lost" in bench.sink.outcome.reason


def test_a_lost_tail_is_missing_as_the_numbers_show() -> None:
    bench = Bench()
    bench.say(start(0, None), *frames(7), end(11, None))
    assert (bench.sink.counts.planned, bench.sink.counts.stored, bench.sink.counts.missing) == (10, 7, 3)
    assert bench.sink.ended[0][0].account.lost() == [(7, 9, "missing")]
    assert bench.sink.outcome.reason == (
        "7 of 10 frames: 3 missing; 3 messages were lost: msg_number 8 is the first that did not arrive"
    )


def test_a_lost_tail_is_missing_as_the_end_message_says() -> None:
    bench = Bench()
    bench.say(start(None, None), *(frame(n, None, None) for n in range(7)), end(None, None, sent=10))
    assert (bench.sink.counts.planned, bench.sink.counts.stored, bench.sink.counts.missing) == (10, 7, 3)
    assert bench.sink.outcome.reason == (
        "7 of 10 frames: 3 missing; 3 messages were lost: 10 frames were sent, says the end message"
    )


def test_a_frame_lost_between_others_is_no_lost_tail() -> None:
    bench = Bench()
    bench.say(start(0, None), frame(0, 1, None), frame(2, 3, None), end(4, None, sent=3))
    assert (bench.sink.counts.planned, bench.sink.counts.missing) == (3, 1)
    assert bench.sink.counts.lost_messages == 1
    assert bench.sink.outcome.reason == "2 of 3 frames: 1 missing"


def test_a_frame_that_was_sent_twice_makes_up_for_no_lost_tail() -> None:
    bench = Bench()
    bench.say(start(None, None), frame(0, None, None), frame(0, None, None), end(None, None, sent=2))
    assert (bench.sink.counts.planned, bench.sink.counts.missing, bench.sink.counts.duplicate) == (2, 1, 1)


def test_numbers_that_do_not_count_messages_prove_no_loss() -> None:
    bench = Bench()
    bench.say(start(0, None), *(frame(n, 5, None) for n in range(3)), end(9, None))
    assert (bench.sink.outcome.complete, bench.sink.counts.lost_messages) == (True, 0)


# -- why -------------------------------------------------------------------------------------------


def test_the_reason_names_the_first_frame_of_each_cause_that_is_still_corrupt() -> None:
    bench = Bench()
    other = frame(2)
    changed = other.image.__class__(shape=(2, 2), type="uint16", compression="none", frame=2, series="a")
    bench.say(start(frames=5), frame(0), corrupt(3), corrupt(4), corrupt(1))
    bench.say(type(other)(changed, [bytes(8)]), frame(1), end())
    assert bench.sink.outcome.reason == (
        "2 of 5 frames: 3 corrupt; corrupt at index 2: frame 2 is [2, 2] uint16 none, this series is "
        "[4, 6] uint16 none; a new format needs a new series; "
        "corrupt at index 3: frame 3: blob of 3 bytes, 48 expected"
    )


def test_the_reason_says_what_a_partial_frame_lacks() -> None:
    bench = Bench()
    bench.say(start(frames=2), frame(0), frame(1, partial="rows 0 to 3 are missing"), end())
    assert "partial at index 1: frame 1: rows 0 to 3 are missing" in bench.sink.outcome.reason
