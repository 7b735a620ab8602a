"""Every row of the table of states."""

from __future__ import annotations

import pytest

from penstock.cluster.kubernetes import Scale
from penstock.cluster.models import StateName
from penstock.cluster.states import TABLE, pods, state_of


@pytest.mark.parametrize(
    ("wanted", "running", "away", "answers"),
    [
        (0, 0, "off", "ending"),
        (0, 1, "ending", "ending"),
        (1, 0, "starting", "starting"),
        (4, 2, "starting", "starting"),
        (4, 4, "away", "running"),
        (2, 4, "ending", "ending"),
    ],
)
def test_a_state_follows_from_the_pods_and_whether_the_program_answers(
    wanted: int, running: int, away: StateName, answers: StateName
) -> None:
    scale = Scale(wanted, running)
    assert (wanted > 0, pods(scale)) in TABLE
    assert state_of(scale, answers=False) == away
    assert state_of(scale, answers=True) == answers


def test_what_was_just_started_is_not_away_and_what_was_taken_away_is_asleep() -> None:
    assert state_of(Scale(1, 1), answers=False, settles=True) == "starting"
    assert state_of(Scale(1, 1), answers=True, failed=True) == "error"
    assert state_of(Scale(0, 0), answers=False, asleep=True) == "asleep"
    assert state_of(Scale(0, 2), answers=False, asleep=True) == "ending"
    assert state_of(None, answers=True) == "unknown"
