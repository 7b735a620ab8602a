"""The HTTP process is told of a scan's frames at once, and of a detector's full rate ten times a second."""

from __future__ import annotations

import pytest

from penstock.receiver.process.data_process import TELL, Telling

TURN = 0.001
"""Seconds between two turns of the loop, at most."""


def told_at(arrivals: list[float], seconds: float) -> list[tuple[float, int]]:
    """When a loop that looks every millisecond tells, and of how many frames."""
    telling, told, received = Telling(), [], 0
    for turn in range(round(seconds / TURN)):
        now = 100.0 + turn * TURN
        received += sum(1 for each in arrivals if turn == round(each / TURN))
        if telling.is_due(now, received):
            telling.told(now, received)
            told.append((round(turn * TURN, 3), received))
    return told


@pytest.mark.parametrize("period", [0.04, 0.07, 0.3, 2.0])
def test_each_frame_of_a_slow_series_is_told_in_the_turn_in_which_it_came(period: float) -> None:
    arrivals = [0.013 + number * period for number in range(int(4 / period))]
    told = told_at(arrivals, 4.1)
    for number, arrival in enumerate(arrivals, 1):
        at = next(at for at, received in told if received == number)
        assert at - arrival < 2 * TURN


@pytest.mark.parametrize(("rate", "most"), [(100, 40), (200, 11), (1000, 11)])
def test_at_rates_there_are_no_more_snapshots_than_before(rate: int, most: int) -> None:
    arrivals = [number / rate for number in range(4 * rate)]
    told = [at for at, _ in told_at(arrivals, 4.0) if at >= 1.0]
    assert len(told) / 3 <= most


def test_what_is_not_told_at_once_is_told_within_a_tenth_of_a_second() -> None:
    burst = [1.0 + number * 0.002 for number in range(10)]
    told = told_at(burst, 2.0)
    assert next(at for at, received in told if received == 10) <= burst[-1] + TELL + 2 * TURN
