"""A joined series begins once every module's start message is here; what is ahead of it waits."""

from __future__ import annotations

import math

import msgspec
import pytest

from penstock.receiver.connection.reorder_buffer import held_bytes
from penstock.receiver.models import FrameStatus
from tests.receiver.merge.streams import GAP, HEADERS, ModuleBench, end, frame, running, start

STORED, PARTIAL = FrameStatus.STORED, FrameStatus.PARTIAL


def test_running_needs_the_start_messages_of_all_modules_and_says_whose_is_missing() -> None:
    bench = ModuleBench()
    bench.say(0, start())
    bench.say(2, start(), frame(0, 2))
    assert not bench.running
    assert bench.merge.waits_for == "2 of 3 modules have begun a series; waits for tcp://m1:9010"
    bench.say(1, start())
    assert bench.running
    assert bench.merge.waits_for == ""


def test_frames_ahead_of_another_modules_start_message_are_kept() -> None:
    bench = ModuleBench()
    bench.say(0, start(frames=1), frame(0, 0), end())
    bench.say(1, start(frames=1), frame(0, 1), end())
    bench.say(2, start(frames=1), frame(0, 2), end())
    assert bench.sink.frames == [("a", 0, STORED)]
    assert bench.sink.outcome.complete


def test_a_start_message_that_does_not_come_in_time_is_an_error_and_what_was_held_is_counted() -> None:
    bench = ModuleBench()
    bench.say(0, start(), frame(0, 0))
    bench.say(1, start())
    bench.wait(HEADERS + 1)
    assert bench.sink.errors == ["no_module_header"]
    assert (bench.collector.drained, bench.merge.waits_for) == (3, "")
    bench.say(2, start(), frame(0, 2))
    bench.say(0, frame(1, 0), end())
    assert not bench.running
    assert bench.collector.drained == 7


def test_the_next_series_is_taken_after_one_whose_start_message_was_lost() -> None:
    bench = ModuleBench()
    bench.say(0, start(), frame(0, 0), end(), start("b"))
    bench.say(1, start(), frame(0, 1), end(), start("b"))
    bench.say(2, frame(0, 2), end(), start("b"))
    assert bench.running
    assert bench.sink.begun[0].id == "b"
    assert bench.sink.errors == ["no_header", "series_differ"]


@pytest.mark.parametrize("series", ["a", None])
def test_modules_without_start_messages_are_reported_once_per_series(series: str | None) -> None:
    bench = ModuleBench()
    for _ in range(2):
        bench.say_all(frame(0, series=series), frame(1, series=series), end(series))
    assert bench.sink.errors == ["no_header"] * 6, "one per module and series"
    assert (
        "frames from tcp://m1:9010 of a series whose start message was not received"
        in bench.sink.sentences[1]
    )


def test_modules_in_mid_series_after_a_reset_are_reported_but_not_those_of_a_stopped_series() -> None:
    bench = ModuleBench()
    bench.say_all(start(frames=9), frame(0))
    bench.collector.stop("stop requested")
    bench.say_all(frame(1))
    assert bench.sink.errors == []
    bench.merge.forget()  # in Error
    bench.say_all(frame(2), frame(3))
    assert bench.sink.errors == ["no_header"] * 3


def test_detectors_that_count_their_series_anew_lose_none() -> None:
    bench = running(1)
    bench.say_all(frame(0), end("a"))
    bench.say_all(start("b", frames=3), frame(0, series="b"))
    bench.say_all(start("a", frames=2), frame(0), frame(1), end("a"))
    bench.say_all(start("b", frames=1), frame(0, series="b"), end("b"))
    assert [series.header.frames for series in bench.sink.begun] == [1, 3, 2, 1]
    assert [outcome.complete for _, outcome in bench.sink.ended] == [True, False, True, True]


def test_a_module_that_has_begun_is_not_read_on_before_the_others_have() -> None:
    bench = ModuleBench()
    bench.say(0, start(frames=9), *(frame(number, 0) for number in range(9)))
    assert (len(bench.unread[0]), bench.merge.held_bytes) == (9, 0)
    bench.say(1, start(frames=9))
    bench.say(2, start(frames=9))
    assert not bench.unread[0]
    bench.wait(2 * GAP)
    assert (bench.sink.indices, bench.sink.errors) == (list(range(9)), [])


def test_a_message_that_waits_counts_its_header_and_each_of_its_blobs() -> None:
    assert held_bytes(frame(0)) - len(frame(0).blobs[0]) > 1000
    many = msgspec.structs.replace(frame(0), blobs=[b""] * 1000)
    assert held_bytes(many) > 500_000
    wordy = frame(0, partial="x" * 100_000)
    assert held_bytes(wordy) > 400_000


def test_modules_that_name_different_series_are_an_error_with_both_names() -> None:
    bench = ModuleBench()
    bench.say(0, start("a"))
    bench.say(1, start("b"))
    assert bench.sink.errors == ["series_differ"]
    assert "a at tcp://m0:9010, b at tcp://m1:9010" in bench.sink.sentences[0]
    bench.say(2, start("a"))
    bench.wait(HEADERS + 1)
    assert not bench.running


@pytest.mark.parametrize("key", ["shape", "type"])
def test_modules_of_different_shape_or_type_are_refused(key: str) -> None:
    bench = ModuleBench()
    usual = {"shape": (4, 6), "type": "uint16"}
    bench.say(0, start(**usual))
    bench.say(1, start(**usual))
    bench.say(2, start(**{**usual, key: {"shape": (4, 7), "type": "uint8"}[key]}))
    assert (bench.running, bench.sink.errors) == (False, ["modules_differ"])
    bench.say_all(start("b"))
    assert bench.running, "the next series is taken"


def test_modules_that_announce_different_numbers_of_frames_have_partial_ones() -> None:
    bench = ModuleBench()
    bench.say(0, start(frames=2), frame(0, 0), frame(1, 0), end())
    bench.say(1, start(frames=1), frame(0, 1), end())
    bench.say(2, start(frames=2), frame(0, 2), frame(1, 2), end())
    assert bench.sink.frames == [("a", 0, STORED), ("a", 1, PARTIAL)]
    assert (bench.sink.counts.planned, bench.sink.outcome.complete) == (2, False)


def test_a_module_whose_place_is_not_a_number_costs_the_image_and_not_the_series() -> None:
    bench = ModuleBench()
    for module in range(3):
        place = {"x": math.nan if module == 1 else 0, "y": 10 * module, "T": math.nan}
        bench.say(module, start(frames=1, metadata=place))
    bench.say_all(frame(0))
    assert bench.sink.errors == ["not_assembled"]
    assert bench.sink.indices == [0]
    (series,) = bench.sink.begun
    assert math.isnan(series.metadata["T"]), "the same of all modules"
