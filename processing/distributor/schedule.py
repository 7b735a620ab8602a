"""Who gets which frames: queue, credits, bunches, and what happens to the frames of a worker that is gone.

No I/O and no clock. A worker has at most `wire.CREDITS` bunches; nobody waits for a bunch to be full: it is
what lies there when a worker has room for it. Frames of a worker that died are tried again *alone*: one by
one, by workers that have nothing else, so that a frame that kills its worker takes no other with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Mapping, Sequence

import msgspec
import numpy as np

from penstock.processing.distributor.account import FINAL, Account, Event, Indices
from penstock.processing.distributor.bunches import Bunch, Departure, Item, Left, Queue, Settled, Worker
from penstock.processing.wire import CREDITS

MOST_FRAMES, MOST_BYTES, MOST_SECONDS = 64, 2_000_000, 0.020
"""Limits of one bunch: frames, bytes if it goes by value, and time that the worker needs for it."""
WORTH_SECONDS = 0.001
"""Time of a worker that is worth a message: frames that it needs less for are not divided among several."""
ATTEMPTS = 3
"""Workers that may die with a frame before it is lost."""
REMEMBERED = 1000
"""Bunches that were taken from workers whose sizes are kept, to count stray answers."""
DEPARTURES = 20
"""Workers that are gone of which is told what became of their frames."""
SMOOTH = 0.3
"""Weight of the newest bunch in a worker's seconds per frame."""


