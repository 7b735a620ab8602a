"""Who gets which frames; and a model of everything, which counts frame by frame."""

from __future__ import annotations

import heapq
import itertools
import random
from collections import Counter
from dataclasses import asdict

import pytest

from penstock.processing.distributor.frames.account import Account, State
from penstock.processing.distributor.frames.bunches import PATIENCE, Bunch, Item, Way
from penstock.processing.distributor.frames.schedule import ATTEMPTS, MOST_FRAMES, MOST_SECONDS, Schedule
from penstock.processing.wire import CREDITS


def items(*indices: int, nbytes: int = 100, shared: bool = True) -> list[Item]:
    return [Item(index, None, nbytes, shared) for index in indices]


def scheduled(
    frames: int | None = 1000, workers: int = 1, *, ordered: bool = False, **keys: bool
) -> tuple[Schedule, Account]:
    """A schedule with one series, 1, and workers that have processed a bunch each, without delay."""
    schedule, account = Schedule(**keys), Account(frames)
    schedule.ordered = ordered
    schedule.begin(1, account)
    for number in range(1, workers + 1):
        schedule.join(number, shares=True)
        schedule.workers[number].seconds = 0.0
    return schedule, account


def given(schedule: Schedule) -> list[Bunch]:
    return list(iter(schedule.next, None))


def indices(bunch: Bunch | None) -> list[int]:
    assert bunch is not None
    assert [item.index for item in bunch.items] == bunch.indices.tolist()
    return bunch.indices.tolist()


def test_a_worker_has_two_bunches_at_most() -> None:
    schedule, _ = scheduled()
    schedule.come(1, items(*range(300)))
    first, second = given(schedule)
    assert (indices(first), indices(second)) == (list(range(64)), list(range(64, 128)))
    schedule.settle(first)
    (third,) = given(schedule)
    assert indices(third) == list(range(128, 192))


def test_a_bunch_is_what_lies_there() -> None:
    schedule, _ = scheduled()
    assert schedule.next() is None
    schedule.come(1, items(0))
    assert indices(schedule.next()) == [0]


def test_the_queue_is_shared_between_the_workers() -> None:
    schedule, _ = scheduled(workers=4)
    for worker in schedule.workers.values():
        worker.seconds = 0.002
    schedule.come(1, items(*range(8)))
    found = given(schedule)
    assert {bunch.worker for bunch in found[:4]} == {1, 2, 3, 4}
    assert [len(bunch.items) for bunch in found] == [2, 2, 1, 1, 1, 1]


@pytest.mark.parametrize(("seconds", "sizes"), [(0.0, [64, 36]), (0.0001, [25, 19, 14, 11, 10, 10, 10, 1])])
def test_frames_that_take_next_to_no_time_are_not_divided(seconds: float, sizes: list[int]) -> None:
    schedule, _ = scheduled(workers=4)
    for worker in schedule.workers.values():
        worker.seconds = seconds
    schedule.come(1, items(*range(100)))
    assert [len(bunch.items) for bunch in given(schedule)] == sizes


def test_the_first_bunch_has_one_frame_and_slow_workers_get_few() -> None:
    schedule, _ = scheduled()
    schedule.join(7, shares=True)
    schedule.leave(1)
    schedule.come(1, items(*range(100)))
    first = schedule.next()
    assert indices(first) == [0] and first is not None
    schedule.settle(first, seconds=0.004)
    assert len(indices(schedule.next())) == 5


def test_a_worker_that_wants_frames_together_gets_them_if_so_many_wait() -> None:
    schedule, _ = scheduled(workers=0)
    schedule.join(1, shares=True, batch=32)
    schedule.come(1, items(*range(40)))
    assert [len(bunch.items) for bunch in given(schedule)] == [32, 8]


def test_bunches_by_value_are_small_and_go_to_those_who_cannot_read_the_memory() -> None:
    schedule, _ = scheduled()
    schedule.workers[1].shares = False
    schedule.come(1, items(*range(10), nbytes=900_000))
    bunch = schedule.next()
    assert indices(bunch) == [0, 1] and bunch is not None and bunch.way is Way.VALUE


