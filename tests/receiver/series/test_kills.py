"""What kills of the receiver have cost a series that was resumed each time: every gap is told once."""

from __future__ import annotations

import pytest

from penstock.receiver.models import FrameStatus
from penstock.receiver.series.account import Account
from penstock.receiver.series.kills import Interruption, told

ONCE = "the receiver was killed and restarted in the series: "


def closed(missing: set[int], frames: int = 60, planned: int | None = 60) -> Account:
    account = Account(planned)
    for index in range(frames):
        if index not in missing:
            account.take(index, FrameStatus.STORED)
    account.close(planned)
    return account


def test_who_ended_it_is_told() -> None:
    left = Interruption(10, 9, was_left=True)
    assert told([left], closed({10})) == [
        "the receiver was restarted in the series: at least 1 frame from index 10 on was lost"
    ]
    assert told([left, Interruption(20, 19), left], closed({10}))[0].startswith(
        "the receiver was restarted 3 times (1 of them after a kill) in the series: at least 1 frame"
    )


@pytest.mark.parametrize(
    ("missing", "kills", "said"),
    [
        ({10}, [(10, 9)], ONCE + "at least 1 frame from index 10 on was lost"),
        ({10, 11}, [(10, 9)], ONCE + "at least 2 frames from index 10 on were lost"),
        (set(), [(10, 9)], ONCE + "no frame was lost"),
        (set(), [(60, 59)], ONCE + "no frame came after that"),
        ({30}, [(10, 9)], ONCE + "which frames that cost is not known"),
        # Three kills before another frame came: one gap.
        (
            {10, 11, 12},
            [(10, 9), (10, 9), (10, 9)],
            "the receiver was killed and restarted 3 times in the series: at least 3 frames from index 10 on "
            "were lost",
        ),
        # The first gap stays the first index that is unknown to the file; the second kill has cost nothing.
        (
            {10, 11, 12, 33, 34},
            [(10, 9), (10, 22), (10, 32)],
            "the receiver was killed and restarted 3 times in the series: at least 3 frames from index 10 on "
            "and 2 frames from index 33 on were lost",
        ),
        (
            {10, 40},
            [(10, 9), (10, 39), (10, 59)],
            "the receiver was killed and restarted 3 times in the series: at least 1 frame from index 10 on "
            "and 1 frame from index 40 on were lost, no frame came after that",
        ),
        (
            {5, 15, 25, 35, 45, 55},
            [(5, 4), (5, 14), (5, 24), (5, 34), (5, 44), (5, 54)],
            "the receiver was killed and restarted 6 times in the series: at least 1 frame from index 5 on, "
            "1 frame from index 15 on, 1 frame from index 25 on, 1 frame from index 35 on and 2 frames at "
            "higher ones were lost",
        ),
    ],
)
def test_each_gap_is_told_once(missing: set[int], kills: list[tuple[int, int]], said: str) -> None:
    assert told([Interruption(*kill) for kill in kills], closed(missing)) == [said]
