"""Which worker has room for another bunch."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from penstock.processing.distributor.bunches import Worker
from penstock.processing.wire import CREDITS


class Room:
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
        self._spare: int | None = None

    def place(self, worker: Worker) -> None:
        """Put a worker among those with as many bunches, as the last one."""
        for found in self._by_bunches:
            found.pop(worker.number, None)
        if len(worker.work) < CREDITS and not any(bunch.alone for bunch in worker.work.values()):
            self._by_bunches[len(worker.work)][worker.number] = None

    def leave(self, number: int) -> None:
        """Forget a worker."""
        self.preparing = {pair for pair in self.preparing if pair[0] != number}
        for found in self._by_bunches:
            found.pop(number, None)

    def end(self, series: int) -> None:
        """Forget a series."""
        self.preparing = {pair for pair in self.preparing if pair[1] != series}

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
            if any((number, series) not in self.preparing for series in alone)
        }
        if self._spare not in able:
            self._spare = min(able, key=lambda number: len(able[number].work), default=None)
        return self._spare

    def free(
        self, series: int, *, ordered: bool, most: int = CREDITS - 1, spare: int | None = None
    ) -> Worker | None:
        """Return the worker with the fewest bunches that has begun with a series.

        Args:
            series: whose frames it is to get.
            ordered: whether only the first of all workers gets frames.
            most: bunches that it may have.
            spare: number of a worker that gets none.
        """
        first = next(iter(self._workers), None) if ordered else None
        for found in self._by_bunches[: most + 1]:
            for number in found:
                if (
                    number != spare
                    and (number, series) not in self.preparing
                    and (number == first or first is None)
                ):
                    return self._workers[number]
        return None
