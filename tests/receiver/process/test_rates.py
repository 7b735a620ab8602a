"""Frames and bytes a second."""

from __future__ import annotations

from penstock.receiver.process.stage_times import Rates


def test_rates_are_those_of_the_last_whole_second_or_longer() -> None:
    rates = Rates(10.0)
    assert rates.at(10.5, 50, 500) == (0.0, 0.0)
    assert rates.at(12.0, 200, 4_000) == (100.0, 2_000.0)
    assert rates.at(12.9, 900, 90_000) == (100.0, 2_000.0)
    assert rates.at(16.0, 200, 4_000) == (0.0, 0.0)