def test_frames_by_reference_and_by_value_are_in_different_bunches() -> None:
    schedule, _ = scheduled()
    schedule.come(1, [*items(0, 1), *items(2, shared=False), *items(3)])
    found = given(schedule)
    assert [(indices(bunch), bunch.way) for bunch in found] == [([0, 1], Way.MEMORY), ([2], Way.VALUE)]


@pytest.mark.parametrize(
    ("is_here", "shares", "expected"),
    [
        (True, False, [([0, 1, 2], Way.FILE), ([3], Way.VALUE)]),
        (False, True, [([0, 1, 2], Way.FILE), ([3], Way.VALUE)]),
        (False, False, [([0, 1], Way.VALUE), ([2, 3], Way.VALUE)]),
    ],
    ids=["its socket is here", "it shares the memory", "elsewhere"],
)
def test_a_worker_of_this_machine_reads_what_lies_in_one_piece_in_a_file(
    is_here: bool, shares: bool, expected: list[tuple[list[int], Way]]
) -> None:
    schedule, _ = scheduled(workers=0)
    schedule.join(1, shares=shares, is_here=is_here)
    schedule.workers[1].seconds = 0.0
    recorded = items(0, 1, 2, 3, nbytes=900_000, shared=False)
    for item in recorded[:3]:
        item.located = "there"
    schedule.come(1, recorded, from_file=True)
    assert [(indices(bunch), bunch.way) for bunch in given(schedule)] == expected


def test_frames_of_a_file_that_a_worker_cannot_open_are_sent_in_their_order() -> None:
    schedule, account = scheduled(ordered=True)
    recorded = items(*range(200), shared=False)
    for item in recorded:
        item.located = "there"
    schedule.come(1, recorded, from_file=True)
    first, second = given(schedule)
    assert (first.way, second.way) == (Way.FILE, Way.FILE)

    assert schedule.unopened(first, 7.0), "it is said once"
    assert schedule.workers[1].since == 7.0
    (third,) = given(schedule)
    assert not schedule.unopened(second)
    came = indices(third)
    for bunch in iter(schedule.next, None):
        assert bunch.way is Way.VALUE
        came += indices(bunch)
        schedule.settle(bunch)
    assert came == list(range(200))
    schedule.settle(third)
    assert (account.counts.done, account.open) == (200, 0)

    schedule.end(1)
    schedule.begin(1, Account(1))
    (item,) = items(0, shared=False)
    item.located = "there"
    schedule.come(1, [item], from_file=True)
    assert [bunch.way for bunch in given(schedule)] == [Way.FILE], "of another series it may be able to"


def test_a_copy_and_a_frame_that_nobody_planned_are_counted_and_come_back() -> None:
    schedule, account = scheduled(frames=3)
    schedule.come(1, items(0, 1))
    others = schedule.come(1, items(1, 2, 3))
    assert [item.index for item in others] == [1, 3] and schedule.duplicates == 2
    assert account.counts.queued == 3


def test_while_frames_are_tried_alone_one_worker_is_spared_for_them_and_the_others_go_on() -> None:
    schedule, _ = scheduled(workers=3)
    for worker in schedule.workers.values():
        worker.seconds = 0.02
    schedule.come(1, items(*range(100)))
    busy = given(schedule)
    assert Counter(bunch.worker for bunch in busy) == {1: 2, 2: 2, 3: 2}
    schedule.leave(1)
    done = [bunch for bunch in busy if bunch.worker != 1]
    found: list[Bunch] = []
    while sum(bunch.alone for bunch in found) < 2:
        schedule.settle(done.pop(0), seconds=0.02)
        now = given(schedule)
        found, done = found + now, done + now
    alone, others = ({bunch.worker for bunch in found if bunch.alone is so} for so in (True, False))
    assert [bunch.items[0].index for bunch in found if bunch.alone] == [0, 3]
    assert len(alone) == 1 and others == {2, 3} - alone


