"""Who gets which frames, and what happens to the frames of a worker that is gone.

No I/O and no clock. A worker has at most `wire.CREDITS` bunches; nobody waits for a bunch to be full: it is
what lies there when a worker has room for it. Frames of a worker that died are tried again *alone*: one by
one, by workers that have nothing else, so that a frame that kills its worker takes no other with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Sequence

import msgspec

from penstock.processing.distributor.frames.account import Event
from penstock.processing.distributor.frames.bunches import Bunch, Item, Left, Queue, Settled, Way, Worker
from penstock.processing.distributor.frames.free_workers import FreeWorkers
from penstock.processing.distributor.frames.lost_workers import LostWorkers
from penstock.processing.distributor.frames.queues import Queues, indices_of

MOST_FRAMES, MOST_BYTES, MOST_SECONDS = 64, 2_000_000, 0.020
"""Limits of one bunch: frames, bytes if it goes by value, and time that the worker needs for it."""
WORTH_SECONDS = 0.001
"""Time of a worker that is worth a message: frames that it needs less for are not divided among several."""


def take_bunch(series: int, items: deque[Item], worker: Worker, workers: int) -> list[Item]:
    """Take the frames of a bunch from the front: all of them go the same way to the worker.

    Args:
        series: of the frames.
        items: frames that wait, at least one.
        worker: who gets them.
        workers: among how many the frames that wait are divided.
    """
    most = _frames(worker, len(items), workers)
    way = worker.way(series, items[0])
    taken = [items.popleft()]
    nbytes = taken[0].nbytes
    while len(taken) < most and items and worker.way(series, items[0]) is way:
        if way is Way.VALUE:
            nbytes += items[0].nbytes
            if nbytes > MOST_BYTES:
                break
        taken.append(items.popleft())
    return taken


def _frames(worker: Worker, waiting: int, workers: int) -> int:
    if worker.seconds is None:
        return worker.batch
    share = -(-waiting // workers)
    each = max(worker.seconds, 1e-9)
    quick, worth = int(MOST_SECONDS / each), int(WORTH_SECONDS / each)
    return max(1, min(MOST_FRAMES, quick, max(share, worth)), min(worker.batch, waiting))


ATTEMPTS = 3
"""Workers that may die with a frame before it is lost."""


class Schedule(Queues):
    """All workers, and the series that are not over, one after the other.

    Args:
        retry: whether frames of a worker that died are tried again; if not, they are lost.
    """

    def __init__(self, *, retry: bool = True) -> None:
        super().__init__()
        self.retry = retry
        self.ordered = False
        """True if one worker gets all frames, in ascending order as far as they come so."""
        self.workers: dict[int, Worker] = {}
        self.lost_workers = LostWorkers()
        """What was taken from them."""
        self.died_starting: dict[int, int] = {}
        """Workers that have died while they started a series, since one has begun with it, by series."""
        self._bunches = 0
        self._free = FreeWorkers(self.workers)

    @property
    def stray(self) -> int:
        """Frames of answers of workers that did not have them any more."""
        return self.lost_workers.stray

    @property
    def preparing(self) -> set[tuple[int, int]]:
        """Worker and series, of workers that have been told of a series, and have not begun with it."""
        return self._free.preparing

    # -- series ----------------------------------------------------------------------------------------

    def end(self, series: int) -> None:
        """Forget a series, none of whose frames waits or is in work."""
        super().end(series)
        self._free.end(series)
        self.died_starting.pop(series, None)
        for worker in self.workers.values():
            worker.unopened.discard(series)

    def has_waiting(self, held_back: Container[int] = ()) -> bool:
        """Return whether frames wait, and there is a worker that could take them.

        Args:
            held_back: series of which nothing is given yet.
        """
        return any(
            len(queue)
            and series not in held_back
            and any(self._free.takes(worker, series) for worker in self.workers)
            for series, queue in self._queues.items()
        )

    def drop(self, series: int) -> list[Item]:
        """Drop all frames of a series that wait, are in work, or are held; return them."""
        waiting, gone = self.drop_waiting(series), list[Item]()
        for worker in self.workers.values():
            for bunch in [bunch for bunch in worker.work.values() if bunch.series == series]:
                gone += worker.work.pop(bunch.number).items
                self.lost_workers.take(bunch)
            for bunch in [bunch for bunch in worker.held.values() if bunch.series == series]:
                gone += worker.release(bunch.number).items
                self.lost_workers.take(bunch)
            self._free.place(worker)
        self._queues[series].account.happens(Event.DROPPED, indices_of(gone))
        return [*waiting, *gone]

    # -- workers ---------------------------------------------------------------------------------------

    def join(self, number: int, *, shares: bool = False, batch: int = 1, is_here: bool = False) -> None:
        """Take a worker that is ready."""
        self.workers[number] = worker = Worker(number, shares, batch, is_here)
        self._free.place(worker)

    def leave(self, number: int, *, died: bool = True, now: float = 0.0) -> list[Left]:
        """Forget a worker that is gone, and queue what it had, or count it as lost.

        Args:
            number: of the worker.
            died: whether it may have died of the frames in work; one that has said goodbye has not begun with
                them, so that they are as they were.
            now: the caller's time.
        """
        worker = self.workers.get(number)
        if worker is None:
            return []
        found: dict[int, tuple[list[Item], list[Item]]] = {}
        for bunch in worker.work.values():
            self.lost_workers.take(bunch)
            again, lost = found.setdefault(bunch.series, ([], []))
            for item in bunch.items:
                item.deaths += died
                (again if not died or (self.retry and item.deaths < ATTEMPTS) else lost).append(item)
        if died:
            for series in [series for preparing, series in self.preparing if preparing == number]:
                self.died_starting[series] = self.died_starting.get(series, 0) + 1
            self.lost_workers.departs(number, [item for again, _ in found.values() for item in again], now)
        for series, (again, lost) in found.items():
            account = self._queues[series].account
            account.happens(Event.AGAIN, indices_of(again))
            account.happens(Event.LOST, indices_of(lost))
            self._queues[series].again(again)
        for bunch in worker.held.values():
            again, _ = found.setdefault(bunch.series, ([], []))
            again += bunch.items
        self.again(number, list(worker.held.values()))
        del self.workers[number]
        self._free.leave(number)
        return [Left(series, tuple(again), tuple(lost)) for series, (again, lost) in found.items()]

    def prepares(self, worker: int, series: int) -> None:
        """A worker is told of a series: it gets frames of it once it has started."""
        self.preparing.add((worker, series))

    def started(self, worker: int, series: int, now: float = 0.0) -> None:
        """A worker has started a series; what it has in work waited meanwhile."""
        self.preparing.discard((worker, series))
        if (found := self.workers.get(worker)) is not None:
            found.since = max(found.since, now)
        self.died_starting.pop(series, None)

    def is_deadly(self, series: int) -> bool:
        """Return whether workers die while they start a series, and none has begun with it."""
        has_begun = any((number, series) not in self.preparing for number in self.workers)
        return self.died_starting.get(series, 0) >= ATTEMPTS and not has_begun

    def refused(self, worker: int, series: int) -> None:
        """The classes of a worker have refused a series: others get its frames, if there are any."""
        self.preparing.discard((worker, series))
        if series in self._queues:
            self._free.refusing.setdefault(series, set()).add(worker)

    # -- work ------------------------------------------------------------------------------------------

    def next(self, now: float = 0.0, held_back: Iterable[int] = ()) -> Bunch | None:
        """Return the next bunch to be sent; `None` if no frame waits, or no worker has room.

        Args:
            now: the caller's time.
            held_back: series of which nothing is given yet.
        """
        for of_file in (False, True):
            for series, queue in self._queues.items():
                if series in held_back or not (queue.rest if of_file else queue.fresh or queue.alone):
                    continue
                if of_file:
                    bunch = self._next_of(series, queue, queue.rest, now)
                else:
                    bunch = self._live(series, queue, now)
                if bunch is not None:
                    return bunch
        return None

    def hanging(self, now: float, frame_seconds: float) -> list[int]:
        """Return the workers that have taken much longer for their bunch than `frame_seconds` for each frame,
        and do not start a series meanwhile."""
        busy = {number for number, _ in self.preparing}
        return [
            number
            for number, worker in self.workers.items()
            if number not in busy and worker.is_hanging(now, frame_seconds)
        ]

    def owned(self, worker: int, series: int, number: int) -> Bunch | None:
        """Return the bunch that an answer is about; `None` if the worker does not have it any more, which is
        counted."""
        found = self.workers.get(worker)
        bunch = None if found is None else found.work.get(number)
        if bunch is not None and bunch.series == series:
            return bunch
        self.lost_workers.count_stray(number)
        return None

    def settle(
        self, bunch: Bunch, *, failed: Iterable[int] = (), unread: Iterable[int] = (), held: bool = False,
        seconds: float | None = None, now: float = 0.0,
    ) -> Settled:  # fmt: skip
        """Take the answer about a bunch.

        Args:
            bunch: owned by a worker.
            failed: places of the frames that have failed.
            unread: places of those that the receiver has taken back before they were processed.
            held: whether the others went into values that the worker still has.
            seconds: wall time of the user's code; `None` if it was not called.
            now: the caller's time.
        """
        worker, account = self.workers[bunch.worker], self._queues[bunch.series].account
        del worker.work[bunch.number]
        worker.since = now
        self._free.place(worker)
        n = len(bunch.items)
        if seconds is not None:
            worker.took(seconds / n)
        failed, unread = set(failed), set(unread)
        worker.frames += n - len(unread)
        if not failed and not unread:
            account.happens(Event.HELD if held else Event.DONE, bunch.indices)
            if held:
                worker.hold(bunch)
            return Settled(() if held else bunch.items, ())
        (good, well), (gone, back), (bad, ill) = bunch.apart(unread, failed)
        account.happens(Event.FAILED, ill)
        account.happens(Event.TAKEN_BACK, back)
        account.happens(Event.HELD if held else Event.DONE, well)
        if held and good:
            worker.hold(msgspec.structs.replace(bunch, items=good, indices=well))
            return Settled(bad, gone)
        return Settled((*good, *bad), gone)

    def unopened(self, bunch: Bunch, now: float = 0.0) -> bool:
        """Take that a worker cannot open the file of a bunch: what it gets of the series is sent from now on.
        Return whether that was not known. Frames keep their order: all that it has of files come back."""
        worker, queue = self.workers[bunch.worker], self._queues[bunch.series]
        del worker.work[bunch.number]
        worker.since = now
        self._free.place(worker)
        is_new = bunch.series not in worker.unopened
        worker.unopened.add(bunch.series)
        queue.account.happens(Event.UNOPENED, bunch.indices)
        queue.fresh.extend(item for item in bunch.items if not item.deaths)
        queue.again([item for item in bunch.items if item.deaths])
        return is_new

    def handed_over(
        self, worker: int, series: int, numbers: Iterable[int], *, failed: bool = False
    ) -> list[Bunch]:
        """Take back the bunches whose accumulated values a worker has handed over; return them.

        Args:
            worker: who.
            series: of the bunches.
            numbers: of the bunches.
            failed: whether the values cannot be used.
        """
        found = self.workers.get(worker)
        if found is None:
            return []
        bunches = [found.release(number) for number in numbers if number in found.held]
        account = self._queues[series].account if bunches else None
        for bunch in bunches:
            assert account is not None and bunch.series == series
            account.happens(Event.FAILED if failed else Event.HANDED_OVER, bunch.indices)
        return bunches

    def again(self, worker: int, bunches: Sequence[Bunch]) -> None:
        """Queue frames again that a worker holds: the values that they went into cannot be used."""
        for bunch in reversed(bunches):
            self.workers[worker].release(bunch.number)
            queue = self._queues[bunch.series]
            queue.account.happens(Event.AGAIN, bunch.indices)
            queue.fresh.extendleft(reversed(bunch.items))

    def holds(self, worker: int, series: int, numbers: Iterable[int]) -> list[Bunch]:
        """Return the bunches of these numbers that a worker holds."""
        found = self.workers.get(worker)
        held = {} if found is None else found.held
        return [held[number] for number in numbers if number in held and held[number].series == series]

    # -- within ----------------------------------------------------------------------------------------

    def _live(self, series: int, queue: Queue, now: float) -> Bunch | None:
        if queue.alone:
            worker = self._free.one(series, most=0, ordered=self.ordered)
            if worker is not None:
                return self._give(series, queue, worker, [queue.alone.popleft()], now, alone=True)
        return self._next_of(series, queue, queue.fresh, now)

    def _next_of(self, series: int, queue: Queue, items: deque[Item], now: float) -> Bunch | None:
        if not items:
            return None
        alone = [number for number, each in self._queues.items() if each.alone]
        spare = self._free.spare(alone, ordered=self.ordered)
        worker = self._free.one(series, ordered=self.ordered, spare=spare)
        if worker is None:
            return None
        taken = take_bunch(series, items, worker, 1 if self.ordered else len(self.workers))
        return self._give(series, queue, worker, taken, now)

    def _give(
        self, series: int, queue: Queue, worker: Worker, items: list[Item], now: float, alone: bool = False
    ) -> Bunch:
        self._bunches += 1
        way = worker.way(series, items[0])
        bunch = Bunch(self._bunches, series, worker.number, tuple(items), indices_of(items), way, alone, now)
        queue.account.happens(Event.GIVEN, bunch.indices)
        if self.lost_workers.awaited:
            self.lost_workers.arrive(items, now)
        if not worker.work:
            worker.since = now
        worker.work[bunch.number] = bunch
        self._free.place(worker)
        return bunch