class Schedule:
    """All workers, and the series that are not over, one after the other.

    Args:
        retry: whether frames of a worker that died are tried again; if not, they are lost.
    """

    def __init__(self, *, retry: bool = True) -> None:
        self.retry = retry
        self.ordered = False
        """Whether one worker gets all frames, in ascending order as far as they come so."""
        self.workers: dict[int, Worker] = {}
        self.stray = 0
        """Frames of answers of workers that did not have them any more."""
        self.departures: deque[Departure] = deque(maxlen=DEPARTURES)
        """The last workers that were gone."""
        self._awaited = 0
        """Frames that such workers had, and nobody has yet."""
        self._left: dict[int, tuple[int, int]] = {}
        """Worker and number of frames of the last bunches that were taken from workers, by number."""
        self.duplicates = 0
        """Frames that came twice, or that nobody had planned."""
        self.preparing: set[tuple[int, int]] = set()
        """Worker and series, of workers that have been told of a series, and have not begun with it."""
        self._queues: dict[int, Queue] = {}
        self._spare: int | None = None  # worker that is to have nothing soon, so that frames are tried alone
        self._bunches = 0
        self._room: tuple[dict[int, None], ...] = tuple({} for _ in range(CREDITS))
        """Workers by the number of bunches that they have, if it is below `CREDITS`; who waits longest is
        first."""

    # -- series ----------------------------------------------------------------------------------------

    def begin(self, series: int, account: Account) -> None:
        """Take a series, behind those that are not over."""
        self._queues[series] = Queue(account)

    def end(self, series: int) -> None:
        """Forget a series, none of whose frames waits or is in work."""
        del self._queues[series]
        self.preparing = {pair for pair in self.preparing if pair[1] != series}

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
        queue.account.happens(Event.COMES, _indices(new))
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

    def has_waiting(self, held_back: Container[int] = ()) -> bool:
        """Return whether frames wait, and there is a worker that could take them.

        Args:
            held_back: series of which nothing is given yet.
        """
        return any(
            len(queue)
            and series not in held_back
            and any((worker, series) not in self.preparing for worker in self.workers)
            for series, queue in self._queues.items()
        )

    def take_back(self, series: int) -> None:
        """Let frames in shared memory, which the receiver has taken back, be pending again; of those in work
        their workers tell."""
        queue = self._queues[series]
        early = [item for item in queue.early.values() if item.shared]
        queue.account.happens(Event.TAKEN_BACK, _indices(early))
        for item in early:
            del queue.early[item.index]
        for items in (queue.fresh, queue.alone):
            gone = [item for item in items if item.shared]
            if gone:
                queue.account.happens(Event.TAKEN_BACK, _indices(gone))
                kept = [item for item in items if not item.shared]
                items.clear()
                items.extend(kept)

    def forget_final(self, series: int) -> list[Item]:
        """Remove frames from the queue that an earlier distributor had done (`Account.restore`); return
        them."""
        queue, found = self._queues[series], list[Item]()
        states = queue.account.states
        for item in [item for item in queue.early.values() if states[item.index] in FINAL]:
            found.append(queue.early.pop(item.index))
        for items in (queue.fresh, queue.alone, queue.rest):
            gone = [item for item in items if states[item.index] in FINAL]
            if gone:
                found += gone
                kept = [item for item in items if states[item.index] not in FINAL]
                items.clear()
                items.extend(kept)
        return found

    def drop_waiting(self, series: int) -> list[Item]:
        """Drop the frames of a series that wait for a worker; return them."""
        queue = self._queues[series]
        gone = [*queue.fresh, *queue.early.values(), *queue.alone, *queue.rest]
        queue.early.clear()
        for items in (queue.fresh, queue.alone, queue.rest):
            items.clear()
        queue.account.happens(Event.DROPPED, _indices(gone))
        return gone

    def drop(self, series: int) -> list[Item]:
        """Drop all frames of a series that wait, are in work, or are held; return them."""
        waiting, gone = self.drop_waiting(series), list[Item]()
        for worker in self.workers.values():
            for bunch in [bunch for bunch in worker.work.values() if bunch.series == series]:
                gone += worker.work.pop(bunch.number).items
                self._remember(bunch)
            for number in [number for number, bunch in worker.held.items() if bunch.series == series]:
                gone += worker.release(number).items
            self._place(worker)
        self._queues[series].account.happens(Event.DROPPED, _indices(gone))
        return [*waiting, *gone]

    # -- workers ---------------------------------------------------------------------------------------

    def join(self, number: int, *, shares: bool = False, batch: int = 1) -> None:
        """Take a worker that is ready."""
        self.workers[number] = worker = Worker(number, shares, batch)
        self._place(worker)

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
        departure = Departure(number, now)
        found: dict[int, tuple[list[Item], list[Item]]] = {}
        for bunch in worker.work.values():
            self._remember(bunch)
            again, lost = found.setdefault(bunch.series, ([], []))
            for item in bunch.items:
                item.deaths += died
                (again if not died or (self.retry and item.deaths < ATTEMPTS) else lost).append(item)
        if died:
            self.departures.append(departure)
            for again, _ in found.values():
                departure.frames += len(again)
                for item in again:
                    item.departure = departure
            departure.waiting = departure.frames
            self._awaited += departure.frames
        for series, (again, lost) in found.items():
            account = self._queues[series].account
            account.happens(Event.AGAIN, _indices(again))
            account.happens(Event.LOST, _indices(lost))
            queue = self._queues[series]
            queue.fresh.extendleft(reversed([item for item in again if not item.deaths]))
            # What was tried most often comes first, so that it is over soon.
            merged = sorted(
                (*queue.alone, *(item for item in again if item.deaths)),
                key=lambda item: (-item.deaths, item.index),
            )
            queue.alone.clear()
            queue.alone.extend(merged)
        for bunch in worker.held.values():
            again, _ = found.setdefault(bunch.series, ([], []))
            again += bunch.items
        self.again(number, list(worker.held.values()))
        del self.workers[number]
        self.preparing = {pair for pair in self.preparing if pair[0] != number}
        for room in self._room:
            room.pop(number, None)
        return [Left(series, tuple(again), tuple(lost)) for series, (again, lost) in found.items()]

    def prepares(self, worker: int, series: int) -> None:
        """A worker is told of a series: it gets frames of it once it has started."""
        self.preparing.add((worker, series))

    def started(self, worker: int, series: int) -> None:
        """A worker has started a series, or has refused to: its frames fail there."""
        self.preparing.discard((worker, series))

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
                bunch = self._rest(series, queue, now) if of_file else self._live(series, queue, now)
                if bunch is not None:
                    return bunch
        return None

    def hanging(self, now: float, frame_seconds: float) -> list[int]:
        """Return the workers that have taken longer for their bunch than `frame_seconds` for each frame."""
        found = []
        for worker in self.workers.values():
            bunch = next(iter(worker.work.values()), None)
            if bunch is not None and now - worker.since > frame_seconds * len(bunch.items):
                found.append(worker.number)
        return found

    def owned(self, worker: int, series: int, number: int) -> Bunch | None:
        """Return the bunch that an answer is about; `None` if the worker does not have it any more, which is
        counted."""
        found = self.workers.get(worker)
        bunch = None if found is None else found.work.get(number)
        if bunch is not None and bunch.series == series:
            return bunch
        self._count_stray(number)
        return None

    def late(self, worker: int, numbers: Iterable[int]) -> None:
        """Count the frames of bunches that a worker which is gone has done after that."""
        for number in numbers:
            if self._left.get(number, (0, 0))[0] == worker:
                self._count_stray(number)

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
        self._place(worker)
        n = len(bunch.items)
        if seconds is not None:
            each, before = seconds / n, worker.seconds
            worker.seconds = each if before is None else SMOOTH * each + (1 - SMOOTH) * before
        failed, unread = set(failed), set(unread)
        worker.frames += n - len(unread)
        if not failed and not unread:
            account.happens(Event.HELD if held else Event.DONE, bunch.indices)
            if not held:
                return Settled(bunch.items, ())
            worker.hold(bunch)
            return Settled((), ())
        places = np.zeros(n, np.uint8)
        places[list(failed)] = 1
        places[list(unread)] = 2
        account.happens(Event.FAILED, bunch.indices[places == 1])
        account.happens(Event.TAKEN_BACK, bunch.indices[places == 2])
        account.happens(Event.HELD if held else Event.DONE, bunch.indices[places == 0])
        good, bad, gone = (
            tuple(item for item, place in zip(bunch.items, places, strict=True) if place == which)
            for which in (0, 1, 2)
        )
        if held and good:
            worker.hold(msgspec.structs.replace(bunch, items=good, indices=bunch.indices[places == 0]))
            return Settled(bad, gone)
        return Settled((*good, *bad), gone)

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

    def _remember(self, bunch: Bunch) -> None:
        self._left[bunch.number] = bunch.worker, len(bunch.items)
        while len(self._left) > REMEMBERED:
            del self._left[next(iter(self._left))]

    def _count_stray(self, number: int) -> None:
        """Count the frames of a bunch that its worker did not have any more, once."""
        self.stray += self._left.pop(number, (0, 0))[1]

    def _place(self, worker: Worker) -> None:
        """Put a worker among those with as many bunches, as the last one."""
        for room in self._room:
            room.pop(worker.number, None)
        if len(worker.work) < CREDITS and not any(bunch.alone for bunch in worker.work.values()):
            self._room[len(worker.work)][worker.number] = None

    def _free(self, most: int, series: int, spare: int | None = None) -> Worker | None:
        """Return the worker with the fewest bunches, at most `most`, that has started a series, and is not
        the spare one."""
        if self.ordered and self.workers:
            worker = next(iter(self.workers.values()))
            if worker.number == spare or (worker.number, series) in self.preparing:
                return None
            return worker if any(worker.number in room for room in self._room[: most + 1]) else None
        for room in self._room[: most + 1]:
            for number in room:
                if number != spare and (number, series) not in self.preparing:
                    return self.workers[number]
        return None

    def _find_spare(self) -> int | None:
        """Return the worker that gets no other frames while some are to be tried alone, so that it has none
        soon; `None` if there are no such frames, or nobody can take them yet."""
        alone = [series for series, queue in self._queues.items() if queue.alone]
        if not alone:
            self._spare = None
            return None
        able = [
            worker for worker in (list(self.workers.values())[:1] if self.ordered else self.workers.values())
            if any((worker.number, series) not in self.preparing for series in alone)
        ]  # fmt: skip
        if self._spare not in [worker.number for worker in able]:
            fewest = min(able, key=lambda each: len(each.work), default=None)
            self._spare = None if fewest is None else fewest.number
        return self._spare

    def _live(self, series: int, queue: Queue, now: float) -> Bunch | None:
        if queue.alone and (worker := self._free(0, series)) is not None:
            return self._give(series, queue, worker, [queue.alone.popleft()], now, alone=True)
        if not queue.fresh or (worker := self._free(CREDITS - 1, series, self._find_spare())) is None:
            return None
        return self._give(series, queue, worker, self._taken(queue.fresh, worker), now)

    def _rest(self, series: int, queue: Queue, now: float) -> Bunch | None:
        worker = self._free(CREDITS - 1, series, self._find_spare())
        if worker is None:
            return None
        return self._give(series, queue, worker, self._taken(queue.rest, worker), now)

    def _taken(self, items: deque[Item], worker: Worker) -> list[Item]:
        """Take the frames of a bunch from the front: all in shared memory, or none."""
        most = self._size(worker, len(items))
        shared = items[0].shared and worker.shares
        taken, nbytes = [items.popleft()], 0
        if not shared:
            nbytes = taken[0].nbytes
        while len(taken) < most and items and (items[0].shared and worker.shares) == shared:
            if not shared:
                nbytes += items[0].nbytes
                if nbytes > MOST_BYTES:
                    break
            taken.append(items.popleft())
        return taken

    def _size(self, worker: Worker, waiting: int) -> int:
        if worker.seconds is None:
            return worker.batch
        share = -(-waiting // (1 if self.ordered else len(self.workers)))
        each = max(worker.seconds, 1e-9)
        quick, worth = int(MOST_SECONDS / each), int(WORTH_SECONDS / each)
        return max(1, min(MOST_FRAMES, quick, max(share, worth)), min(worker.batch, waiting))

    def _give(
        self, series: int, queue: Queue, worker: Worker, items: list[Item], now: float, alone: bool = False
    ) -> Bunch:
        self._bunches += 1
        by_value = not (items[0].shared and worker.shares)
        bunch = Bunch(
            self._bunches, series, worker.number, tuple(items), _indices(items), by_value, alone, now
        )
        queue.account.happens(Event.GIVEN, bunch.indices)
        if self._awaited:
            self._arrive(items, now)
        if not worker.work:
            worker.since = now
        worker.work[bunch.number] = bunch
        self._place(worker)
        return bunch

    def _arrive(self, items: Sequence[Item], now: float) -> None:
        """Note that frames of workers that are gone are with another one."""
        for item in items:
            if (departure := item.departure) is not None:
                item.departure = None
                self._awaited -= 1
                departure.waiting -= 1
                departure.seconds = now - departure.at


def _indices(items: Sequence[Item]) -> Indices:
    return np.fromiter((item.index for item in items), np.int64, len(items))