def test_frames_of_a_dead_worker_are_tried_again_alone_and_before_others() -> None:
    schedule, account = scheduled(workers=2)
    schedule.come(1, items(*range(200)))
    dead, *_ = given(schedule)
    had = list(schedule.workers[dead.worker].work.values())
    (left,) = schedule.leave(dead.worker)
    assert len(left.again) == sum(len(bunch.items) for bunch in had) and not left.lost
    other = next(iter(schedule.workers.values()))
    assert schedule.next() is None  # it has two bunches: nobody is idle
    for bunch in list(other.work.values()):
        schedule.settle(bunch)
    alone = schedule.next()
    assert alone is not None and alone.alone and indices(alone) == [min(had[0].indices)]
    assert schedule.next() is None  # it has nothing else meanwhile
    assert account.counts.lost == 0


def test_a_frame_that_kills_its_workers_is_lost_and_no_other() -> None:
    schedule, account = scheduled(frames=100, workers=3)
    schedule.come(1, items(*range(100)))
    numbers, deaths = itertools.count(10), 0
    while account.open:
        bunch = schedule.next()
        if bunch is None:
            bunch = next(each for worker in schedule.workers.values() for each in worker.work.values())
        if 42 in bunch.indices:
            deaths += 1
            schedule.leave(bunch.worker)
            schedule.join(next(numbers), shares=True)
        else:
            schedule.settle(bunch)
    counts = account.counts
    assert (counts.done, counts.lost, deaths) == (99, 1, ATTEMPTS)
    assert account.indices(State.LOST).tolist() == [42]


def test_without_retry_frames_of_a_dead_worker_are_lost() -> None:
    schedule, account = scheduled(retry=False)
    schedule.come(1, items(*range(10)))
    schedule.next()
    (left,) = schedule.leave(1)
    assert [item.index for item in left.lost] == list(range(10)) and account.counts.lost == 10


@pytest.mark.parametrize("retry", [True, False])
def test_frames_that_a_worker_has_not_begun_when_it_says_goodbye_are_given_to_others_as_if_new(
    retry: bool,
) -> None:
    schedule, account = scheduled(workers=2, retry=retry)
    schedule.come(1, items(*range(300)))
    bunches = given(schedule)
    had = sorted(index for bunch in bunches if bunch.worker == 1 for index in indices(bunch))
    (left,) = schedule.leave(1, died=False)
    assert [item.index for item in left.again] == had and not left.lost
    assert account.counts.lost == 0
    schedule.settle(next(bunch for bunch in bunches if bunch.worker == 2))
    (bunch,) = given(schedule)
    assert indices(bunch) == had[: len(bunch.items)] and not bunch.alone


def test_held_frames_of_a_dead_worker_are_done_again_and_count_no_death() -> None:
    schedule, account = scheduled()
    schedule.come(1, items(*range(10)))
    bunch = schedule.next()
    assert bunch is not None
    settled = schedule.settle(bunch, failed=[3], held=True)
    assert [item.index for item in settled.final] == [3] and account.counts.held == 9
    schedule.leave(1)
    assert account.counts.queued == 9
    schedule.join(2, shares=True)
    schedule.workers[2].seconds = 0.0
    again = schedule.next()
    assert again is not None and indices(again) == [0, 1, 2, *range(4, 10)] and not again.alone
    assert all(item.deaths == 0 for item in again.items)


def test_what_is_handed_over_is_done() -> None:
    schedule, account = scheduled()
    came = items(*range(10))
    for item in came[:8]:
        item.content = "in memory"
    schedule.come(1, came)
    bunch = schedule.next()
    assert bunch is not None
    schedule.settle(bunch, held=True)
    # The other two are in a file, and take no memory.
    assert schedule.workers[1].held_frames == 8 and schedule.workers[1].held_bytes == 800
    (back,) = schedule.handed_over(1, 1, [bunch.number, 999])
    assert back.number == bunch.number and account.counts.done == 10
    assert schedule.workers[1].held_frames == schedule.workers[1].held_bytes == 0


