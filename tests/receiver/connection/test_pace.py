"""How long messages may gather."""

from __future__ import annotations

import pytest

from penstock.receiver.connection.ingest import REST_SECONDS, Pace


def rests(holds: int, *turns: tuple[float, int]) -> float:
    """Return the rest right after the last of some turns: seconds since the one before, and messages."""
    pace, now = Pace(holds), 100.0
    for since, messages in turns:
        now += since
        pace.turn(now, messages)
    return pace.rest(now)


def test_small_messages_in_quick_succession_gather() -> None:
    assert rests(64, (1.0, 1), (0.001, 1)) == pytest.approx(REST_SECONDS)
    assert rests(64, (1.0, 1), (0.001, 1), (0.002, 3)) == pytest.approx(REST_SECONDS)


def test_a_sender_never_waits_for_room_while_they_gather() -> None:
    """At 100,000 per second, a quarter of 64 come in 160 microseconds."""
    assert rests(64, (1.0, 1), (0.0001, 10)) == pytest.approx(0.00016)


@pytest.mark.parametrize("turns", [[(1.0, 1)], [(1.0, 1), (0.01, 1)], [(1.0, 1), (0.003, 1)], [(1.0, 0)]])
def test_messages_that_come_rarely_are_not_waited_for(turns: list[tuple[float, int]]) -> None:
    assert rests(64, *turns) == 0.0


@pytest.mark.parametrize("holds", [0, 1, 8])
def test_a_socket_that_holds_few_messages_is_read_at_once(holds: int) -> None:
    assert rests(holds, (1.0, 1), (0.0001, 1)) == 0.0


def test_a_rest_is_over_some_time() -> None:
    pace = Pace(64)
    pace.turn(1.0, 1)
    pace.turn(1.001, 1)
    assert pace.rest(1.002) == pytest.approx(REST_SECONDS - 0.001) and pace.rest(1.1) == 0.0
