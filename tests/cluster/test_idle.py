"""When workers are taken away, and when they come back."""

from __future__ import annotations

from penstock.cluster.idle import Idle


def test_workers_are_taken_away_after_the_time_without_a_series_and_come_back_with_the_next() -> None:
    idle = Idle(60.0, now=0.0)
    assert idle.look(59.0, wanted=4, runs=False, unknown=False) == ""
    assert idle.look(60.0, wanted=4, runs=False, unknown=False) == "sleep"
    idle.was_set(60.0, asleep=True)
    assert idle.look(61.0, wanted=0, runs=False, unknown=False) == "" and idle.asleep
    assert idle.look(500.0, wanted=0, runs=True, unknown=False) == "wake"
    idle.was_set(500.0)
    assert idle.look(559.0, wanted=4, runs=False, unknown=False) == ""


def test_a_series_and_a_pipeline_of_which_nothing_is_known_keep_them() -> None:
    idle = Idle(60.0, now=0.0)
    assert idle.look(50.0, wanted=4, runs=True, unknown=False) == ""
    assert idle.look(100.0, wanted=4, runs=False, unknown=True) == ""
    assert idle.look(159.0, wanted=4, runs=False, unknown=False) == ""
    assert idle.look(160.0, wanted=4, runs=False, unknown=False) == "sleep"


def test_workers_that_somebody_has_stopped_stay_so() -> None:
    idle = Idle(60.0, now=0.0)
    idle.was_set(1.0)
    assert idle.look(2.0, wanted=0, runs=True, unknown=False) == "" and not idle.asleep


def test_workers_that_are_off_when_the_control_starts_were_taken_away() -> None:
    idle = Idle(60.0, now=0.0)
    assert idle.look(1.0, wanted=0, runs=False, unknown=False) == "" and idle.asleep
    none = Idle(60.0, now=0.0)
    assert none.look(1.0, wanted=0, count=0, runs=True, unknown=False) == "" and not none.asleep
    never = Idle(None, now=0.0)
    assert never.look(1.0, wanted=0, runs=True, unknown=False) == "" and not never.asleep


def test_workers_that_somebody_else_brings_back_are_not_asleep() -> None:
    idle = Idle(60.0, now=0.0)
    idle.was_set(0.0, asleep=True)
    assert idle.look(100.0, wanted=2, runs=False, unknown=False) == "" and not idle.asleep
    assert idle.look(159.0, wanted=2, runs=False, unknown=False) == ""


def test_without_a_time_nothing_is_taken_away() -> None:
    assert Idle(None, now=0.0).look(1e9, wanted=4, runs=False, unknown=False) == ""