def test_answers_of_who_does_not_have_the_bunch_change_nothing() -> None:
    schedule, _ = scheduled(workers=2)
    schedule.come(1, items(0))
    bunch = schedule.next()
    assert bunch is not None
    other = 3 - bunch.worker
    assert schedule.owned(other, 1, bunch.number) is None
    assert schedule.owned(bunch.worker, 2, bunch.number) is None
    assert schedule.owned(bunch.worker, 1, bunch.number) is bunch
    schedule.leave(bunch.worker)
    before = schedule.stray
    assert schedule.owned(bunch.worker, 1, bunch.number) is None
    assert schedule.stray == before + 1


def test_what_a_worker_that_is_gone_has_done_is_stray_frame_by_frame_and_once() -> None:
    schedule, account = scheduled(workers=2)
    schedule.come(1, items(*range(20)))
    for worker in schedule.workers.values():
        worker.seconds = 0.004  # five frames are 20 ms
    bunches = [schedule.next(), schedule.next()]
    assert all(bunch is not None for bunch in bunches)
    gone, stays = bunches
    schedule.leave(gone.worker)
    schedule.lost_workers.late(gone.worker, [gone.number, stays.number, 999])
    assert schedule.stray == len(gone.items) == 5
    schedule.lost_workers.late(gone.worker, [gone.number])
    assert schedule.owned(gone.worker, 1, gone.number) is None
    assert schedule.stray == 5 and account.counts.queued == 20 - len(stays.items)


def test_results_of_frames_that_were_dropped_are_stray() -> None:
    schedule, _ = scheduled()
    schedule.come(1, items(0))
    bunch = schedule.next()
    assert bunch is not None
    schedule.drop(1)
    assert schedule.owned(bunch.worker, 1, bunch.number) is None
    assert schedule.stray == 1


def test_of_a_worker_that_is_gone_it_is_known_when_others_have_its_frames() -> None:
    schedule, _ = scheduled(workers=2)
    schedule.come(1, items(*range(20)))
    for worker in schedule.workers.values():
        worker.seconds = 0.010  # two frames are 20 ms
    first, second = schedule.next(now=1.0), schedule.next(now=1.0)
    assert first is not None and second is not None
    schedule.leave(first.worker, now=5.0)
    (departure,) = schedule.lost_workers.last
    assert (departure.number, departure.frames, departure.waiting) == (first.worker, 2, 2)
    assert schedule.next(now=5.5) is None, "the other one is to have nothing else"
    for now in (6.0, 7.0):
        for bunch in list(schedule.workers[second.worker].work.values()):
            schedule.settle(bunch)
        given = schedule.next(now=now)
        assert given is not None and given.alone
    assert (departure.waiting, departure.seconds) == (0, 2.0)


def test_a_worker_that_says_goodbye_is_not_said_to_be_gone() -> None:
    schedule, _ = scheduled()
    schedule.leave(1, died=False)
    assert not schedule.lost_workers.last


def test_what_the_receiver_has_taken_back_is_pending() -> None:
    schedule, account = scheduled()
    schedule.come(1, [*items(*range(10)), *items(10, shared=False)])
    bunch = schedule.next()
    assert bunch is not None
    schedule.come(1, items(11, 12))
    schedule.take_back(1)
    settled = schedule.settle(bunch, unread=range(4, len(bunch.items)))
    assert len(settled.final) == 4 and len(settled.unread) == len(bunch.items) - 4
    assert account.counts.done == 4 and account.counts.queued == 1
    assert not schedule.come(1, items(11)) and account.counts.queued == 2


def test_frames_of_the_file_wait_for_those_in_memory() -> None:
    schedule, _ = scheduled()
    schedule.come(1, items(*range(10)), from_file=True)
    schedule.begin(2, Account(None))
    schedule.come(2, items(0, 1))
    assert [(bunch.series, len(bunch.items)) for bunch in given(schedule)] == [(2, 2), (1, 10)]


def test_series_are_done_one_after_the_other() -> None:
    schedule, _ = scheduled()
    schedule.begin(2, Account(None))
    schedule.come(2, items(0))
    schedule.come(1, items(0))
    assert [bunch.series for bunch in given(schedule)] == [1, 2]


