"""The account: what may happen to a frame, and that the counts add up at every moment."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from penstock.processing.distributor.frames.account import (
    FINAL,
    TABLE,
    Account,
    AccountError,
    Event,
    State,
    rest_of,
)
from penstock.processing.results.rows import Beyond


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
    page = Path(__file__).parents[4].joinpath("docs/explanation/live-processing.md").read_text()
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    words = {state: state.name.lower().replace("_", " ") for state in State}
    expected = [[words[state], event.value, words[after]] for (state, event), after in TABLE.items()]
    assert sorted(row for row in rows if row in expected) == sorted(expected)
    of_states = [row for row in rows if len(row) == 3 and row[2] in words.values()]
    assert len(of_states) == len(expected)


def test_of_very_many_planned_frames_each_has_a_state_as_far_as_they_came() -> None:
    account = Account(2**48)
    assert (account.frames, account.reach, account.counts.pending) == (2**48, 0, 2**48)
    assert account.expected([0, 1, 3]) == [True, True, True]
    for event in (Event.COMES, Event.GIVEN, Event.DONE):
        account.happens(event, some(0, 1, 3))
    assert account.states.tolist() == [1, 1, 255, 1] and account.beyond == (4, 2**48, 255)
    assert account.counts.pending == 2**48 - 3 and total(account) == 2**48
    account.happens(Event.ABSENT, account.indices(State.PENDING))
    account.close(Event.ABSENT)
    assert account.beyond == (4, 281_474_976_710_656, 5)
    assert account.counts.absent == account.made[State.ABSENT] == 281_474_976_710_653
    assert account.counts.pending == 0 and total(account) == 2**48
    account.close(Event.DROPPED)
    assert account.counts.dropped == 0, "what is final stays so"
    assert account.expected([4]) == [False] and account.reach == 4


@pytest.mark.parametrize(
    ("planned", "came", "rows"),
    [
        (100_000, (0, 1, 3), 4), (100_000, (), 0), (4100, (0, 3), 4), (4099, (0, 3), 4099),
        (100_000, (99_999,), 100_000),
    ],
    ids=["few came", "none", "few planned", "fewer", "the last"],
)  # fmt: skip
def test_what_was_planned_and_did_not_come_needs_no_row_at_the_end(
    planned: int, came: tuple[int, ...], rows: int
) -> None:
    account = Account(planned)
    assert account.without_rows() == account.beyond == (planned, planned, State.PENDING)
    for event in (Event.COMES, Event.GIVEN, Event.DONE):
        account.happens(event, some(*came))
    account.happens(Event.ABSENT, account.indices(State.PENDING))
    account.close(Event.ABSENT)
    left = State.ABSENT if rows < planned else State.PENDING
    assert account.without_rows() == (rows, planned, left)
    assert account.reach == planned and total(account) == planned, "it still knows each of them"
    again = Account(planned)
    again.restore(account.states[:rows], account.without_rows())
    assert again.counts == account.counts and again.states.tolist() == account.states.tolist()


@pytest.mark.parametrize(("planned", "reach"), [(2**22, 2**22), (2**22 + 1, 0), (None, 0)])
def test_so_many_frames_have_a_state_of_their_own_from_the_beginning(planned: int | None, reach: int) -> None:
    assert Account(planned).reach == reach


def test_what_an_earlier_distributor_has_finished_is_taken_over_with_the_frames_that_have_no_row() -> None:
    account = Account(2**48)
    account.restore(np.array([1, 1, 5, 2], np.uint8), Beyond(4, 2**48, 5))
    counts = account.counts
    assert (counts.done, counts.failed, counts.absent, counts.pending) == (2, 1, 2**48 - 3, 0)
    assert total(account) == 2**48 and set(account.made.values()) == {0}
    resumed = Account(2**48)
    resumed.restore(np.array([1, 1, 255, 1, 255, 255], np.uint8))
    assert resumed.beyond == (4, 2**48, 255) and resumed.counts.pending == 2**48 - 3


@pytest.mark.parametrize(
    ("absent", "frames", "found"),
    [
        ([], 10, (0, False)),
        ([(0, 9)], 10, (0, True)),
        ([(4, 9)], 10, (4, True)),
        ([(2, 3)], 10, (4, False)),
        ([(7, 9), (2, 2), (4, 6)], 10, (4, True)),
        ([(4, 99), (100, 2**48 - 1), (4, 2**48 - 1)], 2**48, (4, True)),
        ([(4, 20)], 10, (4, True)),
        ([(0, 4), (5, 8), (3, 9)], 10, (0, True)),
        ([], 0, (0, False)),
    ],
)
def test_the_last_frames_are_all_absent_or_none_is(
    absent: list[tuple[int, int]], frames: int, found: tuple[int, bool]
) -> None:
    assert rest_of(absent, frames) == found


def test_an_index_far_beyond_all_others_takes_no_memory_and_is_not_expected() -> None:
    account = Account(None)
    assert account.expected([0, 2**31 - 1, 5]) == [True, False, True]
    assert account.frames == 6 and len(account.states) == 6
    assert account.expected([2**40]) == [False] and account.frames == 6
    assert account.expected([5 + 2**24]) == [True], "as far as a receiver takes them"
    planned = Account(2**48)
    assert planned.expected([2**40, 2**24, 2, 2**48]) == [False, False, True, False]
    assert planned.reach == 3 and planned.frames == 2**48
    small = Account(5_000_000)
    assert small.expected([4_999_999, 5_000_000]) == [True, False], "not beyond the plan, either"
