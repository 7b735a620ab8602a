from __future__ import annotations

import itertools
import logging

import pytest

from penstock.streamer.camera.driver import Refused
from penstock.streamer.camera.states import TABLE, Event, State, machine

ILLEGAL = sorted(set(itertools.product(State, Event)) - set(TABLE))


@pytest.mark.parametrize(("state", "event"), ILLEGAL)
def test_an_illegal_event_raises_and_changes_nothing(state: State, event: Event) -> None:
    made = machine()
    made.state, made.message = state, "as before"
    with pytest.raises(Refused, match=f"the streamer is {state}: {event} is not possible") as caught:
        made.fire(event, "cause")
    assert caught.value.kind == "illegal_state"
    assert (made.state, made.message) == (state, "as before")


@pytest.mark.parametrize(("state", "event"), sorted(TABLE))
def test_a_transition_is_logged_once_with_both_states_and_the_cause(
    state: State, event: Event, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    made = machine()
    made.state = state
    made.fire(event, "because")
    assert [record.getMessage() for record in caplog.records] == [
        f"{state} -> {TABLE[state, event]} ({event}): because"
    ]


def test_every_state_but_idle_leads_back_to_idle() -> None:
    reachable = {State.IDLE}
    for _ in State:
        reachable |= {old for (old, _), new in TABLE.items() if new in reachable}
    assert reachable == set(State)