def test_a_series_that_is_held_back_keeps_no_other_waiting() -> None:
    schedule, _ = scheduled()
    schedule.begin(2, Account(None))
    schedule.come(1, items(0))
    schedule.come(2, items(0))
    bunch = schedule.next(held_back={1})
    assert bunch is not None and bunch.series == 2
    assert schedule.next(held_back={1}) is None


def test_one_worker_gets_all_frames_if_their_order_counts() -> None:
    schedule, _ = scheduled(workers=3)
    schedule.ordered = True
    schedule.come(1, items(*range(200)))
    found = given(schedule)
    assert {bunch.worker for bunch in found} == {1} and len(found) == CREDITS
    assert [len(bunch.items) for bunch in found] == [MOST_FRAMES] * CREDITS
    schedule.leave(1)
    assert {bunch.worker for bunch in given(schedule)} == {2}


def test_a_worker_that_takes_too_long_is_found() -> None:
    schedule, _ = scheduled()
    schedule.come(1, items(*range(100)))
    first = schedule.next(now=10.0)
    schedule.next(now=10.0)
    assert first is not None
    late = 10.0 + 64 + PATIENCE
    assert schedule.hanging(late, 1.0) == []
    assert schedule.hanging(late + 0.1, 1.0) == [1]
    schedule.prepares(1, 2)
    assert schedule.hanging(late + 0.1, 1.0) == []  # it starts another series
    schedule.started(1, 2, late + 50)
    assert schedule.hanging(late + 50.1, 1.0) == []  # what it has in work waited meanwhile
    assert schedule.hanging(late + 50 + late - 10, 1.0) == []
    assert schedule.hanging(late + 50.1 + late - 10, 1.0) == [1]
    schedule.settle(first, now=late + 51)
    assert schedule.hanging(late + 52, 1.0) == []


def test_a_series_that_is_dropped_frees_everything() -> None:
    schedule, account = scheduled()
    schedule.come(1, items(*range(200)))
    first, _ = given(schedule)
    schedule.settle(first, held=True)
    gone = schedule.drop(1)
    assert len(gone) == 200 and account.counts.dropped == 200
    assert schedule.workers[1].held_frames == 0
    schedule.end(1)
    assert schedule.next() is None


