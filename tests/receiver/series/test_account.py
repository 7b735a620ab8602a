"""The account: every planned index in exactly one status, under any order, loss and repetition."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from penstock.receiver.models import Counts, FrameStatus
from penstock.receiver.series.account import BLOCK, FATES, MOST_LOST, UNANNOUNCED_REACH, Account

STORED, DELIVERED, DISCARDED = FrameStatus.STORED, FrameStatus.DELIVERED, FrameStatus.DISCARDED
PARTIAL, CORRUPT = FrameStatus.PARTIAL, FrameStatus.CORRUPT
TAKEN = (STORED, DELIVERED, DISCARDED, PARTIAL, CORRUPT)
SECOND: dict[FrameStatus, dict[FrameStatus, FrameStatus]] = {
    #            what comes then: stored, delivered, discarded, partial, corrupt
    STORED: dict(zip(TAKEN, (STORED, STORED, STORED, STORED, STORED), strict=True)),
    DELIVERED: dict(zip(TAKEN, (DELIVERED, DELIVERED, DELIVERED, DELIVERED, DELIVERED), strict=True)),
    DISCARDED: dict(zip(TAKEN, (DISCARDED, DISCARDED, DISCARDED, DISCARDED, DISCARDED), strict=True)),
    PARTIAL: dict(zip(TAKEN, (STORED, DELIVERED, PARTIAL, PARTIAL, PARTIAL), strict=True)),
    CORRUPT: dict(zip(TAKEN, (STORED, DELIVERED, DISCARDED, PARTIAL, CORRUPT), strict=True)),
}
"""What an index is that has one status, when another frame of it comes. Where that changes nothing, the frame
is a duplicate."""


def total(counts: Counts) -> int:
    """Frames of all statuses."""
    return (
        counts.stored + counts.partial + counts.delivered + counts.discarded + counts.corrupt
        + counts.missing + counts.not_triggered + counts.pending
    )  # fmt: skip


class Naive:
    """The same account, by looking at every index: slow and plain."""

    def __init__(self) -> None:
        self.status: dict[int, FrameStatus] = {}
        self.given_up: set[int] = set()
        self.received = self.duplicate = self.late = 0

    def take(self, index: int, status: FrameStatus) -> None:
        self.received += 1
        before = self.status.get(index)
        if before is not None and SECOND[before][status] is before:
            self.duplicate += 1
            return
        self.late += index in self.given_up
        self.given_up.discard(index)
        self.status[index] = status

    def give_up(self, below: int) -> None:
        highest = max(self.status, default=-1)
        self.given_up |= {index for index in range(min(below, highest + 1)) if index not in self.status}

    def close(self, planned: int | None, triggered: int | None) -> Counts:
        size = max(max(self.status, default=-1) + 1, triggered or 0) if planned is None else planned
        fired = size if triggered is None else min(triggered, size)
        final = Counter(
            self.status.get(index, FrameStatus.MISSING if index < fired else FrameStatus.NOT_TRIGGERED)
            for index in range(size)
        )
        return Counts(
            planned=size, received=self.received, stored=final[FrameStatus.STORED],
            partial=final[FrameStatus.PARTIAL], delivered=final[FrameStatus.DELIVERED],
            discarded=final[FrameStatus.DISCARDED], corrupt=final[FrameStatus.CORRUPT],
            missing=final[FrameStatus.MISSING], not_triggered=final[FrameStatus.NOT_TRIGGERED],
            duplicate=self.duplicate, late=self.late,
        )  # fmt: skip


def history(seed: int) -> tuple[random.Random, int, list[int]]:
    """Frames of a series as a network may deliver them: shuffled nearby, some lost, some twice."""
    chance = random.Random(seed)
    planned = chance.choice([1, 2, 7, 60, 1023, 1024, 1025, 3000])
    spread = chance.choice([0, 3, 50])
    order = sorted(range(planned), key=lambda index: index + chance.random() * spread)
    loss, repeat = chance.choice([0, 0.02, 0.4]), chance.choice([0, 0.05])
    frames = [index for index in order if chance.random() >= loss]
    for _ in range(int(repeat * len(frames))):
        frames.insert(chance.randrange(len(frames)), chance.choice(frames))
    return chance, planned, frames


@pytest.mark.parametrize("seed", range(60))
def test_counts_equal_a_naive_recount_and_sum_to_planned_at_every_moment(seed: int) -> None:
    chance, planned, frames = history(seed)
    announced = chance.random() < 0.7
    account, naive = Account(planned if announced else None), Naive()
    for index in frames:
        status = chance.choices(TAKEN, (8, 1, 1, 1, 2))[0]
        account.take(index, status)
        naive.take(index, status)
        if chance.random() < 0.02:
            below = chance.randrange(planned + 1)
            account.give_up_gaps(below)
            naive.give_up(below)
        counts = account.counts()
        assert total(counts) == (planned if announced else account.highest + 1)
        assert counts.pending >= 0
    triggered = chance.choice([None, planned, planned // 2, planned + 3])
    account.close(triggered)
    assert account.counts() == naive.close(planned if announced else None, triggered)


@pytest.mark.parametrize("seed", range(20))
def test_the_statuses_of_the_file_have_the_counts_of_the_account(seed: int) -> None:
    chance, planned, frames = history(seed)
    account = Account(planned)
    for index in frames:
        account.take(index, chance.choice(TAKEN))
    account.close(chance.choice([None, planned // 2]))
    counts = account.counts()
    found = Counter(int(code) for code in account.statuses(planned))
    assert {FrameStatus(code).name.lower(): n for code, n in found.items()} == {
        name: n
        for name in ("stored", "partial", "delivered", "discarded", "corrupt", "missing", "not_triggered")
        if (n := getattr(counts, name))
    }


@pytest.mark.parametrize("seed", range(20))
def test_the_lost_ranges_are_those_of_the_statuses(seed: int) -> None:
    chance, planned, frames = history(seed)
    account = Account(planned)
    for index in frames:
        account.take(index, chance.choices(TAKEN, (90, 1, 1, 1, 2))[0])
    account.close(chance.choice([None, planned // 2]))
    expected: list[tuple[int, int, str]] = []
    for index, code in enumerate(account.statuses(planned).tolist()):
        fate = FATES.get(code)
        if fate is not None and expected and expected[-1][1:] == (index - 1, fate):
            expected[-1] = (expected[-1][0], index, fate)
        elif fate is not None:
            expected.append((index, index, fate))
    assert account.lost() == expected[:MOST_LOST]


@pytest.mark.parametrize("limit", [1, 3, 1000])
@pytest.mark.parametrize("seed", range(5))
def test_the_lost_ranges_are_the_same_in_pages_from_any_index_on(seed: int, limit: int) -> None:
    chance, planned, frames = history(seed)
    account = Account(planned)
    for index in frames:
        account.take(index, chance.choices(TAKEN, (90, 1, 1, 1, 2))[0])
    account.close(chance.choice([None, planned // 2]))
    whole, found, begin = account.lost(limit=planned), [], 0
    while page := account.lost(begin, limit):
        found += page
        begin = page[-1][1] + 1
    assert found == whole
    middle = planned // 3
    assert account.lost(middle, planned) == [
        (max(first, middle), last, fate) for first, last, fate in whole if last >= middle
    ]


def test_what_an_open_series_has_lost_so_far_leaves_out_what_may_still_come() -> None:
    account = Account(100)
    for index, status in ((0, FrameStatus.STORED), (3, FrameStatus.CORRUPT), (6, FrameStatus.STORED)):
        account.take(index, status)
    assert (account.lost(), account.upto) == ([(3, 3, "corrupt")], 7)
    account.give_up_gaps(5)
    assert account.lost() == [(1, 2, "missing"), (3, 3, "corrupt"), (4, 4, "missing")]
    account.take(1, FrameStatus.STORED)
    assert account.lost() == [(2, 2, "missing"), (3, 3, "corrupt"), (4, 4, "missing")]
    account.close(None)
    assert account.lost()[2:] == [(4, 5, "missing"), (7, 99, "missing")]
    assert account.upto == 100


def test_a_range_of_lost_frames_is_one_however_long_the_series_is() -> None:
    account = Account(2**40)
    for index in (0, 1, BLOCK + 7):
        account.take(index, FrameStatus.STORED)
    account.close(2**30)
    assert account.lost() == [
        (2, BLOCK + 6, "missing"), (BLOCK + 8, 2**30 - 1, "missing"), (2**30, 2**40 - 1, "not_triggered"),
    ]  # fmt: skip


def test_a_complete_series_has_lost_nothing_and_an_unannounced_one_ends_with_its_last_frame() -> None:
    for planned in (3, None):
        account = Account(planned)
        for index in range(3):
            account.take(index, FrameStatus.DELIVERED)
        account.close(None)
        assert account.lost() == []


@pytest.mark.parametrize("seed", range(20))
def test_the_start_of_the_gap_is_the_first_index_of_which_nothing_is_known(seed: int) -> None:
    _, planned, frames = history(seed)
    account, seen = Account(planned), set()
    for index in frames:
        account.take(index, FrameStatus.STORED)
        seen.add(index)
        first = next(number for number in range(planned + 1) if number not in seen)
        assert account.has_gap() == (first < max(seen))
        if account.has_gap():
            assert account.gap_start == first
            assert account.gaps() == sum(number not in seen for number in range(max(seen)))


def test_frames_in_order_leave_no_gap() -> None:
    account = Account(3)
    for index in range(3):
        account.take(index, FrameStatus.STORED)
        assert not account.has_gap()
    assert account.all_accounted()


def test_frames_after_the_last_are_a_pause_and_no_gap() -> None:
    account = Account(10)
    account.take(0, FrameStatus.STORED)
    assert not account.has_gap()
    assert account.counts().pending == 9


def test_a_frame_that_was_given_up_is_late_and_counted_all_the_same() -> None:
    account = Account(3)
    account.take(0, FrameStatus.STORED)
    account.take(2, FrameStatus.STORED)
    assert account.give_up_gaps(2) == 1
    assert (account.counts().missing, account.status(1)) == (1, FrameStatus.MISSING)
    assert not account.all_accounted()
    account.take(1, FrameStatus.STORED)
    counts = account.counts()
    assert (counts.missing, counts.stored, counts.late, counts.pending) == (0, 3, 1, 0)
    assert account.all_accounted()


def test_a_good_frame_replaces_a_corrupt_one_and_never_the_other_way_round() -> None:
    account = Account(1)
    account.take(0, FrameStatus.CORRUPT)
    account.take(0, FrameStatus.STORED)
    account.take(0, FrameStatus.CORRUPT)
    counts = account.counts()
    assert (counts.stored, counts.corrupt, counts.received, counts.duplicate) == (1, 0, 3, 1)


@pytest.mark.parametrize("second", TAKEN)
@pytest.mark.parametrize("first", TAKEN)
def test_of_two_frames_of_one_index_the_better_one_counts_and_of_two_alike_the_first(
    first: FrameStatus, second: FrameStatus
) -> None:
    account = Account(2)
    account.take(0, first)
    account.take(0, second)
    left = SECOND[first][second]
    counts = account.counts()
    assert account.status(0) is left
    assert (counts.received, counts.late, counts.pending) == (2, 0, 1)
    assert counts.duplicate == (left is first), "what takes the place of a worse one is none"
    assert getattr(counts, left.name.lower()) == 1
    assert total(counts) == 2


@pytest.mark.parametrize("status", TAKEN)
def test_a_frame_that_was_stored_and_lost_by_the_disk_is_taken_anew(status: FrameStatus) -> None:
    account = Account(1)
    account.take(0, STORED)
    account.revise(0, FrameStatus.MISSING, late=False)
    account.take(0, status)
    counts = account.counts()
    assert (account.status(0), counts.received, counts.duplicate, counts.missing) == (status, 2, 0, 0)


def test_an_index_beyond_the_announced_total_is_out_of_range() -> None:
    account = Account(5)
    assert [index for index in (-1, 0, 4, 5, 2**40) if account.in_range(index)] == [0, 4]


def test_an_index_far_past_the_highest_is_out_of_range_when_no_total_was_announced() -> None:
    account = Account(None)
    assert account.in_range(UNANNOUNCED_REACH - 1)
    assert not account.in_range(UNANNOUNCED_REACH)
    account.take(100, FrameStatus.STORED)
    assert account.in_range(100 + UNANNOUNCED_REACH)
    assert not account.in_range(101 + UNANNOUNCED_REACH)


def test_a_total_that_fits_no_memory_costs_none() -> None:
    account = Account(2**50)
    account.take(0, FrameStatus.STORED)
    assert not account.in_range(2**50 - 1), "a first frame so far ahead is no honest one"
    assert total(account.counts()) == 2**50
    account.close(1)
    counts = account.counts()
    assert (counts.stored, counts.not_triggered, total(counts)) == (1, 2**50 - 1, 2**50)


def test_what_was_not_triggered_is_not_missing() -> None:
    account = Account(10)
    account.take(0, FrameStatus.STORED)
    account.take(2, FrameStatus.STORED)
    account.close(4)
    assert account.statuses(6).tolist() == [1, 0, 1, 0, 5, 5]
    counts = account.counts()
    assert (counts.missing, counts.not_triggered, counts.pending) == (2, 6, 0)


def test_statuses_of_a_running_series_are_pending_until_something_is_known() -> None:
    account = Account(3)
    account.take(1, FrameStatus.STORED)
    assert account.statuses(3).tolist() == [FrameStatus.PENDING, 1, FrameStatus.PENDING]
    account.give_up_gaps(1)
    assert account.statuses(2).tolist() == [0, 1]
    assert account.statuses(5).dtype == np.uint8


def test_a_series_without_a_frame_sums_up_too() -> None:
    for planned, triggered in ((0, None), (5, 0), (5, None), (None, None), (None, 4)):
        account = Account(planned)
        account.close(triggered)
        counts = account.counts()
        assert total(counts) == counts.planned == max(planned or 0, triggered or 0)


@pytest.mark.parametrize("triggered", [None, 0, 5, BLOCK, BLOCK + 3, 2 * BLOCK + 7])
def test_an_account_of_several_blocks_settles_to_what_was_planned(triggered: int | None) -> None:
    planned = 2 * BLOCK + 7
    account = Account(planned)
    for index in (0, BLOCK - 1, BLOCK, BLOCK + 2, 2 * BLOCK + 1):
        account.take(index, FrameStatus.STORED)
    account.give_up_gaps(BLOCK + 1)
    account.close(triggered)
    counts = account.counts()
    expected = planned if triggered is None else triggered
    statuses = account.statuses(planned)
    assert counts.stored == 5
    assert counts.missing == np.count_nonzero(statuses[:expected] == FrameStatus.MISSING)
    assert counts.not_triggered == np.count_nonzero(statuses[expected:] == FrameStatus.NOT_TRIGGERED)
    assert counts.stored + counts.missing + counts.not_triggered == planned
