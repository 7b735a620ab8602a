"""What was taken from workers: when others have it, and which answers about it come too late.

Who is lost is decided by `connections`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from penstock.processing.distributor.frames.bunches import Bunch, Departure, Item

REMEMBERED = 1000
"""Bunches that were taken from workers whose sizes are kept, to count stray answers."""
DEPARTURES = 20
"""Workers that are gone of which is told what became of their frames."""


class LostWorkers:
    """Bunches that were taken from workers, which are gone, or whose series was dropped."""

    def __init__(self) -> None:
        self.stray = 0
        """Frames of answers of workers that did not have them any more."""
        self.last: deque[Departure] = deque(maxlen=DEPARTURES)
        """The last workers that were gone."""
        self.awaited = 0
        """Frames that such workers had, and nobody has yet."""
        self._taken: dict[int, tuple[int, int]] = {}
        """Worker and number of frames of the last bunches, by number."""

    def take(self, bunch: Bunch) -> None:
        """Remember a bunch that is taken from its worker."""
        self._taken[bunch.number] = bunch.worker, len(bunch.items)
        while len(self._taken) > REMEMBERED:
            del self._taken[next(iter(self._taken))]

    def count_stray(self, number: int) -> None:
        """Count the frames of a bunch that its worker did not have any more, once."""
        self.stray += self._taken.pop(number, (0, 0))[1]

    def late(self, worker: int, numbers: Iterable[int]) -> None:
        """Count the frames of bunches that were taken from a worker, and that it has done all the same."""
        for number in numbers:
            if self._taken.get(number, (0, 0))[0] == worker:
                self.count_stray(number)

    def departs(self, worker: int, items: Sequence[Item], now: float) -> None:
        """A worker is gone, with frames in work that are tried again."""
        departure = Departure(worker, now, len(items), len(items))
        self.last.append(departure)
        self.awaited += len(items)
        for item in items:
            item.departure = departure

    def arrive(self, items: Iterable[Item], now: float) -> None:
        """Note that frames are with another worker."""
        for item in items:
            if (departure := item.departure) is not None:
                item.departure = None
                self.awaited -= 1
                departure.waiting -= 1
                departure.seconds = now - departure.at