@pytest.mark.parametrize("seed", range(12))
def test_at_random_the_counts_add_up_after_each_step(seed: int) -> None:
    """Arrivals, copies, deaths, hand-overs, failures, frames taken back, strays: compared with a dictionary
    per frame."""
    dice = random.Random(seed)
    planned = dice.choice([None, 400])
    retry = dice.random() < 0.8
    schedule, account = Schedule(retry=retry), Account(planned)
    schedule.begin(1, account)
    model: dict[int, str] = {}
    deaths: Counter[int] = Counter()
    arriving, numbers, old = list(range(400)), itertools.count(1), list[Bunch]()
    dice.shuffle(arriving) if seed % 2 else None

    def check() -> None:
        counts = asdict(account.counts)
        frames = counts.pop("frames")
        assert sum(counts.values()) == frames == (planned or max(model, default=-1) + 1)
        expected = Counter(model.values())
        assert {name: n for name, n in counts.items() if n and name != "pending"} == {
            name: n for name, n in expected.items() if name != "pending"
        }
        for worker in schedule.workers.values():
            assert len(worker.work) <= CREDITS
            assert len(worker.work) == 1 or not any(bunch.alone for bunch in worker.work.values())

    def arrive() -> None:
        n = min(len(arriving), dice.randint(1, 20))
        new = [arriving.pop(0) for _ in range(n)]
        deaths.subtract({index: deaths[index] for index in new})  # what comes once more is another item
        copies = dice.sample(sorted(model), min(len(model), dice.randint(0, 2)))
        copies = [index for index in copies if model[index] != "pending"]
        coming = items(*new, *copies, shared=dice.random() < 0.7)
        for item in coming:
            item.located = None if item.shared else "there"
        others = schedule.come(1, coming)
        assert sorted(item.index for item in others) == sorted(copies)
        model.update(dict.fromkeys(new, "queued"))

    def give() -> None:
        bunch = schedule.next()
        if bunch is not None:
            assert all(model[index] == "queued" for index in indices(bunch))
            assert not bunch.alone or len(bunch.items) == 1
            model.update(dict.fromkeys(indices(bunch), "in_work"))

    def answer() -> None:
        bunches = [bunch for worker in schedule.workers.values() for bunch in worker.work.values()]
        if not bunches:
            return
        bunch = dice.choice(bunches)
        if bunch.way is Way.FILE and dice.random() < 0.3:
            schedule.unopened(bunch)
            model.update(dict.fromkeys(indices(bunch), "queued"))
            old.append(bunch)
            return
        places = list(range(len(bunch.items)))
        failed = {place for place in places if dice.random() < 0.05}
        unread = {place for place in places if dice.random() < 0.05} - failed
        held = dice.random() < 0.5
        for place, index in enumerate(indices(bunch)):
            model[index] = (
                "failed" if place in failed else "pending" if place in unread else "held" if held else "done"
            )
            if place in unread:
                arriving.append(index)
        schedule.settle(bunch, failed=failed, unread=unread, held=held, seconds=dice.random() * 0.01)
        old.append(bunch)

    def hand_over() -> None:
        for worker in schedule.workers.values():
            numbers = list(worker.held)
            for bunch in schedule.handed_over(worker.number, 1, numbers):
                model.update(dict.fromkeys(indices(bunch), "done"))

    def die() -> None:
        if not schedule.workers:
            return
        worker = dice.choice(list(schedule.workers.values()))
        had, held = list(worker.work.values()), list(worker.held.values())
        schedule.leave(worker.number)
        for bunch in had:
            for index in indices(bunch):
                deaths[index] += 1
                model[index] = "queued" if retry and deaths[index] < ATTEMPTS else "lost"
        for bunch in held:
            model.update(dict.fromkeys(indices(bunch), "queued"))
        old.extend(had)

    def join() -> None:
        if len(schedule.workers) < 4:
            schedule.join(
                next(numbers), shares=dice.random() < 0.5, batch=dice.choice([1, 1, 10]),
                is_here=dice.random() < 0.5,
            )  # fmt: skip

    def stray() -> None:
        if old:
            bunch = dice.choice(old)
            assert schedule.owned(bunch.worker, 1, bunch.number) is None

    def take_back() -> None:
        if dice.random() < 0.1:
            queue = schedule._queues[1]
            gone = [item.index for item in (*queue.fresh, *queue.alone) if item.shared]
            schedule.take_back(1)
            model.update(dict.fromkeys(gone, "pending"))
            arriving.extend(gone)

    steps = [arrive, give, give, give, answer, answer, hand_over, die, join, join, stray, take_back]
    for _ in range(600):
        dice.choice(steps)()
        check()
    # Then the rest, with workers that live: everything ends in a final state.
    while arriving or account.open or account.counts.pending:
        join()
        if arriving:
            arrive()
        give()
        answer()
        hand_over()
        check()
    assert set(model.values()) <= {"done", "failed", "lost"} and len(model) == 400


def test_a_worker_gets_no_frame_of_a_series_before_it_has_started_it() -> None:
    schedule, account = scheduled(workers=2)
    schedule.begin(2, Account(10))
    for worker in (1, 2):
        schedule.prepares(worker, 1)
    schedule.come(1, items(0, 1))
    schedule.come(2, items(5))
    (other,) = given(schedule)
    assert other.series == 2  # which both have started

    schedule.started(2, 1)

    assert {(bunch.worker, bunch.series) for bunch in given(schedule)} == {(2, 1)}
    schedule.leave(1)
    assert not schedule.preparing
    assert account.counts.in_work == 2


def workers_of(schedule: Schedule, series: int) -> set[int]:
    """Who gets frames of a series that has more than all can take."""
    return {bunch.worker for bunch in given(schedule) if bunch.series == series}


