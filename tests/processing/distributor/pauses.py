"""How much of the longest pause is a pipeline's own, and not of a machine that had no processor for it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable
from pathlib import Path

from penstock.processing.models import Status

TOLD = 1.0
"""Time in seconds after which a pause is in a snapshot at the latest: twice the link's `HEARTBEAT`."""


class Pauses:
    """The longest pause, without the time for which distributor and workers waited for a processor.

    For how long a thread has waited while it was ready to run is the second number of its `schedstat`
    (Documentation/scheduler/sched-stats.rst of Linux). Where the kernel does not tell, nothing is taken off.

    Args:
        processes: where the kernel tells it.
    """

    def __init__(self, processes: Path = Path("/proc")) -> None:
        self._processes = processes
        self.own = 0.0
        """Seconds."""
        self._longest = 0.0
        self._threads: dict[Path, float] = {}
        self.waited = 0.0
        """Seconds for which threads have waited since the first look at each."""
        self._looks: list[tuple[float, float]] = []
        """Monotonic time of each look, and what the threads had waited until then."""

    def look(self, status: Status, distributor: int) -> None:
        """Take the newest status; every one that was sent before now has been received.

        Args:
            status: of the pipeline.
            distributor: process id.
        """
        ready = {each.pid for each in status.workers if each.state in ("ready", "working")}
        self._read({distributor, *ready})
        if status.longest_pause > self._longest and self._looks:
            self._longest = status.longest_pause
            # It has ended since the last look, or just before that, and was not told yet.
            began = self._looks[-1][0] - TOLD - self._longest
            before = next((total for at, total in reversed(self._looks) if at <= began), self._looks[0][1])
            self.own = max(self.own, self._longest - (self.waited - before))
        self._looks.append((time.monotonic(), self.waited))

    def _read(self, pids: Iterable[int]) -> None:
        for pid in pids:
            for file in self._processes.glob(f"{pid}/task/*/schedstat"):
                with contextlib.suppress(OSError):  # the thread, or the process, has ended
                    waited = int(file.read_text().split()[1]) / 1e9
                    self.waited += waited - self._threads.get(file, waited)
                    self._threads[file] = waited
