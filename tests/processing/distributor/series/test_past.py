"""The series that are over, in the order in which they began."""

from __future__ import annotations

from penstock.processing.distributor.frames.schedule import Schedule
from penstock.processing.distributor.receiver.events import BYTES, REMEMBERED, Over, OverMarks, mark_of
from penstock.processing.distributor.series.past import TOLD_AT_ONCE, PastSeries
from penstock.processing.distributor.series.run import Run


def ended(name: str, started: float) -> Run:
    run = Run(name, Schedule(), 3)
    run.started = started
    return run


def test_the_series_that_began_last_is_the_newest_although_a_longer_one_ends_after_it() -> None:
    past = PastSeries()
    for run in (ended("first", 1.0), ended("fourth", 4.0), ended("second", 2.0), ended("third", 3.0)):
        past.add(run, "http://127.0.0.1:5000")
    assert [each.id for each in past.last(10)] == ["fourth", "third", "second", "first"]
    assert [each.id for each in past.last(2)] == ["third", "second"], "those that have just ended are told of"


def test_a_series_that_was_stopped_before_the_receiver_said_when_it_began_is_the_newest() -> None:
    past = PastSeries()
    for run in (ended("first", 1.0), ended("stopped", 0.0)):
        past.add(run, "")
    assert [each.id for each in past.last(10)] == ["stopped", "first"]


def over(name: str, started: float) -> Over:
    return Over(name, None, "", started, 9.0, 3, (), "")


def test_the_next_distributor_knows_what_is_over_and_shows_the_last_ones_as_they_ended() -> None:
    past = PastSeries()
    for number in range(TOLD_AT_ONCE + 1):
        past.add(ended(f"s{number}", number + 0.25), "")
    told = past.untold
    assert len(told) == TOLD_AT_ONCE * BYTES, "the rest is in the next message"
    past.told(told)
    told += past.untold
    past.told(past.untold)
    assert past.untold == b""
    again = PastSeries(told, past.last(2))
    assert again.has(over("s0", 0.25)) and again.has(over(f"s{TOLD_AT_ONCE}", TOLD_AT_ONCE + 0.25))
    assert not again.has(over("s0", 7.25)), "its id was used again"
    assert not again.has(over("another", 0.25))
    assert [each.id for each in again.last(10)] == ["s200", "s199"]
    again.add(ended("new", 300.0), "")
    assert [each.id for each in again.last(10)] == ["new", "s200", "s199"]
    assert again.untold == mark_of("new", 300.0)
    assert again.knows("new") and again.knows("s200") and not again.knows("s0")


def test_of_very_many_marks_the_last_are_kept() -> None:
    marks = OverMarks(b"".join(mark_of("s", number) for number in range(REMEMBERED + 1)))
    assert len(marks.joined) == REMEMBERED * BYTES
    assert not marks.has([mark_of("s", 0)]) and marks.has([mark_of("s", 1)])
