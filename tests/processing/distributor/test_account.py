"""The account: what may happen to a frame, and that the counts add up at every moment."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from penstock.processing.distributor.account import FINAL, TABLE, Account, AccountError, Event, State


def total(account: Account) -> int:
    counts = asdict(account.counts)
    return sum(counts.values()) - counts["frames"]


def some(*indices: int) -> np.ndarray:
    return np.array(indices, np.int64)


def test_nothing_leaves_a_final_state() -> None:
    assert not {state for state, _ in TABLE} & set(FINAL)


def test_every_state_that_is_not_final_is_left_and_reached() -> None:
    inner = set(State) - set(FINAL)
    assert {state for state, _ in TABLE} == inner
    assert set(TABLE.values()) == set(State)


@pytest.mark.parametrize("state", list(State))
@pytest.mark.parametrize("event", list(Event))
def test_what_is_not_in_the_table_is_refused_and_changes_nothing(state: State, event: Event) -> None:
    account = Account(3)
    account._states[:] = state  # each state, however it was reached
    if (state, event) in TABLE:
        account.happens(event, some(0, 2))
        assert [State(each) for each in account.states] == [TABLE[state, event], state, TABLE[state, event]]
    else:
        with pytest.raises(AccountError, match=f"frame 0 is {state.name.lower()}"):
            account.happens(event, some(0, 2))
        assert (account.states == state).all()


def test_counts_add_up_to_what_is_planned() -> None:
    account = Account(10)
    account.happens(Event.COMES, np.arange(6))
    account.happens(Event.GIVEN, np.arange(4))
    account.happens(Event.DONE, some(0, 1))
    account.happens(Event.HELD, some(2))
    account.happens(Event.ABSENT, some(9))
    counts = account.counts
    assert (counts.frames, counts.pending, counts.queued, counts.in_work) == (10, 3, 2, 1)
    assert (counts.held, counts.done, counts.absent) == (1, 2, 1)
    assert account.open == 4 and total(account) == 10


def test_without_a_plan_there_are_as_many_as_the_highest_index_says() -> None:
    account = Account(None)
    assert account.counts.frames == 0
    assert account.expected([3, 100_000]) == [True, True]
    assert account.frames == 100_001
    account.happens(Event.COMES, some(3, 100_000))
    assert account.counts.pending == 99_999 and total(account) == 100_001


def test_a_frame_is_expected_once_and_within_the_plan() -> None:
    account = Account(5)
    assert account.expected([0, 1, 1, 5, -1, 2]) == [True, True, False, False, False, True]
    account.happens(Event.COMES, some(1))
    assert account.expected([0, 1]) == [True, False]
    assert account.expected([]) == []


def test_states_of_an_earlier_distributor_are_taken_over_if_they_are_final() -> None:
    account = Account(None)
    account.restore(np.array([1, 2, 255, 16, 5, 255, 255], np.uint8))
    assert account.states.tolist() == [1, 2, 255, 255, 5]
    assert account.counts.done == account.counts.failed == account.counts.absent == 1
    assert account.counts.pending == 2 and total(account) == 5


def test_the_page_shows_the_table() -> None:
    page = Path(__file__).parents[3].joinpath("docs/explanation/live-processing.md").read_text()
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    words = {state: state.name.lower().replace("_", " ") for state in State}
    expected = [[words[state], event.value, words[after]] for (state, event), after in TABLE.items()]
    assert sorted(row for row in rows if row in expected) == sorted(expected)
    of_states = [row for row in rows if len(row) == 3 and row[2] in words.values()]
    assert len(of_states) == len(expected)


def test_an_index_far_beyond_all_others_takes_no_memory_and_is_not_expected() -> None:
    account = Account(None)
    assert account.expected([0, 2**31 - 1, 5]) == [True, False, True]
    assert account.frames == 6 and len(account.states) == 6
    assert account.expected([2**40]) == [False] and account.frames == 6
    assert account.expected([5 + 2**24]) == [True], "as far as a receiver takes them"
