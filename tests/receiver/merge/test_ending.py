"""A joined series ends with every module's end message, and waits for none that cannot come."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.receiver.models import FrameStatus
from penstock.receiver.series.timeouts import GapError
from tests.receiver.merge.streams import GAP, GONE, HEADERS, ModuleBench, end, frame, running, start
from tests.receiver.sample_series import DAY

STORED, PARTIAL = FrameStatus.STORED, FrameStatus.PARTIAL


def test_a_series_ends_with_the_last_modules_end_message() -> None:
    bench = running(1)
    bench.say_all(frame(0))
    bench.say(0, end())
    bench.say(1, end())
    assert bench.running
    bench.say(2, end())
    assert not bench.running
    assert bench.sink.outcome.reason == "its 1 frame is there"


def test_a_lost_end_message_ends_the_series_after_the_others_and_names_the_module() -> None:
    bench = running(2)
    bench.say_all(frame(0))
    bench.say(0, frame(1, 0), end())
    bench.say(1, frame(1, 1), end())
    bench.wait(2 * GAP)
    assert bench.running, "it may be behind"
    bench.wait(HEADERS)
    assert not bench.running
    assert "tcp://m2:9010: its end message was lost" in bench.sink.outcome.reason
    assert bench.sink.frames[-1] == ("a", 1, PARTIAL)


def test_a_paused_triggered_series_waits_for_a_day() -> None:
    bench = running(2)
    bench.say_all(frame(0))
    bench.wait(DAY)
    assert bench.running
    bench.say_all(frame(1), end())
    assert bench.sink.outcome.complete


def test_a_paused_series_waits_too_while_a_module_is_missing() -> None:
    bench = running(2)
    bench.say(0, frame(0, 0))
    bench.say(1, frame(0, 1))
    bench.wait(DAY)
    assert bench.running


def test_the_worst_reason_of_all_end_messages_counts() -> None:
    bench = running(1)
    bench.say(0, frame(0, 0), end(reason="complete", triggered=1, sent=1))
    bench.say(1, frame(0, 1), end(reason="fault", message="the module is too hot", triggered=1, sent=1))
    bench.say(2, frame(0, 2), end(reason="stop", triggered=1, sent=1))
    assert bench.sink.outcome.reason.endswith("ended by fault: tcp://m1:9010: the module is too hot")


def test_a_module_whose_streamer_died_is_not_waited_for_and_the_others_go_on() -> None:
    bench = running(3)
    bench.say_all(frame(0))
    bench.connected[1] = False
    bench.say(0, frame(1, 0))
    bench.say(2, frame(1, 2))
    bench.wait(GONE + 0.5)
    assert bench.sink.errors == ["module_gone"]
    assert bench.sink.frames[-1] == ("a", 1, PARTIAL)
    assert "tcp://m1:9010: its streamer is gone" in bench.merge.warning
    bench.say(0, frame(2, 0), end())
    bench.say(2, frame(2, 2), end())
    assert not bench.running, "its end message is not waited for"
    assert bench.sink.outcome.reason.startswith(
        "1 of 3 frames: 2 partial; tcp://m1:9010: its streamer is gone"
    )


def test_a_module_that_is_back_takes_part_again() -> None:
    bench = running(2)
    bench.connected[1] = False
    bench.wait(GONE + 1)
    bench.connected[1] = True
    bench.say_all(frame(0), frame(1), end())
    assert bench.sink.outcome.complete


def test_the_death_of_all_streamers_ends_the_series() -> None:
    bench = running(3)
    bench.say_all(frame(0))
    bench.say(0, frame(1, 0))
    bench.connected = [False] * 3
    bench.wait(GONE + 0.5)
    assert not bench.running
    assert bench.sink.frames == [("a", 0, STORED), ("a", 1, PARTIAL)], "what was there is kept"
    assert bench.sink.outcome.reason.count("its streamer is gone") == 3


def test_a_module_that_begins_the_next_series_has_lost_its_end_message() -> None:
    bench = running(1)
    bench.say_all(frame(0))
    bench.say(0, start("b", frames=1), frame(0, 0, "b"))
    bench.say(1, end(), start("b", frames=1), frame(0, 1, "b"))
    assert bench.sink.ended == []
    bench.say(2, end(), start("b", frames=1), frame(0, 2, "b"))
    assert [series.id for series, _ in bench.sink.ended] == ["a"]
    assert "has begun the next series" in bench.sink.outcome.reason
    bench.say_all(end("b"))
    assert bench.sink.outcome.complete


def test_the_policy_fail_ends_the_series_at_the_first_missing_module() -> None:
    bench = running(2, gap={"seconds": GAP, "policy": "fail"})
    bench.say(0, frame(0, 0))
    bench.say(1, frame(0, 1))
    with pytest.raises(GapError, match=r"frame 0 has come without tcp://m2:9010"):
        bench.wait(2 * GAP)


def test_after_an_error_everything_that_is_held_is_dropped_and_counted() -> None:
    bench = running(2)
    bench.say(0, frame(0, 0))
    bench.say(1, frame(0, 1))
    assert bench.merge.forget() == 2
    bench.collector.fail("the disk is full")
    bench.say_all(frame(1), end())
    bench.say_all(start("b", frames=1), frame(0, series="b"), end("b"))
    assert bench.sink.outcome.complete


@pytest.mark.parametrize("number", [41, None], ids=["numbered start", "start without a number"])
def test_what_every_module_has_lost_at_the_end_is_missing(number: int | None) -> None:
    bench = ModuleBench(modules=2)
    bench.say_all(start(number=number), *(frame(n, msg_number=42 + n) for n in range(3)), end(msg_number=47))
    assert (bench.sink.counts.planned, bench.sink.counts.missing) == (5, 2)
    assert not bench.sink.outcome.complete


@pytest.mark.parametrize(
    ("ends", "missing"),
    [
        (({"sent": 3, "lost": {"overrun": 2}}, {"sent": 3, "lost": {"overrun": 1}}), 2),
        # The other module has sent what this one has lost: the frame is there, and partial.
        (({"sent": 2, "lost": {"overrun": 1}}, {"sent": 3}), 0),
    ],
)
def test_what_modules_have_not_sent_counts_without_triggered(
    ends: tuple[dict[str, Any], dict[str, Any]], missing: int
) -> None:
    bench = ModuleBench(modules=2)
    bench.say_all(start())
    for module, said in enumerate(ends):
        bench.say(module, *(frame(n, module) for n in range(said["sent"])), end(**said))
    assert bench.sink.counts.missing == missing
    assert not bench.sink.outcome.complete
