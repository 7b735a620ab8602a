"""The workers that have room for another bunch."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from penstock.processing.distributor.frames.bunches import Worker
from penstock.processing.wire import CREDITS


class FreeWorkers:
    """Workers by the number of bunches that they have, if it is below `CREDITS`.

    Args:
        workers: all of them, by number.
    """

    def __init__(self, workers: Mapping[int, Worker]) -> None:
        self._workers = workers
        self._by_bunches: tuple[dict[int, None], ...] = tuple({} for _ in range(CREDITS))
        """Who waits longest is first."""
        self.preparing: set[tuple[int, int]] = set()
        """Worker and series, of workers that have been told of a series, and have not begun with it."""
        self.refusing: dict[int, set[int]] = {}
        """Workers whose classes have refused to start a series, by series."""
        self._spare: int | None = None

    def takes(self, number: int, series: int) -> bool:
        """Return whether a worker gets frames of a series: it has begun with it. One that has refused it gets
        none, unless all have: then its frames fail."""
        if (number, series) in self.preparing:
            return False
        refusing = self.refusing.get(series)
        return not refusing or number not in refusing or refusing.issuperset(self._workers)

    def place(self, worker: Worker) -> None:
        """Put a worker among those with as many bunches, as the last one."""
        for found in self._by_bunches:
            found.pop(worker.number, None)
        if len(worker.work) < CREDITS and not any(bunch.alone for bunch in worker.work.values()):
            self._by_bunches[len(worker.work)][worker.number] = None

    def leave(self, number: int) -> None:
        """Forget a worker."""
        self.preparing = {pair for pair in self.preparing if pair[0] != number}
        for refusing in self.refusing.values():
            refusing.discard(number)
        for found in self._by_bunches:
            found.pop(number, None)

    def end(self, series: int) -> None:
        """Forget a series."""
        self.preparing = {pair for pair in self.preparing if pair[1] != series}
        self.refusing.pop(series, None)

    def spare(self, alone: Collection[int], *, ordered: bool) -> int | None:
        """Return the worker that gets no other frames while some are to be tried alone, so that it has none
        soon; `None` if there are no such frames, or nobody can take them yet.

        Args:
            alone: series with such frames.
            ordered: whether only the first of all workers gets frames.
        """
        if not alone:
            self._spare = None
            return None
        able = {
            number: worker
            for number, worker in list(self._workers.items())[: 1 if ordered else None]
            if any(self.takes(number, series) for series in alone)
        }
        if self._spare not in able:
            self._spare = min(able, key=lambda number: len(able[number].work), default=None)
        return self._spare

    def one(
        self, series: int, *, ordered: bool, most: int = CREDITS - 1, spare: int | None = None
    ) -> Worker | None:
        """Return the worker with the fewest bunches that has begun with a series.

        Args:
            series: whose frames it is to get.
            ordered: whether only the first of all workers that take the series gets frames.
            most: bunches that it may have.
            spare: number of a worker that gets none.
        """
        refusing = self.refusing.get(series, set())
        able = (number for number in self._workers if number not in refusing)
        first = next(able, next(iter(self._workers), None)) if ordered else None
        for found in self._by_bunches[: most + 1]:
            for number in found:
                if number != spare and self.takes(number, series) and (number == first or first is None):
                    return self._workers[number]
        return None
