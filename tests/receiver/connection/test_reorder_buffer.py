"""Messages of several sockets, in the order of sending: each line of the table of `reorder_buffer`."""

from __future__ import annotations

import random
from collections import deque

import pytest

from penstock.receiver.connection.reorder_buffer import FIRST_SECONDS, ReorderBuffer, held_bytes
from penstock.stins.messages import Message
from tests.receiver.sample_series import end, frame, start

SECONDS = 2.0
ROOM = 1e6


class Bench:
    """A buffer, its clock, and what has come out of it."""

    def __init__(self, most_bytes: float = ROOM) -> None:
        self.buffer = ReorderBuffer(SECONDS, most_bytes, sockets=2)
        self.now = 1000.0
        self.out: list[Message] = []

    def put(self, *messages: Message, socket: int = 0) -> None:
        for message in messages:
            self.out += self.buffer.put(message, socket, self.now)
            self.release()

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.release()

    def release(self) -> None:
        while (message := self.buffer.release(self.now)) is not None:
            self.out.append(message)

    @property
    def numbers(self) -> list[int | None]:
        return [number(message) for message in self.out]


def number(message: Message) -> int | None:
    head = getattr(message, "header", None) or getattr(message, "image", message)
    return head.msg_number  # type: ignore[no-any-return]


def begun() -> Bench:
    """A session of which number 0 has come."""
    bench = Bench()
    bench.put(start(0))
    return bench


def test_the_expected_number_passes_at_once_and_counts_nothing() -> None:
    bench = begun()
    for place in range(1, 10):
        bench.put(frame(place, place))
        assert bench.buffer.nbytes == 0
    assert bench.numbers == list(range(10))


def test_a_higher_number_waits_for_those_before_it() -> None:
    bench = begun()
    bench.put(frame(2, 3), frame(1, 2))
    assert (bench.numbers, bench.buffer.nbytes) == ([0], 2 * held_bytes(frame(0, 1)))
    bench.put(frame(0, 1))
    assert (bench.numbers, bench.buffer.nbytes) == ([0, 1, 2, 3], 0)


def test_only_the_expected_number_lets_those_go_that_wait_and_passes_before_them() -> None:
    bench = begun()
    assert bench.buffer.put(frame(1, 2), 0, bench.now) == [] and not bench.buffer.may_release
    assert bench.buffer.put(expected := frame(0, 1), 1, bench.now) == [expected]
    assert bench.buffer.may_release
    bench.release()
    assert bench.numbers == [0, 2] and not bench.buffer.may_release
    bench.put(*(frame(place, place + 3) for place in range(1, int(ROOM / held_bytes(frame(1, 1))) + 2)))
    assert bench.buffer.nbytes > ROOM and bench.buffer.may_release, "a socket may have to be held back"


def test_a_number_that_does_not_come_is_waited_for_as_long_as_the_gap_clock_runs() -> None:
    bench = begun()
    bench.put(frame(1, 2))
    bench.wait(1.0)
    bench.put(frame(3, 4))
    bench.wait(SECONDS - 1.1)
    assert bench.numbers == [0]
    bench.wait(0.2)
    assert bench.numbers == [0, 2]
    bench.wait(1.0)
    assert bench.numbers == [0, 2, 4], "each gap has its own time"


def test_a_lower_number_is_late_and_passes() -> None:
    bench = begun()
    bench.put(frame(1, 2))
    bench.wait(SECONDS + 0.1)
    bench.put(frame(0, 1), frame(2, 3))
    assert bench.numbers == [0, 2, 1, 3]


def test_a_start_message_of_a_lower_number_begins_a_new_session() -> None:
    bench = begun()
    bench.put(frame(0, 1), frame(2, 3), start(0, "b"), frame(0, 1, "b"))
    assert bench.numbers == [0, 1, 3, 0, 1], "what waited belongs to the session before"


def test_the_same_start_message_once_more_begins_none() -> None:
    bench = begun()
    bench.put(frame(0, 1), start(0), frame(1, 2))
    assert bench.numbers == [0, 1, 0, 2]


