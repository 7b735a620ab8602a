from __future__ import annotations

import pytest

from penstock.streamer.camera.ring import Ring
from penstock.streamer.camera.unit import Overrun


class Reading:
    """ZeroMQ still reads the buffer until `done`."""

    done = False


def test_it_has_as_many_slots_as_fit_into_its_budget() -> None:
    assert Ring(100, 1050).slots == 10


def test_it_has_two_slots_however_small_the_budget() -> None:
    assert Ring(100, 1).slots == 2


def test_a_full_ring_is_an_overrun_that_says_how_many_buffers_wait() -> None:
    ring = Ring(100, 300)
    for _ in range(3):
        ring.acquire()
    with pytest.raises(Overrun, match="all 3 buffers of 100 bytes"):
        ring.acquire()
    assert ring.used == 3


def test_a_released_slot_is_given_out_again() -> None:
    ring = Ring(100, 200)
    first = ring.acquire()
    ring.acquire()
    ring.release(first)
    assert ring.acquire() == first


def test_a_slot_that_zeromq_still_reads_is_not_given_out() -> None:
    ring, tracker = Ring(100, 200), Reading()
    first = ring.acquire()
    ring.acquire()
    ring.release(first, tracker)
    assert ring.used == 2
    with pytest.raises(Overrun):
        ring.acquire()
    tracker.done = True
    assert ring.used == 1
    assert ring.acquire() == first


@pytest.mark.parametrize("size", [1, 63, 64, 65, 100_001])
def test_every_slot_begins_at_a_multiple_of_64_bytes(size: int) -> None:
    ring = Ring(size, 10 * size)
    assert [ring.memory(slot).ctypes.data % 64 for slot in range(10)] == [0] * 10
    assert {ring.memory(slot).nbytes for slot in range(10)} == {size}
    assert all(ring.memory(slot).flags.c_contiguous for slot in range(10))


def test_slots_do_not_overlap() -> None:
    ring = Ring(4, 12)
    for slot in range(3):
        ring.memory(slot)[:] = slot
    assert [ring.memory(slot).tolist() for slot in range(3)] == [[n] * 4 for n in range(3)]
