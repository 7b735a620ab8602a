"""Series from the records of a driver that others arm, whatever the order in which updates come."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable
from typing import TypeAlias

from penstock.bridges.epics.gateway.acquisitions import Acquisitions, Began, Ended, State
from penstock.stins.messages import EndReason


def at_rest(counter: int = 0) -> Acquisitions:
    """A driver that does nothing."""
    machine = Acquisitions()
    assert not list(machine.counted(counter, 1.0))
    assert not list(machine.acquires(False, 0.5))
    assert machine.state is State.IDLE
    return machine


def begun(planned: int | None = 5, counter: int = 0) -> Acquisitions:
    """An acquisition that runs."""
    machine = at_rest(counter)
    assert list(machine.acquires(True, 5.0)) == [Began(5.0)]
    machine.planned = planned
    return machine


def ended(machine: Acquisitions, counter: int, images: int) -> Ended:
    """It stops, and no more comes."""
    assert not list(machine.acquires(False, 9.0))
    machine.stopped(counter, images)
    (found,) = machine.settle()
    assert isinstance(found, Ended)
    return found


def test_the_counter_before_acquire_makes_the_first_index_exact_and_at_the_end_the_last_one() -> None:
    machine = begun(5, counter=10)
    assert [machine.index(number) for number in (12, 14)] == [1, 3]
    assert ended(machine, 15, 5) == Ended(5, EndReason.COMPLETE)
    assert machine.state is State.IDLE


def test_the_first_update_after_connecting_and_an_array_of_before_are_of_no_series() -> None:
    machine = begun(5, counter=10)
    assert machine.index(10) is None
    assert machine.index(11) == 0
    assert machine.index(11) is None


def test_an_acquisition_that_ends_early_says_so_and_one_without_a_frame_is_missing_as_a_whole() -> None:
    early = ended(begun(5), 2, 2)
    assert (early.triggered, early.reason) == (2, EndReason.STOP)
    assert early.message == "the acquisition was ended after 2 of 5 frames"
    assert ended(begun(3), 3, 3) == Ended(3, EndReason.COMPLETE)
    assert ended(begun(None), 0, 0) == Ended(0, EndReason.COMPLETE)


def test_an_acquisition_whose_begin_was_not_seen_is_not_taken() -> None:
    machine = Acquisitions()
    list(machine.counted(40, 1.0))
    list(machine.acquires(True, 1.0))
    assert (machine.state, machine.index(41)) == (State.FOREIGN, None)
    list(machine.counted(50, 2.0))
    list(machine.acquires(False, 2.5))
    assert list(machine.acquires(True, 3.0)) == [Began(3.0)]
    assert machine.index(51) == 0


def test_a_counter_that_was_reset_before_acquire_may_be_told_after_it() -> None:
    machine = begun(5, counter=100)
    assert not list(machine.counted(0, 4.9))
    assert machine.index(1) == 0
    machine = begun(5, counter=100)
    assert not list(machine.counted(0, 5.1))  # of the IOC's callback thread, a moment later
    assert machine.index(1) == 0


def test_a_counter_that_is_reset_at_rest_is_the_one_before() -> None:
    machine = at_rest(100)
    list(machine.counted(0, 4.0))
    list(machine.acquires(True, 5.0))
    assert machine.index(3) == 2


def test_the_first_frames_may_be_counted_before_acquire_is_told() -> None:
    machine = at_rest(10)
    for counter, stamp in ((11, 5.01), (12, 5.02)):
        list(machine.counted(counter, stamp))
    assert machine.is_ahead(11)  # it waits for the begin
    list(machine.acquires(True, 5.0))
    assert [machine.index(number) for number in (11, 12)] == [0, 1]


def test_a_counter_that_is_set_back_in_the_acquisition_ends_it_and_the_next_one_is_taken() -> None:
    machine = begun(5)
    assert machine.index(1) == 0
    assert not list(machine.counted(-3, 6.0))
    assert machine.is_ahead(-2)  # nothing more is taken
    assert not list(machine.counted(-2, 7.0))
    found = ended(machine, -2, 2)
    assert (found.reason, found.message) == (
        EndReason.FAULT, "ArrayCounter_RBV was set back to -3 in the acquisition"
    )  # fmt: skip
    list(machine.acquires(True, 10.0))
    assert machine.index(-1) == 0


def test_a_counter_that_is_reset_behind_the_end_may_be_told_before_it() -> None:
    machine = begun(2)
    assert [machine.index(1), machine.index(2)] == [0, 1]
    for counter, stamp in ((1, 6.0), (2, 7.0), (0, 9.5)):
        list(machine.counted(counter, stamp))
    assert machine.is_ahead(1)
    assert ended(machine, 0, 2) == Ended(2, EndReason.COMPLETE)


def test_counts_that_differ_make_indices_uncertain() -> None:
    found = ended(begun(5), 5, 4)
    assert found.reason is EndReason.FAULT
    assert "counted 4 images (NumImagesCounter_RBV), and its arrays 5 (ArrayCounter_RBV)" in found.message
    found = ended(begun(3), 4, 4)
    assert found.reason is EndReason.FAULT
    assert found.message.startswith("4 frames came, where the driver has taken 4 (NumImages 3)")


def test_the_ioc_that_is_lost_ends_the_series_and_nothing_else() -> None:
    machine = begun(5)
    machine.index(1)
    (found,) = machine.lost()
    assert found == Ended(1, EndReason.FAULT, "the IOC is lost at index 1: start it again")
    assert machine.state is State.AWAY and not list(machine.lost())


def test_the_counter_wraps() -> None:
    machine = begun(4, counter=2**31 - 2)
    numbers = (2**31 - 1, -(2**31), -(2**31) + 1, -(2**31) + 2)
    assert [machine.index(number) for number in numbers] == [0, 1, 2, 3]
    assert ended(machine, -(2**31) + 2, 4).reason is EndReason.COMPLETE


def test_a_counter_that_is_told_behind_the_first_frames_makes_indices_uncertain() -> None:
    machine = begun(5, counter=10)
    assert machine.index(111) == 100
    (found,) = machine.counted(110, 4.9)
    assert isinstance(found, Ended) and found.reason is EndReason.FAULT
    assert found.message.startswith("ArrayCounter_RBV was 110 before the first frame")


Made: TypeAlias = tuple[int, EndReason, list[int]]
"""Frames taken, how the series ended, and the indices of the frames that came."""


class Told:
    """What a driver does, told in any order: of each record, and of the arrays, in theirs. But what was
    counted before Acquire changed is told before that."""

    def __init__(self, dice: random.Random) -> None:
        self.acquire: deque[tuple[bool, float]] = deque([(False, 0.0)])
        self.counter: deque[tuple[int, float]] = deque([(7, 0.0)])
        self.arrays: deque[int] = deque()
        self.truth: list[tuple[int, list[int]]] = []
        """Of each acquisition how many frames were taken, and which indices were not lost."""
        now, counter = 1.0, 7
        for _ in range(dice.randint(1, 5)):
            if dice.random() < 0.3:
                counter, now = counter + 100, now + 0.01
                self.counter.append((counter, now))
            now += 0.01
            self.acquire.append((True, now))
            kept = []
            frames = dice.randint(0, 6)
            for index in range(frames):
                counter, now = counter + 1, now + 0.01
                if dice.random() < 0.7:
                    self.arrays.append(counter)
                    kept.append(index)
                self.counter.append((counter, now))
            now += 0.01
            self.acquire.append((False, now))
            self.truth.append((frames, kept))


def listened(told: Told, planned: list[int] | None, dice: random.Random) -> list[Made]:
    """Return the series that are made of it, as the gateway does."""
    machine, found, indices = Acquisitions(), list[Made](), list[int]()

    def take(events: Iterable[Began | Ended]) -> None:
        for event in events:
            if isinstance(event, Ended):
                found.append((event.triggered, event.reason, list(indices)))
            else:
                machine.planned = None if planned is None else planned[len(found)]
            indices.clear()

    while told.acquire or told.counter or told.arrays or machine.state is State.ENDING:
        which = dice.choice("ca" if machine.state is State.AWAY else "acf")
        if which == "c" and told.counter:
            take(machine.counted(*told.counter.popleft()))
        elif which == "a" and told.acquire and not machine.is_waiting:
            if not told.counter or told.counter[0][1] > told.acquire[0][1]:
                take(machine.acquires(*told.acquire.popleft()))
        elif which == "f" and told.arrays:
            number = told.arrays[0]
            if machine.is_ahead(number) and machine.state is State.ENDING:
                take(machine.settle())
            if machine.is_ahead(number) and told.acquire:
                continue  # it waits for the begin
            told.arrays.popleft()
            if (index := machine.index(number)) is not None:
                indices.append(index)
        if machine.state is State.ENDING and not told.arrays:
            take(machine.settle())
    return found


def test_whatever_the_order_each_series_has_its_frames_at_their_index() -> None:
    for seed in range(300):
        dice = random.Random(seed)
        told = Told(dice)
        found = listened(told, [frames for frames, _ in told.truth], dice)
        assert [(taken, indices) for taken, _, indices in found] == told.truth, seed
        assert {reason for _, reason, _ in found} == {EndReason.COMPLETE}, seed


def test_of_a_series_without_a_planned_number_what_cannot_be_told_apart_is_a_fault() -> None:
    for seed in range(300):
        dice = random.Random(seed)
        told = Told(dice)
        found = listened(told, None, dice)
        for (taken, reason, indices), (frames, kept) in zip(found, told.truth, strict=True):
            # A frame that was taken for one of the series before, which is a fault, is missing in its own.
            assert reason is EndReason.FAULT or (taken == frames and set(indices) <= set(kept)), (seed, found)