def test_a_worker_that_refuses_a_series_gets_none_of_it_unless_all_have_refused() -> None:
    schedule, account = scheduled(workers=3)
    schedule.begin(2, Account(1000))
    for worker in (1, 2, 3):
        schedule.prepares(worker, 1)
    schedule.refused(1, 1)
    schedule.come(1, items(*range(1000)))
    assert workers_of(schedule, 1) == set(), "the others may take it"
    schedule.started(2, 1)
    assert workers_of(schedule, 1) == {2}
    schedule.come(2, items(*range(1000)))
    assert workers_of(schedule, 2) == {1, 3}, "another series"
    schedule.refused(3, 1)
    schedule.drop(2)
    schedule.leave(2)
    assert workers_of(schedule, 1) == {1, 3}, "its frames fail there"
    assert account.counts.in_work > 0


def test_in_an_ordered_pipeline_the_next_worker_takes_what_the_first_refuses() -> None:
    schedule, _ = scheduled(workers=3)
    schedule.ordered = True
    schedule.refused(1, 1)
    schedule.come(1, items(*range(1000)))
    assert workers_of(schedule, 1) == {2}


@pytest.mark.parametrize("seed", range(6))
def test_while_workers_are_killed_frames_wait_no_longer_than_others_need_for_a_bunch(seed: int) -> None:
    """1,000 frames per second, of 2 ms each, for three workers, one of which is killed every half second, and
    replaced 0.4 s later: in the time of the test, so that no machine is too slow for it."""
    frames, dice = 5000, random.Random(seed)
    schedule, account = Schedule(), Account(frames)
    schedule.begin(1, account)
    names, order = itertools.count(1), itertools.count()
    coming: list[tuple[float, int, str, int]] = []
    killed, busy = set[int](), dict[int, Bunch]()
    now, longest = 0.0, 0.0
    waiting_since: float | None = None

    def plan(seconds: float, what: str, number: int = 0) -> None:
        heapq.heappush(coming, (now + seconds, next(order), what, number))

    def work(worker: int) -> None:
        bunch = next(iter(schedule.workers[worker].work.values()), None)
        if bunch is not None and worker not in busy and worker not in killed:
            busy[worker] = bunch
            plan(0.002 * len(bunch.items), "done", worker)

    for index in range(frames):
        plan(0.001 * index, "comes", index)
    for _ in range(3):
        plan(0.0, "joins")
    for kill in range(1, 10):
        plan(0.5 * kill + 0.1 * dice.random(), "dies")
    while coming:
        now, _, what, number = heapq.heappop(coming)
        if what == "comes":
            schedule.come(1, items(number))
        elif what == "joins":
            schedule.join(next(names), shares=True)
        elif what == "dies":
            killed.add(victim := dice.choice(sorted(schedule.workers)))
            plan(0.005, "is gone", victim)
            plan(0.4, "joins")
        elif what == "is gone":
            schedule.leave(number, now=now)
        elif number not in killed:
            bunch = busy.pop(number)
            schedule.settle(bunch, seconds=0.002 * len(bunch.items), now=now)
            work(number)
        while (given := schedule.next(now)) is not None:
            longest = max(longest, 0.0 if waiting_since is None else now - waiting_since)
            waiting_since = now
            work(given.worker)
        waiting_since = (
            None if not schedule.has_waiting() else now if waiting_since is None else waiting_since
        )
    assert account.counts.done == frames and len(killed) == 9
    assert longest <= MOST_SECONDS + 1e-9


def test_a_series_is_deadly_once_three_workers_have_died_in_its_start_and_none_has_begun() -> None:
    schedule, _ = scheduled(workers=0)
    for number in (1, 2, 3):
        schedule.prepares(number, 1)
        schedule.join(number)
        assert not schedule.is_deadly(1)
        schedule.leave(number)
    assert schedule.is_deadly(1)
    schedule.prepares(4, 1)
    schedule.join(4)
    assert schedule.is_deadly(1)  # it is about to die, too
    schedule.started(4, 1)
    assert not schedule.is_deadly(1)
    for number in (5, 6, 7):  # one that has begun is there: others die for reasons of their own
        schedule.prepares(number, 1)
        schedule.join(number)
        schedule.leave(number)
    assert not schedule.is_deadly(1)
    schedule.leave(4, died=False)
    schedule.prepares(8, 1)
    schedule.join(8)
    schedule.leave(8, died=False)  # who says goodbye has not died
    schedule.end(1)
    assert not schedule.died_starting
