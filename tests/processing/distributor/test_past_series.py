"""The series that are over, in the order in which they began."""

from __future__ import annotations

from penstock.processing.distributor.past_series import PastSeries
from penstock.processing.distributor.schedule import Schedule
from penstock.processing.distributor.series_run import Run


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
