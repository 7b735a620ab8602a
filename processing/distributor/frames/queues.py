"""The frames of all series that wait for a worker: how they come, and how they leave without one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from penstock.processing.distributor.frames.account import FINAL, Account, Event, Indices
from penstock.processing.distributor.frames.bunches import Item, Queue


class Queues:
    """The series that are not over, one after the other, each with its queue and its account."""

    def __init__(self) -> None:
        self.duplicates = 0
        """Frames that came twice, or that nobody had planned."""
        self._queues: dict[int, Queue] = {}

    def begin(self, series: int, account: Account) -> None:
        """Take a series, behind those that are not over."""
        self._queues[series] = Queue(account)

    def end(self, series: int) -> None:
        """Forget a series, none of whose frames waits or is in work."""
        del self._queues[series]

    def come(
        self, series: int, items: Sequence[Item], *, from_file: bool = False, early: bool = False
    ) -> list[Item]:
        """Queue frames that have come; return those that were not expected, which are counted.

        Args:
            series: of the frames.
            items: the frames.
            from_file: they wait for all others.
            early: they are not given to workers before they are `released`.
        """
        queue = self._queues[series]
        expected = queue.account.expected([item.index for item in items])
        if all(expected):
            new, others = items, []
        else:
            new = [item for item, is_new in zip(items, expected, strict=True) if is_new]
            others = [item for item, is_new in zip(items, expected, strict=True) if not is_new]
            self.duplicates += len(others)
        queue.account.happens(Event.COMES, indices_of(new))
        if early:
            queue.early |= {item.index: item for item in new}
        else:
            (queue.rest if from_file else queue.fresh).extend(new)
        return others

    def release(self, series: int, values: Mapping[int, tuple[float | None, ...]] | None = None) -> None:
        """Let frames be given to workers that have come early: all, or those to which values belong."""
        queue = self._queues[series]
        if values is None:
            queue.fresh.extend(queue.early.values())
            queue.early.clear()
            return
        for index, row in values.items():
            if (item := queue.early.pop(index, None)) is not None:
                item.channels = row
                queue.fresh.append(item)

    def waiting(self, series: int | None = None) -> int:
        """Return how many frames of a series, or of all, wait for a worker."""
        if series is not None:
            return len(self._queues[series])
        return sum(map(len, self._queues.values()))

    def take_back(self, series: int) -> None:
        """Let frames in shared memory, which the receiver has taken back, be pending again; of those in work
        their workers tell."""
        queue = self._queues[series]
        early = [item for item in queue.early.values() if item.shared]
        queue.account.happens(Event.TAKEN_BACK, indices_of(early))
        for item in early:
            del queue.early[item.index]
        for items in (queue.fresh, queue.alone):
            gone = _take_out(items, lambda item: item.shared)
            queue.account.happens(Event.TAKEN_BACK, indices_of(gone))

    def forget_final(self, series: int) -> list[Item]:
        """Remove frames from the queue that an earlier distributor had done (`Account.restore`); return
        them."""
        queue, found = self._queues[series], list[Item]()
        states = queue.account.states
        for item in [item for item in queue.early.values() if states[item.index] in FINAL]:
            found.append(queue.early.pop(item.index))
        for items in (queue.fresh, queue.alone, queue.rest):
            found += _take_out(items, lambda item: bool(states[item.index] in FINAL))
        return found

    def drop_waiting(self, series: int) -> list[Item]:
        """Drop the frames of a series that wait for a worker; return them."""
        queue = self._queues[series]
        gone = [*queue.fresh, *queue.early.values(), *queue.alone, *queue.rest]
        queue.early.clear()
        for items in (queue.fresh, queue.alone, queue.rest):
            items.clear()
        queue.account.happens(Event.DROPPED, indices_of(gone))
        return gone


def _take_out(items: deque[Item], is_meant: Callable[[Item], bool]) -> list[Item]:
    """Remove the items that are meant; return them."""
    gone = [item for item in items if is_meant(item)]
    if gone:
        kept = [item for item in items if not is_meant(item)]
        items.clear()
        items.extend(kept)
    return gone


def indices_of(items: Sequence[Item]) -> Indices:
    """Return the indices of frames, in their order."""
    return np.fromiter((item.index for item in items), np.int64, len(items))