def test_a_first_start_message_of_another_number_waits_until_every_socket_has_been_read() -> None:
    bench = Bench()
    bench.put(frame(0, 42), start(41))
    bench.wait(FIRST_SECONDS - 0.1)
    assert bench.numbers == []
    bench.put(start(37, "before"), frame(0, 38, "before"))
    bench.wait(FIRST_SECONDS + 0.1)
    assert bench.numbers == [37, 38]
    bench.wait(SECONDS)
    assert bench.numbers == [37, 38, 41, 42]


def test_frames_of_a_first_session_wait_for_their_start_message() -> None:
    bench = Bench()
    bench.put(frame(1, 2), frame(0, 1))
    bench.wait(SECONDS - 0.1)
    assert bench.numbers == []
    bench.put(start(0))
    assert bench.numbers == [0, 1, 2]


def test_a_streamer_that_was_only_connected_again_goes_on_after_a_moment() -> None:
    bench = begun()
    bench.put(frame(0, 1), frame(2, 3))
    assert [number(left) for left in bench.buffer.end_session()] == [3]
    bench.put(frame(4, 5), frame(3, 4))
    assert bench.numbers == [0, 1]
    bench.wait(FIRST_SECONDS + 0.1)
    assert bench.numbers == [0, 1, 4, 5]


def test_after_a_lost_connection_a_number_that_has_been_is_of_another_streamer() -> None:
    bench = begun()
    bench.put(*(frame(place, place + 1) for place in range(5)))
    bench.buffer.end_session()
    bench.put(frame(0, 1, "b"))
    bench.wait(SECONDS - 0.1)
    assert len(bench.out) == 6
    bench.put(start(0, "b"))
    assert bench.numbers[6:] == [0, 1]


def test_what_has_no_number_passes() -> None:
    bench = begun()
    bench.put(frame(1, 2), frame(7, None), end(None))
    assert bench.numbers == [0, None, None]


def test_while_it_is_full_the_socket_that_is_ahead_is_held_back_and_no_other() -> None:
    bench = Bench(1.5 * held_bytes(frame(0, 1)))
    bench.put(start(0), socket=1)
    bench.put(frame(1, 2))
    assert bench.buffer.held_back == set()
    bench.put(frame(2, 3))
    assert bench.buffer.held_back == {0}
    bench.put(frame(0, 1), socket=1)
    assert (bench.buffer.held_back, bench.numbers) == (set(), [0, 1, 2, 3])


def test_while_it_is_full_nothing_waits_for_what_no_socket_can_deliver_any_more() -> None:
    bench = Bench(1.5 * held_bytes(frame(0, 1)))
    bench.put(start(0), frame(1, 2))
    bench.put(frame(2, 3), socket=1)
    assert bench.numbers == [0, 2, 3]


def test_what_a_socket_delivered_in_an_earlier_session_does_not_hold_it_back() -> None:
    bench = Bench(0.5 * held_bytes(frame(0, 1)))
    bench.put(*(frame(place, place + 1) for place in range(5)), socket=1)
    bench.put(start(0), start(0, "b"))
    bench.wait(FIRST_SECONDS + 0.1)
    bench.put(frame(1, 2, "b"))
    assert bench.buffer.held_back == {0}


def test_what_is_forgotten_is_counted_and_any_number_is_taken_then() -> None:
    bench = begun()
    bench.put(frame(1, 2), frame(2, 3))
    assert (bench.buffer.forget(), bench.buffer.nbytes, bench.buffer.release(bench.now + 9)) == (2, 0, None)
    bench.put(start(7))
    bench.wait(FIRST_SECONDS + 0.1)
    assert bench.numbers == [0, 7]


@pytest.mark.parametrize("seed", range(100))
def test_whatever_the_sockets_order_that_of_sending_comes_out(seed: int) -> None:
    chance, bench = random.Random(seed), Bench()
    sent: list[Message] = [start(0), *(frame(place, place + 1) for place in range(chance.randrange(300)))]
    count = chance.choice([2, 3, 8])
    sockets = [deque(sent[first::count]) for first in range(count)]
    while any(sockets):
        socket = chance.choice([socket for socket in sockets if socket])
        for _ in range(min(len(socket), chance.choice([1, 2, 50]))):
            bench.put(socket.popleft())
    assert (bench.numbers, bench.buffer.nbytes) == (list(range(len(sent))), 0)
