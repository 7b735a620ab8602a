"""A series whose number of frames nobody has announced: which ends make it complete."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.receiver.sample_series import Bench, corrupt, end, frame, start

NOT_KNOWN = "how many more were to come is not known"


def stop(bench: Bench) -> None:
    bench.collector.stop("stop requested", stopped=True)


def fail(bench: Bench) -> None:
    bench.collector.stop("the streamer died")


def lose(bench: Bench) -> None:
    bench.lose()
    bench.wait(5.0)


def lose_and_stop(bench: Bench) -> None:
    bench.lose()
    bench.reconnect()
    stop(bench)


def say_end(reason: str | None) -> Callable[[Bench], None]:
    return lambda bench: bench.say(end(4, reason=reason, triggered=3, sent=3))


@pytest.mark.parametrize(
    ("ends", "complete"),
    [
        (say_end(None), True),
        (say_end("complete"), True),
        (say_end("stop"), True),
        (say_end("abort"), False),
        (say_end("fault"), False),
        (stop, True),
        (fail, False),
        (lose, False),
        (lose_and_stop, False),
    ],
    ids=[
        "end",
        "complete",
        "stop",
        "abort",
        "fault",
        "stopped",
        "failed",
        "connection lost",
        "stopped since",
    ],
)
def test_it_is_complete_if_it_was_ended_or_stopped_and_in_no_other_case(
    ends: Callable[[Bench], None], complete: bool
) -> None:
    bench = Bench()
    bench.say(start(), *(frame(number, 1 + number) for number in range(3)))
    ends(bench)
    outcome = bench.sink.outcome
    assert (outcome.complete, bench.sink.counts.planned, bench.sink.counts.stored) == (complete, 3, 3)
    assert outcome.reason.startswith("all 3 frames are there" if complete else f"3 frames, {NOT_KNOWN}")


@pytest.mark.parametrize("ends", [say_end("stop"), stop], ids=["end", "stopped"])
@pytest.mark.parametrize("bad", ["lost", "corrupt"])
def test_a_frame_that_is_not_there_makes_it_incomplete_all_the_same(
    bad: str, ends: Callable[[Bench], None]
) -> None:
    bench = Bench()
    bench.say(start(), frame(0, 1), *([corrupt(1, message=2)] if bad == "corrupt" else []), frame(2, 3))
    ends(bench)
    assert not bench.sink.outcome.complete
    assert bench.sink.outcome.reason.startswith("2 of 3 frames: 1 ")
    assert NOT_KNOWN not in bench.sink.outcome.reason
