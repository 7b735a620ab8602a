"""The receiver's state table."""

from __future__ import annotations

import logging

import pytest

from penstock.receiver.process.states import TABLE, Event, State, StateMachine
from penstock.stins.table import IllegalEvent


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("event", Event)
def test_only_what_the_table_allows_happens(state: State, event: Event) -> None:
    machine = StateMachine("sim-1")
    machine.state, machine.error = state, "before"
    if (state, event) in TABLE:
        machine.fire(event, "cause")
        assert machine.state is TABLE[state, event]
    else:
        with pytest.raises(IllegalEvent, match=f"{event.name} while {state}"):
            machine.fire(event, "cause")
        assert (machine.state, machine.error) == (state, "before"), "an illegal event changes nothing"


def test_error_keeps_its_cause_until_reset() -> None:
    machine = StateMachine("sim-1")
    machine.fire(Event.FAIL, "the disk is full")
    assert (machine.state, machine.error) == (State.ERROR, "the disk is full")
    with pytest.raises(IllegalEvent):
        machine.fire(Event.BEGIN, "a series")
    assert machine.error == "the disk is full"
    machine.fire(Event.RESET, "asked for")
    assert (machine.state, machine.error) == (State.IDLE, "")


def test_a_transition_is_logged_once_with_both_states_and_the_cause(caplog: pytest.LogCaptureFixture) -> None:
    machine = StateMachine("sim-1")
    with caplog.at_level(logging.INFO):
        machine.fire(Event.BEGIN, "series 7")
        machine.fire(Event.FAIL, "the disk is full")
        machine.fire(Event.RESET, "asked for")
        machine.fire(Event.RESET, "asked for once more")
    assert [record.getMessage() for record in caplog.records] == [
        "sim-1: idle -> running: series 7",
        "sim-1: running -> error: the disk is full",
        "sim-1: error -> idle: asked for",
    ]
