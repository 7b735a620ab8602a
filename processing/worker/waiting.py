"""Frames that wait until there are enough of them for a batch."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence

from penstock.processing.worker.running import Job, Run


class Waiting:
    """The frames, in the order in which they came.

    Args:
        batch: number of frames that are processed together.
        seconds: longest time that the first of them waits.
    """

    def __init__(self, batch: int, seconds: float) -> None:
        self._batch = batch
        self._seconds = seconds
        self._jobs: deque[tuple[Run, Job]] = deque()
        self.due: float | None = None
        """Monotonic time at which those that are here are processed; `None` if there are none."""

    def put(self, run: Run, jobs: Sequence[Job]) -> None:
        """Add frames of a series."""
        if not self._jobs:
            self.due = time.monotonic() + self._seconds
        self._jobs.extend((run, job) for job in jobs)

    def full(self) -> Iterator[tuple[Run, list[Job]]]:
        """Take the batches that are full."""
        while len(self._jobs) >= self._batch:
            yield self._take()
            self.due = time.monotonic() + self._seconds if self._jobs else None

    def all(self) -> Iterator[tuple[Run, list[Job]]]:
        """Take everything."""
        while self._jobs:
            yield self._take()
        self.due = None

    def _take(self) -> tuple[Run, list[Job]]:
        """Take one batch, of one series."""
        run, jobs = self._jobs[0][0], [self._jobs.popleft()[1]]
        while self._jobs and self._jobs[0][0] is run and len(jobs) < self._batch:
            jobs.append(self._jobs.popleft()[1])
        return run, jobs
