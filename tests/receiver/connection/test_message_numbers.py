"""Numbers of messages in any order, against a set."""

from __future__ import annotations

import random

import pytest

from penstock.receiver.connection import numbering
from penstock.receiver.connection.numbering import MessageNumbers


@pytest.mark.parametrize("seed", range(200))
def test_numbers_that_came_twice_count_once_whatever_their_order(seed: int) -> None:
    chance = random.Random(seed)
    numbers, known = MessageNumbers(), set()
    for place in range(chance.randrange(200)):
        number = max(0, place + chance.randint(-chance.choice([0, 3, 50]), 3))
        numbers.take(number)
        known.add(number)
        assert numbers.count == len(known)


def test_a_stream_in_order_is_one_range() -> None:
    numbers = MessageNumbers()
    for number in range(7, 1000):
        numbers.take(number)
    assert (numbers.count, numbers._starts, numbers._stops) == (993, [7], [1000])


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbering, "MOST_RANGES", 10)
    numbers = MessageNumbers()
    for number in range(0, 2**53, 2**48):
        numbers.take(number)
    assert (numbers.count, len(numbers._starts)) == (10, 10)


def test_any_number_may_be_the_first() -> None:
    for number in (-1, 0, 2**53):
        numbers = MessageNumbers()
        numbers.take(number)
        assert (numbers.count, numbers.first, numbers.highest) == (1, number, number)
